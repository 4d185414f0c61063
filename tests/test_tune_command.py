"""--kernel auto, --autotune and --kernel all: which kernels are chosen, printed and compared.
limit: 300"""
import re

from command import equal, finish, refused, run, test, verified, within

FAST = ("-d", "cpu", "-r", 2, "--warmup", 0, "-t", 1)
MATRIX = "lap2d5:30"

BASELINE = {"cpu_serial"} if re.search("^cpu_serial ", run("--list-kernels", records=False).out, re.M) else set()


def tuned(*args, ranks=1):
    """(a run with --autotune, which must pass; its lines about kernels; whether kernels were timed)"""
    result = run(*FAST, "--autotune", *args, MATRIX, ranks=ranks)
    verified(result, f"{args} {ranks}")
    lines = re.sub(r"\n {11}(?!K = )", " ", result.out).splitlines()  # join folded lines
    lines = [line for line in lines if re.match(r"kernel  |  +K = \d+: ", line)]
    return result, lines, any("fastest of " in line for line in lines)


with test("auto says which kernel it takes and why, once where every K has the same"):
    result = run(*FAST, "-k", "1,8", MATRIX, ranks=2)
    verified(result, "auto", 2)
    kernel = result.records[1]["run"]["kernel"]
    assert re.search(rf"^(?:kernel)? +(?:K = 8: )?{kernel} on ", result.out, re.M), result.out
    result = run(*FAST, "-f", "ell", MATRIX)
    verified(result, "auto of a format", 1)
    within(result.out, "kernel     cpu_ell on ell, ")
    result = run(*FAST, "--kernel", "cpu_ell", MATRIX)
    assert "\nkernel  " not in result.out, "a named kernel is no choice"

with test("--autotune times the kernels, and takes the fastest"):
    for ranks in (1, 2):
        result, lines, table = tuned("-k", "1,8", ranks=ranks)
        assert table, result.out
        equal(len(lines), 2, "a line a K")
        for k, line, record in zip((1, 8), lines, result.records):
            chosen, timed = re.search(rf" K = {k}: (\w+) on [\w-]+, .*fastest of (\d) in a trial \(", line).groups()
            times = dict(text.split(":") for text in record["plan"]["kernels"].split())
            equal(len(times), int(timed), record["plan"])
            assert len(times) >= 3 and 0 < record["plan"]["kernels_seconds"] < 10, record["plan"]
            assert 0.94 * float(times[chosen]) <= min(map(float, times.values())), line  # (times are rounded)
            for name in times:
                assert name == chosen or re.search(rf"\b{name} [0-9.]+x", line), (name, line)
            equal(record["run"]["kernel"], chosen)

with test("with a single candidate nothing is timed"):
    result, lines, table = tuned("-f", "ell-nopad")
    assert not table, result.out
    within(lines[0], "cpu_ell_nopad")

with test("-v and records have each decision with its reason, and the kernels that were tried"):
    result = run(*FAST, "-v", "-k", 8, MATRIX)
    record = result.records[0]
    lines = dict(re.findall(r"^ +decided: (\w+) +(.*?)(?:, in [0-9.]+ ms)?$", result.out, re.M))
    repaid = record["decisions"].pop("repaid_after")
    assert repaid is None or f"repaid after {repaid:.0f} products" in result.out, (repaid, result.out)
    equal({word: text for word, text in record["decisions"].items() if text}, lines)
    equal(list(record["decisions"]), ["memory", "columns", "kernel", "transport", "reduce", "variant", "narrow"])
    within(lines["kernel"], record["run"]["kernel"] + " on ")
    for text in record["plan"]["kernels"].split():
        within(lines["kernel"], text.split(":")[0])

with test("a candidate whose format refuses the matrix is left out of the tuning"):
    result = run(*FAST, "--autotune", "longrows:2000,2,1,1500", ranks=2)
    verified(result, "left out", 1)
    within(result.records[0]["plan"]["kernels"], "cpu_ell:failed")

with test("a rank that fails while tuning ends the job with exit code 4 and one message"):
    for stage in ("convert", "bandwidth"):
        result = run(*FAST, *(["--autotune"] if stage == "convert" else ["-v"]), MATRIX, ranks=3, limit=30,
                     env={"SPMM_FAULT": f"{stage}:1"})
        refused(result, 4, f"stage {stage}")

with test("--kernel all prints a table for each K, fastest first, and baseline kernels in a line, as the records have them"):
    for ranks in (1, 2):
        result = run("-d", "cpu", "-t", 1, "-k", "8,2", "--kernel", "all", MATRIX, ranks=ranks)
        verified(result, "all")
        tables = result.out.split("bound: ")[0].split("fastest first")[1:]
        rows = [row for table in tables for row in re.findall(
            r"^ +(\d+)  (\w+) +[\w-]+ +([0-9.]+) +([0-9.]+) +[0-9.]+% +[0-9.]+ +([0-9.]+) +\S+ +[0-9.]+  PASS(?:  theirs: .*)?$",
            table, re.M)]
        timed = [dict(re.findall(r"(\w+) ([0-9.]+)(?:, |$)", re.sub(r"\s+", " ", table.split("baseline   median ms: ")[1].split("\n\n")[0]).strip()))
                 if "\nbaseline " in table else {} for table in tables]
        equal(len(tables), 2, result.out)
        for k, slow in zip((8, 2), timed):
            of = {r["run"]["kernel"]: 1e3 * r["apply"]["median"] for r in result.records if r["run"]["k"] == k}
            shown = {row[1]: row[2] for row in rows if int(row[0]) == k} | slow
            equal(sorted(shown), sorted(of), "each kernel once")
            # the record has rounded digits, which may round to another fourth digit
            assert all(abs(float(shown[name]) - of[name]) < 6e-5 for name in of), (shown, of)
            assert "cpu_csr" not in slow and list(slow.values()) == sorted(slow.values(), key=float), slow
        assert BASELINE <= set(timed[0]) and ("cpu_serial" in timed[0] or not BASELINE), timed
        for k in ("2", "8"):
            times = [float(row[2]) for row in rows if row[0] == k]
            equal(times, sorted(times), "fastest first")
            equal([row[3] for row in rows if row[0] == k][0], "1.00", "relative to the best")
        for r in result.records:
            assert r["copy_bytes_per_second"] > 1e8 and r["dram_bound_share"] > 0, r
            row = next((row for row in rows if row[1] == r["run"]["kernel"] and int(row[0]) == r["run"]["k"]), None)
            assert row is None or abs(float(row[4]) - r["dram_bound_share"]) < 0.001, (row, r["dram_bound_share"])
    lap = result.records[0]["matrix"]
    least = 12 * lap["nnz"] + 8 * (lap["rows"] + 2) + 8 * 8 * lap["rows"] * 2
    assert result.records[0]["dram_bound_share"] * result.records[0]["apply"]["median"] * \
        result.records[0]["copy_bytes_per_second"] > 0.9 * least, "the formula"

with test("of --kernel all, -v also prints each run, and what was left out is a line for each reason"):
    result = run(*FAST, "-k", "1,8", "--kernel", "all", "-v", "longrows:2000,2,1,1500")
    verified(result, "all")
    for r in result.records:
        within(result.out, f"\n{r['run']['k']:4}  {r['run']['kernel']} ")
    plain = re.sub(r"\n {11}", " ", result.out)
    left = re.findall("^left out   (.*)$", plain, re.M)
    equal(len(left), 1, result.out)
    assert re.match(r"cpu_ell(, \w+)*: padded ELLPACK would take ", left[0]) and plain.count("would take") == 1, left
    equal("cpu_serial_ell" in left[0], bool(BASELINE), left)

with test("the DRAM bound is measured for --kernel all and -v alone, and not with -q"):
    for args, measured in (((), False), (("-v",), True), (("--kernel", "all", "-q"), False)):
        r = run(*FAST, *args, MATRIX).records[0]
        equal(r["dram_bound_share"] is not None, measured, args)
        equal(r["copy_bytes_per_second"] is not None, measured, args)

with test("--list-kernels says how exact each kernel is"):
    out = run("--list-kernels", records=False).out
    assert re.search(r"^csr_rows +cuda +csr +yes ", out, re.M), out
    assert re.search(r"^cpu_csr +cpu +csr +yes ", out, re.M), out
    assert "cpu_serial" not in out or re.search(r"^cpu_serial +cpu +csr +to 128 ", out, re.M), "longer rows: " + out
    for line in re.findall(r"^\w+ +(?:cpu|cuda) .*$", out, re.M):
        assert re.match(r"\S+ +\S+ +\S+ +(yes|no|f64|to \d+) +\S", line), line
finish()
