"""A rank that is killed, or stopped, during exchanges: with every transport all processes end within 10 s, mpirun's exit
code is not 0, and the GPUs are free. limit: 400"""
import os
import pathlib
import re
import signal
import subprocess
import time

from command import MPIRUN, PROGRAM, finish, patience, run, scratch, skip, test

SOON = 10
# products that consist mostly of exchanges, for longer than any test
LOOP = ("-k", 4, "-r", 10 ** 8, "--warmup", 0, "--verify", "none", "-t", 1, "lap2d5:40")
WAYS = [("cpu", "mpi", "")] + [("cuda", transport, "") for transport in ("mpi", "staged", "cuda-aware", "nccl")] + [
    ("cuda", "peer", backend) for backend in ("peer", "peer_stream")]
# messages about a transport or backend that is not available
NOT_HERE = re.compile(r"transport |built without|NCCL")

devices = run("--list-devices", records=False).out
gpus = len(re.findall(r"^cuda \d", devices, re.M))


def command(way, loop, *more):
    device, transport, _ = way
    return [PROGRAM, "-d", device, "--transport", transport, *map(str, loop), *more]


def environment(way):
    return {**os.environ, "SPMM_EXCHANGE_BACKEND": way[2]}


def missing(way):
    """The reason why two ranks cannot use that transport and backend here; None: they can."""
    once = tuple("1" if word == 10 ** 8 else word for word in LOOP)
    result = run(*command(way, once)[1:], ranks=2, env={"SPMM_EXCHANGE_BACKEND": way[2]}, records=False)
    if result.code == 0:
        return None
    assert any(NOT_HERE.search(line) for line in result.error_lines()), result.err
    return result.error_lines()[0]


def ranks_of(mark):
    """The ids of rank processes with that word in their command line."""
    found = []
    for folder in pathlib.Path("/proc").iterdir():
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0") if folder.name.isdigit() else []
        except OSError:
            continue
        if words and mark.encode() in words and os.path.basename(words[0]) == os.path.basename(PROGRAM).encode():
            found.append(int(folder.name))
    return sorted(found)


def on_gpus(pids):
    """The processes among these that still use a GPU."""
    try:
        out = subprocess.run(["nvidia-smi", "--query-compute-apps=pid", "--format=csv,noheader"], capture_output=True,
                             text=True, check=False).stdout
    except FileNotFoundError:
        return []
    return [pid for pid in pids if str(pid) in out.split()]


def wait_until(condition, seconds, what):
    end = time.monotonic() + patience(seconds)
    while not condition():
        assert time.monotonic() < end, f"{what} took more than {seconds:.1f} s"
        time.sleep(0.05)


def lose(way, sent, *options):
    """Starts two ranks, sends a signal to one while they multiply, and checks how the job ends."""
    mark = scratch(f"{'-'.join(way)}-{sent}.jsonl")
    job = subprocess.Popen([*MPIRUN, "-np", "2", *command(way, LOOP, *options, "--json", mark)], env=environment(way),
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: len(ranks_of(mark)) == 2, 30, "the start")
        time.sleep(3 if way[0] == "cpu" else 8)  # (CUDA takes a second or two to start)
        assert job.poll() is None, f"it ended by itself with {job.returncode}"
        pids = ranks_of(mark)
        os.kill(pids[1], sent)
        start = time.monotonic()
        wait_until(lambda: job.poll() is not None, SOON, "mpirun")
        wait_until(lambda: not ranks_of(mark) and not on_gpus(pids), SOON - (time.monotonic() - start), "the ranks' end")
        assert job.returncode != 0, "mpirun calls it a success"
    finally:
        if job.poll() is None:
            job.kill()
            job.wait()
        for pid in ranks_of(mark):
            os.kill(pid, signal.SIGKILL)


for way in WAYS:
    name = " ".join(filter(None, way))
    sentence = f"{name}: when a rank is lost in the middle of products, all is over within {SOON} s"
    why = "there is no GPU" if way[0] == "cuda" and gpus == 0 else missing(way)
    if why:
        skip(sentence, why)
        continue
    with test(sentence):
        lose(way, signal.SIGKILL)
        lose(way, signal.SIGSTOP, "--timeout", "3")
finish()
