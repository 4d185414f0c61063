"""The joint exchange and the choice among exchanges, through the program. limit: 200"""
import os
import re

from command import equal, finish, refused, run, scratch, test, verified

QUICK = ("-d", "cpu", "-r", 2, "--warmup", 0, "-t", 1)
GRAPH = "rmat:10,12"

with test("where sums are exact, Y is the same file by the joint exchange, on any number of ranks"):
    texts = set()
    for ranks, exchange in ((1, "auto"), (2, "joint"), (3, "joint"), (4, "joint"), (4, "halo")):
        path = scratch("y.mtx")
        verified(run(*QUICK, "-k", 3, "-x", "index", "--exchange", exchange, "-o", path, GRAPH, ranks=ranks), exchange, 1)
        texts.add(open(path).read())
        os.remove(path)
    equal(len(texts), 1)

with test("a graph's joint exchange moves fewer rows, and the report and the record say what they are"):
    halo = run(*QUICK, "--exchange", "halo", GRAPH, ranks=4)
    joint = run(*QUICK, "--exchange", "joint", GRAPH, ranks=4)
    moved = joint.records[0]["moved"]
    assert moved["all_rows"] < 0.7 * halo.records[0]["moved"]["all_rows"], (moved, halo.records)
    assert 0 < joint.records[0]["plan"]["partial_rows"] < moved["all_rows"], joint.records
    equal((joint.records[0]["run"]["exchange"], halo.records[0]["plan"]["partial_rows"]), ("joint", 0))
    said = re.sub(r"\n {11}", " ", joint.out)
    assert "rows of X and partial Y of 3 other ranks" in said and "of Y)" in said, joint.out

with test("auto takes it only if the order of sums is free; what was compared is in report and record"):
    result = run(*QUICK, GRAPH, ranks=3)
    verified(result, "on", 1)
    equal((result.records[0]["run"]["exchange"], result.records[0]["error"]["different"]), ("halo", 0))
    assert "joint" not in result.records[0]["plan"]["variants"], result.records
    result = run(*QUICK, "--reproducible", "off", "--plan", "quick", GRAPH, ranks=3)
    verified(result, "off, quick", 1)
    plan = result.records[0]["plan"]
    equal((result.records[0]["run"]["exchange"], plan["variants"], plan["chosen"]), ("joint", "halo:1:overlap:- joint:1:overlap:-", 1))
    equal(plan["measured_seconds"], None)
    equal(result.records[0]["decisions"]["variant"], "joint:1:overlap, it moves fewer rows")
    result = run(*QUICK, "-v", "--reproducible", "off", GRAPH, ranks=3)
    verified(result, "off", 1)
    record = result.records[0]
    equal(record["run"]["exchange"], ("halo", "joint")[record["plan"]["chosen"]])
    assert record["plan"]["measured_seconds"] > 0, record
    assert " of 2 in a trial (others took: " in record["decisions"]["variant"], record
    assert "decided: variant     " + record["decisions"]["variant"] in result.out, result.out
    assert record["plan"]["one_rank_seconds"] > 0, record

with test("--dry-run counts it before the job, as few rows as the ranks then move; --grid auto knows it"):
    for ranks in (2, 4):
        out = run("--dry-run", "--plan-ranks", ranks, "--exchange", "joint", GRAPH, records=False).out
        moved = run(*QUICK, "--exchange", "joint", GRAPH, ranks=ranks).records[0]["moved"]
        assert f" {moved['rows']} rows of X and partial Y received, {moved['all_rows']} by all ranks" in out, (out, moved)
    assert "joint" not in run("--dry-run", "--plan-ranks", 2, GRAPH, records=False).out
    assert "joint" in run("--dry-run", "--plan-ranks", 2, "--reproducible", "off", GRAPH, records=False).out
    verified(run(*QUICK, "-g", "auto", "--exchange", "joint", GRAPH, ranks=4), "auto", 1)

with test("exact bits are the serial product's; what cannot keep them is refused"):
    exact = ("--reproducible", "exact")
    for precision in ("f64", "f32"):
        result = run(*QUICK, *exact, "-p", precision, "-k", 3, GRAPH, ranks=3)
        record = result.records[0]
        verified(result, precision, 1)
        equal((record["asked"]["reproducible"], record["run"]["exchange"], record["error"]["different"]), ("exact", "halo", 0), record)
    kernels = {record["run"]["kernel"] for record in run(*QUICK, *exact, "--kernel", "all", GRAPH).records}
    assert "cpu_csr" in kernels and not kernels & {"cpu_csr_static", "cpu_serial"}, kernels
    for words, says in ((("--exchange", "joint"), "the joint exchange adds partial sums"), (("-g", "1x2"), "choose a P x 1 grid"),
                        (("--kernel", "cpu_csr_static"), "cpu_csr_static does not keep")):
        result = run(*QUICK, *exact, *words, GRAPH, ranks=2)
        refused(result, 2)
        assert says in result.err or "there is no kernel" in result.err, result.err

finish()
