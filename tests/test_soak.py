"""A short soak (tests/soak.py, `make soak`), and that it detects errors. limit: 300"""
import os
import tempfile

import soak
import soak_differential
from command import equal, finish, skip, test, within

SEED, COUNT = 1, 40


def short_soak():
    with test(f"{COUNT} random combinations of the programs' options come to what is known of them before"):
        passed, failed = soak.soak(SEED, range(COUNT), jobs=2, tell=lambda text: None)
        assert not failed, "\n".join(failed)
        equal(passed, COUNT, "combinations")

    known = soak.Known()
    with tempfile.TemporaryDirectory() as folder:
        with test("a combination is the same whenever it is drawn, and another one with another seed"):
            def words(seed):
                return [[(r.ranks, r.args, r.env) for r in soak.draw(seed, i, folder, known)] for i in range(20)]
            first = words(SEED)
            equal(words(SEED), first, "combinations")
            assert words(SEED + 1) != first

        with test("a wrong element of Y is found where the program does not verify, and the report can be pasted"):
            index = next(i for i in range(500) for r in soak.draw(SEED, i, folder, known)[:1]
                         if r.expected and r.last != "PASS" and r.matrix.rows > 0 and abs(r.expected.dense).max(initial=0) < 99)
            equal(soak.combination(SEED, index, known, folder, 60), None, "without a fault")
            os.environ["SPMM_FAULT"] = "apply:0:wrong"
            text = soak.combination(SEED, index, known, folder, 60)
            del os.environ["SPMM_FAULT"]
            within(text, ", numpy has ")
            within(text, f"--only {index}")
            within(text, " -o y.mtx ")

        with test("a run beyond its limit has failed"):
            within(soak.combination(SEED, index, known, folder, 0.01), "ran longer than 0.01 s")


def library():
    with test("the library's part counts the cases that it runs, and none of them twice"):
        ran, wrong = soak_differential.run(2, SEED, 30, ("--cases", 10))
        equal((ran, wrong), (10, []), "cases, failures")

    with test("of a wrong product the report has what differs and the command for the case alone"):
        ran, wrong = soak_differential.run(2, SEED, 30, ("--cases", 10), more=("--spoil",))
        equal(ran, 10, "cases")
        assert len(wrong) > 3, wrong
        within(wrong[0], "-np 2 ")
        within(wrong[0], f"--seed {SEED} --from 3")

    with test("a case that hangs or crashes is counted, and the next run begins behind it"):
        for fault, what in (("plan:1:stop", "HANG: case 40 of "), ("plan:1:kill", "without a count")):
            ran, wrong = soak_differential.run(3, SEED, 40, ("--cases", 9, "--limit", 3), {"SPMM_FAULT": fault})
            equal((ran, len(wrong)), (1, 1), "cases, failures")
            within(wrong[0], what)
            within(wrong[0], f"--seed {SEED} --from 40")


library()
if soak.MISSING:
    skip("random combinations come to what is known of them", soak.MISSING)
else:
    short_soak()
finish()
