"""bench/study_hosts.py: a study on two hosts that are network namespaces, its records, and remarks on them.
limit: 120"""
import json
import subprocess
import sys

from command import MPIRUN, PROGRAM, ROOT, equal, finish, patience, scratch, skip, test, within
from study_tools import start
from spmm_study import records

STUDY = scratch("hosts.study", """matrices = lap2d5:40 matrices/wiki-Vote.mtx.gz
columns = 8
devices = cpu
ranks = 1 2 4
threads = 1
rounds = 1
repeats = 6
serial = yes
""")
SAID = "2 network namespaces are hosts of one machine"


def study(command, path, *options):
    words = [sys.executable, str(ROOT / command), "--program", PROGRAM, "--records", path, *options, STUDY]
    done = subprocess.run(words, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=patience(100), check=False)
    with open(path, encoding="utf-8") as file:
        lines = list(map(json.loads, file))
    return done, [r for r in lines if "environment" in r], [r for r in lines if "run" in r]


def transports(runs):
    """{(ranks, transport)} of the runs on several ranks."""
    return {(r["run"]["ranks"], r["run"]["transport"]) for r in runs if r["run"]["ranks"] > 1}


path, plain = scratch("hosts.jsonl", ""), scratch("plain.jsonl", "")
done, environments, runs = study("bench/study_hosts.py", path)
if done.returncode == 4 and "no two hosts of network namespaces: " in done.stderr:
    skip("a study on two hosts", done.stderr.strip())
    finish()

with test("ranks are on two hosts: one on each has messages alone; results are the serial product's bits"):
    equal((done.returncode, done.stderr), (0, ""), done.stdout)
    equal(len(runs), 8)
    for r in runs:
        equal((r["study"]["code"], r["error"]["different"]), (0, 0), done.stdout)
        assert r["error"]["checked"] > 0, done.stdout
    _, _, alone = study("jobs/study", plain, "--launcher", " ".join(MPIRUN) + " -np {ranks}")
    # two ranks on one host share memory, ranks on two hosts do not
    equal(transports(runs), {(2, "mpi"), (4, "shared")})
    equal(transports(alone), {(2, "shared"), (4, "shared")})
    for r in (r for r in runs if r["run"]["ranks"] == 4):
        assert 0 < r["message_rows"] < r["moved"]["all_rows"], "what crosses between hosts is not all"
    equal({r["run"]["host"] for r in runs}, {"near"})

with test("records say that hosts are namespaces, and nothing of where those were made"):
    equal([r["environment"]["namespaces"] for r in environments], [2])
    for r in runs:
        equal(r["study"]["command"][:3], ["two-hosts", str(r["run"]["ranks"]), "spmm_mpi"])
    with open(plain, encoding="utf-8") as file:
        assert "namespaces" not in file.read()

with test("tables and the page say what such records show, and keep them apart from others of the machine"):
    for program, options in (("scaling", ()), ("report", ("-o", scratch("hosts.html")))):
        for files, expected in (((path,), True), ((plain,), False), ((path, plain), True)):
            made = start(program, *files, *options)
            equal(made.returncode, 0, made.stderr)
            text = open(scratch("hosts.html"), encoding="utf-8").read() if options else made.stdout
            equal(SAID in text, expected, f"{program} {files}")
    points = records.read([path, plain]).points
    equal((len(points), {len(p.runs) for p in points}, len({p.machine for p in points})), (16, {1}, 2))

with test("a number of hosts that is none is refused"):
    done = start("study", "--namespaces", "0", STUDY)
    equal(done.returncode, 2)
    within(done.stderr, "expected a number of hosts")
finish()
