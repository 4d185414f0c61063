"""Ranks that get different command lines, environments or files from a launcher or a wrapper script.
limit: 300"""
import csv
import itertools
import json
import os
import shlex
import subprocess
import time

from command import MPIRUN, NO_SERIES, PROGRAM, ROOT, SERIES, equal, finish, patience, scratch, skip, test, within

SMALL = ("-d", "cpu", "-r", "1", "--warmup", "0")


def start(*commands):
    """Runs mpirun with one rank for each command: a list of words, or (words, variables of that rank). A wrapper script
    selects the command of a rank, because mpirun of Debian 13 (Open MPI 5.0.7) crashes if commands are separated by
    colons."""
    lines = ["#!/bin/sh", "case ${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-${PMI_RANK:-0}}} in"]
    for n, command in enumerate(commands):
        command, own = command if isinstance(command, tuple) else (command, {})
        set_own = "".join(f"export {k}={v}; " for k, v in own.items())
        lines.append(f"{n}) {set_own}exec {shlex.join(map(str, command))} ;;")
    script = scratch("by-rank.sh", "\n".join([*lines, "esac", ""]))
    os.chmod(script, 0o755)
    done = subprocess.run([*MPIRUN, "-np", str(len(commands)), script], capture_output=True, text=True, timeout=patience(60), check=False)
    done.lines = [line for line in done.stderr.splitlines() if ": error: " in line]
    return done


def spmm(*args):
    return [PROGRAM, *SMALL, *args]


def refused(first, second, *parts):
    """Checks that both ranks end with exit code 2 and one line with all parts; also three ranks, of which the last differs."""
    for commands in ((first, second), (first, first, second)):
        done = start(*commands)
        equal(len(done.lines), 1, f"{commands}: {done.stderr[-800:]}")
        equal((done.returncode, done.stdout), (2, ""), f"{commands}: {done.stderr[-800:]}")
        for part in (*parts, f"rank {len(commands) - 1}: "):
            within(done.lines[0], part)


A = scratch("A.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 1\n2 2 2\n3 1 4\n")
COPY = scratch("copy.mtx", open(A).read())
OTHER = scratch("other.mtx", open(A).read().replace("3 1 4", "3 1 5"))

with test("an option that ranks have to agree on, and do not, is exit code 2 by a line that names it and two ranks"):
    for here, there, name in (
            ("-k 2", "-k 3", "--columns is 3 on this rank but 2 on rank 0"), ("-r 2", "-r 5", "--repeat is 5"), ("-p f32", "-p f64", "--precision"),
            ("--warmup 1", "--warmup 3", "--warmup is 3"), ("-x ones", "-x index", "--x is index on this rank but ones on rank 0"),
            ("-f csr", "-f ell", "--format"), ("--kernel cpu_csr", "--kernel cpu_serial", "--kernel"),
            ("--no-overlap", "", "--no-overlap is given on rank 0"), ("", "--autotune", "autotune is given on this rank"),
            ("--exchange halo", "--exchange bcast", "--exchange"), ("--reduce tree", "--reduce linear", "--reduce"),
            ("--transport mpi", "--transport shared", "--transport"), ("--partition nnz", "--partition rows", "--partition"),
            ("--column-blocks 2", "", "--column-blocks"), ("--products 5", "--products 500", "--products"),
            ("--verify none", "--verify full", "--verify"), ("--plan quick", "", "--plan is timed on this rank"),
            ("--io parallel", "", "--io is root on this rank"), ("--timeout 9", "", "--timeout is 0 on this rank"),
            ("--json a", "--json b", "--json is b on this rank but a"), ("-o y", "", "--output y is given on rank 0"),
            ("", "--help", "--help is given on this rank"), ("--version", "", "--version"), ("", "--nonsense", "unknown option --nonsense"),
            ("", "-k 0", "--columns 0: expected")):
        refused(spmm(*here.split(), A), spmm(*there.split(), A), name)
    # actions do not use all of SMALL
    for here, there, name in ((("--dry-run", A), (A,), "--dry-run is given on rank 0"), (("--scatter-only", A), (A,), "--scatter-only is given"),
                              ((A,), ("--list-kernels",), "--list-kernels is given on this rank")):
        refused([PROGRAM, *here], [PROGRAM, *there], name)
    refused(spmm("-g", "3x1", A), spmm("-g", "1x3", A), "--grid is 1x3 on this rank but 3x1 on rank 0")

with test("threads, -q and -v may differ: rank 0's are those that count for what is printed"):
    for here, there, quiet in (("-q", "-v", 1), ("-v", "-q", 0), ("-q", "", 1), ("", "-q", 0), ("-v", "", 0), ("-t 1", "-t 2", 0)):
        done = start(spmm(*here.split(), A), spmm(*there.split(), A))
        equal(done.returncode, 0, f"{here}, {there}: {done.stderr[-800:]}")
        equal("spmm_mpi 0." not in done.stdout, bool(quiet), done.stdout)
    done = start((spmm(A), {"OMP_NUM_THREADS": 1}), (spmm(A), {"OMP_NUM_THREADS": 2}))
    equal(done.returncode, 0, done.stderr[-800:])

with test("an input has the same name on all ranks"):
    refused(spmm(A), spmm(COPY), "the matrix is ", "copy.mtx on this rank but ", "A.mtx on rank 0")
    refused(spmm("--io", "parallel", A), spmm("--io", "parallel", "/no/such.mtx"), "the matrix is /no/such.mtx on this rank but ")
    refused(spmm(A), spmm("lap2d5:9"), "the matrix is lap2d5:9 on this rank")
    refused(spmm(A), spmm(), "the matrix ", "is given on rank 0 but not on this rank")
    refused(spmm("-x", A, A), spmm("-x", COPY, A), "--x is ", "copy.mtx on this rank but ")

with test("one name that stands for another file on a rank is found where every rank reads it"):
    for n, source in ((0, A), (1, OTHER)):
        os.makedirs(scratch(f"node{n}"), exist_ok=True)
        scratch(f"node{n}/M.mtx", open(source).read())
    where = [scratch(f"cd{n}.sh", f'#!/bin/sh\ncd {scratch(f"node{n}")} && exec "$@"\n') for n in (0, 1)]
    for script in where:
        os.chmod(script, 0o755)
    refused([where[0], *spmm("--io", "parallel", "M.mtx")], [where[1], *spmm("--io", "parallel", "M.mtx")], "the content of the matrix M.mtx differs")

with test("SPMM_* variables that ranks have to agree on are compared, and the others not"):
    for name, here, there in (("SPMM_CHUNK_BYTES", 8, 16), ("SPMM_EXCHANGE_BACKEND", "direct", "shared")):
        refused((spmm(A), {name: here}), (spmm(A), {name: there}), f"{name} is {there} on this rank but {here} on rank 0")
        refused((spmm(A), {name: here}), spmm(A), f"{name} {here} is given on rank 0 but not on this rank")
    done = start((spmm(A), {"SPMM_ISA": "generic", "SPMM_MEMORY_CHECK": 0, "SPMM_CHUNK_BYTES": "''"}), spmm(A))
    equal(done.returncode, 0, done.stderr[-800:])

with test("two programs of one job, or options of series_mpi, are told in the same way"):
    if NO_SERIES:
        skip("series_mpi", NO_SERIES)
    else:
        series = [SERIES, "-d", "cpu", "-m", "9", "-n", "9"]
        refused(spmm(A), series, "the program is \"series_mpi ")
        refused([*series, "-r", "2"], [*series, "-r", "3"], "--repeat is 3 on this rank but 2 on rank 0")
        refused([*series, "--seed", "2"], series, "--seed 2 is given on rank 0")
        done = start([*series, "-q"], [*series, "-t", "2"])
        equal(done.returncode, 0, done.stderr[-800:])

WARNING = "the launcher started 4 processes, but MPI does not connect them"
with test("processes that MPI does not connect are warned of by one of them, and in the reports and records of all"):
    for size, rank_name in (("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"), ("PMI_SIZE", "PMI_RANK"), ("PMI_SIZE", "PALS_RANKID"),
                            ("MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"), ("FLUX_JOB_SIZE", "FLUX_TASK_RANK"),
                            ("JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_RANK"), ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID")):
        for rank in (0, 2):
            own = {**os.environ, size: "4", rank_name: str(rank)}
            for command in ([PROGRAM, *SMALL, A], [] if NO_SERIES else [SERIES, *SMALL, "-m", "9", "-n", "9", "--steps", "mean"]):
                if not command:
                    continue
                files = scratch("alone.jsonl", ""), scratch("alone.csv", "")
                done = subprocess.run([*command, "--json", files[0], "--csv", files[1]], capture_output=True, text=True,
                                      timeout=patience(60), env=own, check=False)
                equal((done.returncode, done.stderr.count(WARNING)), (0, int(rank == 0)), f"{size}: {done.stderr}")
                equal(done.stdout.splitlines()[0].startswith(f"warning    {WARNING}"), True, done.stdout)
                for line in open(files[0]).read().splitlines():
                    within(json.loads(line)["warning"], WARNING)
                for row in csv.DictReader(open(files[1])):
                    within(row["warning"], WARNING)
    done = subprocess.run([*MPIRUN, "-np", "2", PROGRAM, *SMALL, A, "--json", files[0]], capture_output=True, text=True,
                          timeout=patience(60), check=False)
    equal((done.returncode, done.stderr, "warning" in done.stdout), (0, "", False))
    equal(json.loads(open(files[0]).read().splitlines()[-1])["warning"], "")

STOP = """
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
static void stop(const char *here)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (!rank) rank = getenv("PMI_RANK");
    if (rank && strcmp(rank, getenv("STOP_RANK")) == 0 && strcmp(here, getenv("STOP_IN")) == 0) raise(SIGSTOP);
}
int MPI_Init_thread(int *c, char ***v, int level, int *given) { stop("start"); return PMPI_Init_thread(c, v, level, given); }
int MPI_Finalize(void) { stop("end"); return PMPI_Finalize(); }
"""


def running(program):
    """Whether processes of this test's jobs, also stopped ones, run the program."""
    found = False
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as environ:
                found |= os.path.samefile(f"/proc/{pid}/exe", program) and library.encode() in environ.read()
        except OSError:  # it has ended
            pass
    return found


library = scratch("stop.so")
made = subprocess.run([os.environ.get("MPICC", "mpicc"), "-shared", "-fPIC", "-o", library, scratch("stop.c", STOP)], capture_output=True,
                      text=True, check=False)
if made.returncode:
    skip("with --timeout a rank that is stopped at MPI's start or end ends the job", made.stderr[-200:])
else:
    with test("with --timeout a rank that is stopped at MPI's start or end ends the job by a line, within the limit and 5 s"):
        for program, where, stopped in itertools.product([PROGRAM] + [SERIES] * (not NO_SERIES), ("start", "end"), (0, 2)):
            words = [program, *SMALL, "--timeout", "2", *([A] if program == PROGRAM else ["-m", "9", "-n", "9", "--steps", "mean"])]
            own = {**os.environ, "LD_PRELOAD": library, "STOP_RANK": str(stopped), "STOP_IN": where}
            begun = time.monotonic()
            with open(scratch("said"), "w") as file:
                job = subprocess.Popen([*MPIRUN, "-np", "3", *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=file, env=own)
                while job.poll() is None and (time.monotonic() < begun + 2 or running(program)):
                    assert time.monotonic() < begun + patience(7), f"{where} {stopped}: {open(file.name).read()[-800:]}"
                    time.sleep(0.05)
                try:
                    code = job.wait(patience(10))
                except subprocess.TimeoutExpired:  # (mpirun may hang, or crash, then: docs/SURPRISES.md)
                    job.kill()
                    code = job.wait()
            said = [line for line in open(file.name) if ": error: " in line]
            # on a busy machine mpirun may take the second after which the next rank speaks
            assert code != 0 and len(said) in (1, 2), (code, open(file.name).read()[-800:])
            for line in said:
                within(line, f": MPI did not {where} within 4 s (--timeout 2): a process is stopped or lost")

finish()
