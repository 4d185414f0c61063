"""What spmm_mpi prints: its length, which lines it has when, and progress on a terminal."""
import os
import pty
import re
import subprocess
import time

from command import MPIRUN, NO_SERIES, PROGRAM, PROGRAMS, ROOT, equal, finish, run, scratch, test, verified, within

FAST = ("-d", "cpu", "-r", 3, "--warmup", 0, "-t", 1)
CAGE9 = ROOT / "matrices/cage9.mtx.gz"


def on_terminal(*command):
    """Runs a command with a terminal as its three standard streams. \\return its output"""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(command[0], [str(word) for word in command])
    written = b""
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:  # how Linux reports the end of a terminal
            break
        if not part:
            break
        written += part
    os.waitpid(pid, 0)
    os.close(terminal)
    return written.decode()


with test("a report has at most 20 lines of 100 columns, on 1 and 2 ranks, in columns of one width"):
    for ranks, args in ((1, ("-k", 64)), (2, ("-k", 64)), (2, ("-k", 64, "-g", "1x2")), (2, ("--exchange", "joint", "-k", 3))):
        result = run(*FAST, *args, os.path.relpath(CAGE9), ranks=ranks)
        verified(result, args, 1)
        lines = result.out.splitlines()
        equal([line for line in lines if len(line) > 100], [], args)
        assert len(lines) <= (21 if "joint" in args else 20), result.out
        at = next(i for i, line in enumerate(lines) if " median ms " in line)
        equal(lines[at].index("median ms") + len("median ms"), re.search(r"\d\.\d{4}(?= )", lines[at + 1]).end(), "aligned")
        equal(sum(line.startswith("exchange ") for line in lines), ranks > 1, result.out)
    table = run(*FAST, "-k", "1,64", "--kernel", "all", CAGE9).out.splitlines()
    equal([line for line in table if len(line) > 100 and not line.startswith("matrix ") and "theirs" not in line], [])

with test("errors are a column where bits differ, and 0 where they are the same; the rest is told by -v"):
    plain, split = run(*FAST, "-k", 8, CAGE9), run(*FAST, "-k", 8, "-g", "1x2", CAGE9, ranks=2)
    assert re.search(r" 0  PASS$", plain.out, re.M) and "errors  " not in plain.out, plain.out
    assert re.search(rf" {split.records[0]['error']['max_relative']:.1e}  PASS$", split.out, re.M), split.out
    within(run(*FAST, "-v", "-k", 8, CAGE9).out, "bits: the same")
    within(run(*FAST, "--verify", "none", "lap2d5:9").out, "  not verified")

with test("--brief prints the tables alone, and that times are noisy"):
    for args, tables in (((), 1), (("--kernel", "all"), 2)):  # (all: a table for each K)
        result = run(*FAST, "--brief", "-k", "1,8", *args, "lap2d5:30", ranks=2)
        verified(result, "--brief")
        equal([line for line in result.out.splitlines()
               if not re.match(r" +K  |PASS$| +\d+  \w|$|bound: |baseline |theirs |noise | {11}", line)], [], result.out)
        equal("\nnoise  " in result.out, any(r["apply"]["stddev"] > 0.1 * r["apply"]["mean"] for r in result.records), result.out)
        equal(result.out.count(" K  "), tables)
        assert result.out.endswith("PASS\n"), result.out

with test("a line says so where times spread too much for their order to mean something, with the load"):
    for args in ((), ("--kernel", "all"), ("-k", "1,2,3,4,5,6")):
        result = run("-d", "cpu", "-t", 1, "-r", 4, *args, "lap2d5:20", ranks=2)
        noisy = sum(r["apply"]["stddev"] > 0.1 * r["apply"]["mean"] for r in result.records)
        said = re.search(r"^noise      stddev above 10 % in (\d+) of (\d+) runs?( \(load [0-9.]+ on \d+ cores\))?: ", result.out, re.M)
        equal((int(said[1]), int(said[2])) if said else (0, len(result.records)), (noisy, len(result.records)), result.out)

with test("the first line comes before the matrix is there"):
    fifo = scratch("A.fifo")
    os.mkfifo(fifo)
    job = subprocess.Popen([PROGRAM, "-d", "cpu", "-t", "1", "--verify", "none", "lap3d27:110"], stdout=subprocess.PIPE, text=True)
    start = time.monotonic()
    first = job.stdout.readline()
    at = time.monotonic() - start
    job.stdout.read()
    whole = time.monotonic() - start
    job.wait()
    assert first.startswith("spmm_mpi ") and at < 0.5 * whole, (first, at, whole)

with test("phases are shown on a terminal, mpirun's, too, and leave nothing there; not in files and pipes"):
    for launcher in ((), (*MPIRUN, "-np", "1")):
        shown = on_terminal(*launcher, PROGRAM, *FAST, "-k", 8, "lap3d7:40")
        if launcher and "generating" not in shown:
            # (the program detects a terminal only through Open MPI's mpirun)
            assert "Open MPI" not in subprocess.run([MPIRUN[0], "--version"], stdout=subprocess.PIPE, text=True).stdout, shown
            continue
        for phase in ("generating", "multiplying", "verifying"):
            within(shown, f"\r{phase}\x1b[K")
        within(shown, "\r\x1b[K")
        assert "PASS" in shown, shown
    within(on_terminal(PROGRAM, *FAST, "-k", 8, ROOT / "matrices/bcsstk16.mtx.gz"), "\rreading ")
    assert "verifying" not in on_terminal(PROGRAM, *FAST, "-q", "lap3d7:20")
    result = run(*FAST, "lap3d7:20", ranks=2)
    assert "\r" not in result.out + result.err and "\x1b" not in result.out + result.err, result

with test("--help has a screen of options, --help-all all of them"):
    for program in PROGRAMS:
        short, long = (run(option, program=program, records=False).out for option in ("--help", "--help-all"))
        few, all_ = (set(re.findall(r"--([a-z][\w-]+)", text.split("\nOptions")[1])) for text in (short, long))
        assert few < all_ and len(re.findall(r"^ .*--", short, re.M)) <= 26, sorted(few)
        equal([line for line in short.splitlines() if len(line) > 115], [])

finish()
