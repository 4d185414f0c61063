"""Counters of CUDA kernels, measured by Nsight Compute (ncu): a row per kernel and launch configuration."""
import csv
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass

from . import lines, tables

FAILED, RESOURCES = 1, 4  # exit codes

METRICS = ["launch__grid_size", "launch__block_size", "launch__registers_per_thread", "smsp__inst_executed.sum",
           "dram__bytes.sum.per_second", "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
           "sm__throughput.avg.pct_of_peak_sustained_elapsed", "smsp__sass_average_branch_targets_threads_uniform.pct",
           "sm__warps_active.avg.pct_of_peak_sustained_active", "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio",
           "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", "gpu__time_duration.sum"]
HEADING = ["kernel", "blocks", "threads per block", "threads", "registers", "instructions", "DRAM GB/s", "memory %", "compute %",
           "branch %", "occupancy %", "active", "conflicts", "ms"]
REMARKS = ["instructions: executed by warps; memory, compute: of the GPU's peak, the busiest unit; branch: efficiency, of branches "
           "whose threads go the same way; occupancy: warps that are resident, of the most",
           "active: threads of a warp that execute an instruction, of 32, without those that a predicate switches off; conflicts: cycles in which an access to shared memory waits for a "
           "bank that the same warp uses",
           "ncu runs a kernel several times, with caches emptied and the clock held at its base: its times are not those of a run"]
# units change with the size of a value, and some of their names with the version of ncu
SECONDS = {"s": 1, "second": 1, "ms": 1e-3, "msecond": 1e-3, "us": 1e-6, "usecond": 1e-6, "ns": 1e-9, "nsecond": 1e-9}
PREFIXES = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
# title of the first table of nsys that is shown; versions of nsys differ in it
API_REPORT = re.compile(r"^.*(?:CUDA API S|cuda_?api_?sum).*$", re.M)
TOOLKIT = "/usr/local/cuda/bin"
# columns of a kernel's name in the table; template arguments that do not fit are left out
WIDTH = 52


class ProfileError(Exception):
    """The text says what happened and what to do; code: the exit code."""

    def __init__(self, text, code=RESOURCES):
        super().__init__(text)
        self.code = code


@dataclass
class Launch:
    """A launch of a kernel. values: {metric: number in base units; None where ncu has none}."""
    kernel: str
    values: dict


# ---- running tools ----

def tool(name):
    """The path of one of NVIDIA's tools: from the variable of its name, else on the PATH, else in TOOLKIT; or None."""
    asked = os.environ.get(name.upper())
    return shutil.which(asked or name) or (None if asked else shutil.which(name, path=TOOLKIT))


def _why(text, code):
    """The ProfileError for ncu's output and exit code."""
    if "ERR_NVGPUCTRPERM" in text:
        return ProfileError("ncu may not read the GPU's counters here (ERR_NVGPUCTRPERM): an administrator has to allow it, or a "
                            "container has to be started with CAP_SYS_ADMIN")
    said = re.findall(r"^==ERROR== *(.*)$", text, re.M)
    own = [line for line in text.splitlines() if line.strip() and not line.startswith("==")]
    what = (said[:1] or [""])[0]
    if not said or "returned an error code" in what:
        what = f"the program ended with exit code {code}: {(own or ['it printed nothing'])[0]}"
    return ProfileError(lines.clean(what), FAILED)


def measure(command):
    """\\return a Launch per kernel and launch configuration of the command"""
    ncu = tool("ncu")
    if not ncu:
        raise ProfileError("there is no ncu (Nsight Compute) on the PATH: install it, or set the path to it in the variable NCU")
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "ncu.csv")
        done = subprocess.run(
            [ncu, "--csv", "--page", "raw", "--metrics", ",".join(METRICS), "--kernel-name-base", "demangled", "--filter-mode",
             "per-launch-config", "--launch-count", "1", "--target-processes", "all", "--log-file", log, *command],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
            env={**os.environ, "LC_ALL": "C"})
        text = ""
        if os.path.exists(log):
            with open(log, encoding="utf-8", errors="replace") as file:
                text = file.read()
    said = done.stdout.decode(errors="replace")
    # without permission to read counters, ncu goes on, and its exit code is 0
    if done.returncode != 0 or "==ERROR==" in text:
        raise _why(text + said, done.returncode)
    launches = read(text)
    if not launches:
        raise ProfileError("the program launched no kernel that ncu saw: pass -d cuda to run on a GPU", FAILED)
    return launches


def system_profile(command):
    """\\return the report of Nsight Systems (nsys) on the command: shares of copies, launches, synchronization and allocation"""
    nsys = tool("nsys")
    if not nsys:
        raise ProfileError("there is no nsys (Nsight Systems) on the PATH: install it, or set the path to it in the variable NSYS")
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([nsys, "profile", "--stats=true", "--trace=cuda", "--output", os.path.join(folder, "report"), *command],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    said = done.stdout.decode(errors="replace")
    found = API_REPORT.search(said)
    if not found:
        last = ([line for line in said.splitlines() if line.strip()] or ["it printed nothing"])[-1]
        raise ProfileError(lines.clean(f"nsys made no report (exit code {done.returncode}): {last}"))
    return said[found.start():].rstrip()


# ---- what ncu writes: a row of names, a row of units, a row per launch ----

def _number(text, unit):
    """The number in base units; None if the text is no number."""
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None
    rate = re.fullmatch(r"([KMGT]?)(?:B|byte)/s(?:econd)?", unit)
    return value * (PREFIXES[rate[1]] if rate else SECONDS.get(unit, 1))


def short(name):
    """A kernel's name without its return type, anonymous namespaces and parameters."""
    name = re.sub(r"\(anonymous namespace\)::|<unnamed>::|\((?:bool|int|unsigned int)\)(?=\d)", "", name)
    depth = 0
    for i in range(len(name) - 1, -1, -1):
        if not name.endswith(")"):
            break
        depth += (name[i] == ")") - (name[i] == "(")
        if depth == 0:
            name = name[:i]
            break
    return re.sub(r"^void ", "", name)


def _template(name):
    """(the name before its template arguments, list of these); (the name, []) if it does not end with template arguments."""
    depth, end, arguments = 0, len(name) - 1, []
    for i in range(len(name) - 1, -1, -1) if name.endswith(">") else ():
        depth += (name[i] in ">)") - (name[i] in "<(")
        if depth == 0 or depth == 1 and name[i] == ",":
            arguments.insert(0, name[i + 1:end].strip())
            end = i
        if depth == 0:
            return name[:i], arguments
    return name, []


def cut(name, width):
    """A name with as many of its first template arguments as fit into a width, and `..` for the others."""
    plain, arguments = _template(name)
    if len(name) <= width or not arguments:
        return name
    fits = [f"{plain}<{', '.join(arguments[:n] + ['..'])}>" for n in range(len(arguments))]
    return max((text for text in fits if len(text) <= width), key=len, default=fits[0])


def names(kernels):
    """\\return {kernel: its name in a table}, at most WIDTH columns unless that makes names equal"""
    full = {kernel: short(kernel) for kernel in kernels}
    found = {}
    for kernel, name in full.items():
        others, width = set(full.values()) - {name}, WIDTH
        while any(cut(other, width) == cut(name, width) for other in others):
            width += 1
        found[kernel] = cut(name, width)
    return found


def read(text):
    """\\return the launches of ncu's CSV"""
    kept = [line for line in text.splitlines() if line and not line.startswith("==")]
    start = next((i for i, line in enumerate(kept) if line.startswith('"ID",')), None)
    if start is None:
        return []
    rows = list(csv.DictReader(kept[start:], restval=""))
    if not rows or "Kernel Name" not in rows[0]:
        raise ProfileError("ncu's output has an unknown format, expected a row of names, with \"Kernel Name\", and a row of units", FAILED)
    units, launches = rows[0], rows[1:]
    return [Launch(row["Kernel Name"], {m: _number(row.get(m) or "", units.get(m) or "") for m in METRICS}) for row in launches]


# ---- the table ----

def _whole(value):
    return tables.NONE if value is None else f"{value:.0f}"


def table(title, launches):
    rows, named = [], names(launch.kernel for launch in launches)
    for launch in launches:
        (blocks, block, registers, instructions, dram, memory, compute, branch, occupancy, active, conflicts,
         seconds) = (launch.values[m] for m in METRICS)
        threads = None if blocks is None or block is None else blocks * block
        rows.append([named[launch.kernel], *map(_whole, (blocks, block, threads, registers, instructions)),
                     tables.number(dram and dram / 1e9, 1), *(tables.number(v, 1) for v in (memory, compute, branch, occupancy, active)), _whole(conflicts),
                     tables.ms(seconds)])
    return tables.Table(title, HEADING, rows, ("kernel",), REMARKS)
