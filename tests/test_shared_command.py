"""spmm_mpi with an X that ranks of a node share: the loss of one rank, and a node without room in /dev/shm."""
import os
import shutil
import signal
import subprocess
import time

from command import MPIRUN, PROGRAM, ended, equal, finish, patience, run, skip, test, verified, within

QUICK = ("-d", "cpu", "-r", 2, "--warmup", 0, "-t", 1)


def processes():
    """The ids of the program's processes that this test has started."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                if b"SHARED_TEST=%d\0" % os.getpid() in f.read() and \
                        os.path.realpath(f"/proc/{pid}/exe") == os.path.realpath(PROGRAM):
                    found.append(int(pid))
        except OSError:  # the process has ended meanwhile
            pass
    return sorted(found)


def lose(signal_, *options):
    """Sends the signal to a rank during products; returns the exit code, and the time until the job ended."""
    job = subprocess.Popen([*MPIRUN, "-np", "3", PROGRAM, "-d", "cpu", "-t", "1", "-r", "100000000", "--transport", "shared",
                            *options, "lap2d5:30"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, env={**os.environ, "SHARED_TEST": str(os.getpid())})
    try:
        while "GFLOP/s" not in (line := job.stdout.readline()):  # the table's heading precedes the products
            assert line, "it ended before"
        time.sleep(0.5)
        ranks = processes()
        equal(len(ranks), 3)
        start = time.monotonic()
        os.kill(ranks[1], signal_)
        job.communicate(timeout=patience(30))
        while processes():
            assert time.monotonic() - start < patience(10), "ranks are left"
            time.sleep(0.05)
        return job.returncode, time.monotonic() - start
    finally:
        for pid in processes():
            os.kill(pid, signal.SIGKILL)
        job.kill()


with test("a rank that is killed in the midst of products ends the job within 10 seconds"):
    code, seconds = lose(signal.SIGKILL)
    assert code not in (0, None) and seconds < patience(10), (code, seconds)

with test("a rank that stops is missed by --timeout, though others wait in shared memory and not in MPI"):
    code, seconds = lose(signal.SIGSTOP, "--timeout", "2")
    assert code not in (0, None) and seconds < patience(15), (code, seconds)

with test("a rank that fails before or in the exchange is one message on all ranks"):
    for stage in ("halo", "exchange", "convert", "x", "apply"):
        result = run(*QUICK, "--transport", "shared", "lap2d5:30", ranks=3, env={"SPMM_FAULT": f"{stage}:2"}, limit=20)
        ended(result, 4)
        within(result.err, f"rank 2: SPMM_FAULT: failing in stage {stage}")

SENTENCE = "X is shared where /dev/shm has no room, too"
TRY = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs -o size=64k none /dev/shm"]
if not shutil.which("unshare") or subprocess.run(TRY, capture_output=True).returncode != 0:
    skip(SENTENCE, "no mount namespaces")
else:
    with test(SENTENCE):
        # MPI's own shared memory would be in /dev/shm, too: it uses TCP instead
        small = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs -o size=64k none /dev/shm && exec \"$@\"", "sh"]
        env = {"OMPI_MCA_btl": "self,tcp", "OMPI_MCA_osc": "^sm", "OMPI_MCA_coll": "^sm", "OMPI_MCA_shmem": "mmap",
               "OMPI_MCA_shmem_mmap_backing_file_base_dir": "/tmp", "OMPI_MCA_btl_tcp_if_include": "lo"}
        before = {name: os.environ.get(name) for name in env}
        os.environ.update(env)
        result = run(*QUICK, "-k", 64, "lap3d7:20", ranks=2, launcher=[*small, *MPIRUN, "-np", "2"])
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)
        if "Open MPI" not in subprocess.run([*MPIRUN, "--version"], capture_output=True, text=True).stdout and result.code:
            print("  this MPI itself needs /dev/shm")
        else:
            verified(result, "small /dev/shm", 1)
            equal(result.records[0]["run"]["transport"], "shared")
finish()
