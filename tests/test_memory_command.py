"""Data that do not fit into memory: refused at once, by a line of the program, and never killed by the operating system.
limit: 300"""
import os
import re
import resource
import subprocess
import time

from command import MPIRUN, NO_SERIES, SERIES, equal, finish, patience, refused, run, scratch, skip, test, verified, within

HEAD = "%%MatrixMarket matrix coordinate real general\n"
CPU = ("-d", "cpu")
FAST = ("-d", "cpu", "-r", 2, "--warmup", 0, "-t", 1)

HUGE = scratch("huge.mtx", HEAD + "2147483647 2147483647 1\n1 1 1\n")
with test("what no memory holds is refused before it is read or generated, within seconds and in little memory"):
    # (the rows alone would fit many machines; with the entries or columns no machine suffices)
    for args in (("lap3d27:1290", "-k", 65536), ("lap2d5:46340", "-k", 65536), ("band:2147483647,1000000,2147483647",),
                 ("uniform:2147483647,1000000",), ("rmat:30,1000000",), ("longrows:2147483647,1000,1000000,1000000000",),
                 ("fem3:890", "-k", 4096), (HUGE, "-k", 65536), ("--io", "parallel", HUGE, "-k", 65536),
                 ("--scatter-only", "uniform:2147483647,1000000"), ("--dry-run", "uniform:2147483647,1000000"),
                 ("--check-conversions", "uniform:2147483647,1000000")):
        for ranks in (1, 3):
            start = time.monotonic()
            result = run("-q", *CPU, *args, ranks=ranks, limit=30, launcher=["env"] if ranks == 1 else None)
            refused(result, 4, what=args)
            assert re.search(r"cannot allocate [0-9.]+ [GTPE]B for .*: [0-9.]+ .?B are available", result.error_lines()[0]), result.err
            assert time.monotonic() - start < patience(15), f"{args}: {time.monotonic() - start} s"
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert peak < 2000000, f"{peak} kB"


class Limited:
    """A new memory cgroup (version 1 or 2) for processes; folder is None if none can be made, which needs root."""

    def __init__(self, limit):
        self.folder = None
        own = dict((line.split(":")[1], line.strip().split(":", 2)[2]) for line in open("/proc/self/cgroup"))
        for top, controller, name in (("/sys/fs/cgroup/memory", "memory", "memory.limit_in_bytes"),
                                      ("/sys/fs/cgroup", "", "memory.max")):
            for above in (own.get(controller, "/"), "/"):
                folder = f"{top}{above.rstrip('/')}/spmm-test.{os.getpid()}"
                try:
                    os.mkdir(folder)
                except OSError:
                    continue
                try:
                    with open(f"{folder}/{name}", "w") as f:
                        f.write(str(limit))
                    with open(f"{folder}/cgroup.procs", "a"):
                        pass
                    self.folder = folder
                    return
                except OSError:
                    os.rmdir(folder)

    def launcher(self, ranks):
        return ["sh", "-c", f'echo $$ > {self.folder}/cgroup.procs && exec "$@"', "sh", *MPIRUN, "-np", str(ranks)]

    def end(self):
        for _ in range(50):
            try:
                return os.rmdir(self.folder)
            except OSError:
                time.sleep(0.1)


sentence = "in a cgroup of 300 MB what is too much ends in one line and exit code 4, and what fits passes, on 1 and 3 ranks"
BAND = scratch("band.mtx", HEAD + "100000 100000 100000\n" + "".join(f"{i} {i} 1\n" for i in range(1, 100001)))
group = Limited(300000000)
# (each rank of series_mpi loads libcublas and libcublasLt, 600 MB, more than the limit)
CUBLAS = "cublas" in subprocess.run(["ldd", SERIES], capture_output=True, text=True, check=False).stdout
series_sentence = "and so does series_mpi"
if not group.folder:
    skip(sentence, "no memory cgroup can be made here")
else:
    with test(sentence):
        for ranks in (1, 3):
            for args in (("-k", 64, "lap3d27:70"), ("-k", 28, "lap3d27:70"), ("--io", "parallel", "-k", 200, BAND),
                         ("-f", "ell", "-k", 16, "--ell-limit", 5000, "longrows:200000,2,2,3000")):
                result = run(*FAST, *args, ranks=ranks, launcher=group.launcher(ranks))
                if args[1] != 28 or ranks == 3:
                    refused(result, 4, "are available", what=f"{ranks} {args}")
                else:
                    assert result.code in (0, 4), result.err  # near the limit: passes or refuses
            verified(run(*FAST, "-k", 4, "lap3d27:50", ranks=ranks, launcher=group.launcher(ranks)), f"{ranks} ranks")
    if NO_SERIES or CUBLAS:
        skip(series_sentence, NO_SERIES or "cuBLAS alone is more than that")
    else:
        with test(series_sentence):
            for ranks in (1, 3):
                # (the series fit, but not together with the steps' results: this is found before the first
                # step)
                result = run("-d", "cpu", "-m", 20000, "-n", 1000, program=SERIES, ranks=ranks, launcher=group.launcher(ranks))
                equal((result.code, len(result.error_lines()), result.records), (4, 1, []), result.err)
                within(result.error_lines()[0], "the series and the results of the steps")
    group.end()
finish()
