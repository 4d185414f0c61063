"""The machine, programs and variables of a study, for its records."""
import datetime
import hashlib
import json
import os
import platform
import re
import shutil
import socket
import subprocess

from . import schema

VARIABLES = re.compile(r"^(OMP_|GOMP_|KMP_|OMPI_MCA_|PRTE_MCA_|UCX_|NCCL_|CUDA_VISIBLE_DEVICES|SPMM_)")
SLURM = ("SLURM_JOB_ID", "SLURM_JOB_PARTITION", "SLURM_JOB_NODELIST", "SLURM_JOB_NUM_NODES", "SLURM_NTASKS",
         "SLURM_CPUS_PER_TASK",
         "SLURM_GPUS_ON_NODE", "SLURM_ARRAY_TASK_ID")
GOVERNOR = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"


def now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z")


def _lines(*command):
    """The lines that a command prints, without blank ones; [] if there is no such command."""
    if not shutil.which(command[0]):
        return []
    try:
        result = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=20,
                                check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [line.strip() for line in (result.stdout + result.stderr).splitlines() if line.strip()]


def first_line(*command):
    """The first line that a command prints; "" if there is no such command."""
    return next(iter(_lines(*command)), "")


def _nvcc():
    """The line of nvcc --version that names the release; the first line is the same for all releases."""
    printed = _lines("nvcc", "--version")
    return next((line for line in printed if "release" in line), next(iter(printed), ""))


def _cpu():
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            return re.search(r"^(?:model name|CPU part)\s*:\s*(.*)$", file.read(), re.MULTILINE)[1]
    except (OSError, TypeError):
        return platform.processor() or platform.machine()


def _memory():
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return None


def _governor():
    """The frequency governor of core 0; None if the system does not report it, as in most virtual machines."""
    try:
        with open(GOVERNOR, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return None


def load_average():
    """The load average of the last minute; None if the system does not report it."""
    try:
        return os.getloadavg()[0]
    except (OSError, AttributeError):
        return None


def _gpus():
    if not shutil.which("nvidia-smi"):
        return []
    try:
        text = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"],
                              capture_output=True, text=True, errors="replace", timeout=30, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    rows = [[part.strip() for part in line.split(",")] for line in text.splitlines()]
    return [{"name": r[0], "driver": r[1], "memory": r[2]} for r in rows if len(r) == 3]


def _commit(folder):
    if not shutil.which("git") or not os.path.exists(os.path.join(folder, ".git")):
        return ""
    return first_line("git", "-C", folder, "describe", "--always", "--dirty")


def describe(study, program, root, namespaces=None):
    """The record of the environment; equal environments have equal ids. What changes from run to run, such as the load,
    is not part of it: see runner.py. namespaces: how many hosts are network namespaces of this machine."""
    facts = {"study": study, "host": socket.gethostname(), "system": platform.platform(), "cpu": _cpu(),
             "cores": len(os.sched_getaffinity(0)), "governor": _governor(), "memory_bytes": _memory(), "gpus": _gpus(),
             "mpi": first_line("mpirun", "--version"), "compiler": first_line("cc", "--version"),
             "nvcc": _nvcc(), "commit": _commit(root), "program": first_line(program, "--version"),
             "variables": {k: v for k, v in sorted(os.environ.items()) if VARIABLES.match(k)},
             "slurm": {k: os.environ[k] for k in SLURM if k in os.environ},
             **({"namespaces": namespaces} if namespaces else {})}
    text = json.dumps({k: v for k, v in facts.items() if k != "slurm"}, sort_keys=True)
    name = hashlib.sha256(text.encode()).hexdigest()[:8]
    return {"schema": schema.newest(), "environment": {"id": name, "started": now(), **facts}}
