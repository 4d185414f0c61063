"""docs/REPORTS.md: its commands run in a short form, the kernels and records that it names exist; its times, and the tables of
bench/records/2026-11-25-reports-tables.md, are those of the records; mk/reports.mk: what the reports' targets run and refuse.
limit: 300"""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
from statistics import median

import collection_server as served
from command import MPIRUN, NO_SERIES, PROGRAM, ROOT, SCRATCH, SERIES, equal, exactness, finish, patience, run, skip, test, within

PAGE, TABLES = ROOT / "docs/REPORTS.md", ROOT / "bench/records/2026-11-25-reports-tables.md"
TEXT = PAGE.read_text(encoding="utf-8") + TABLES.read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in TEXT.splitlines() if line.startswith("| ")]
SERVER = served.Server()
SERVER.add("Janna/ML_Laplace", served.matrix(50))
SERVER.index("Janna/ML_Laplace")
CLEAN = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
GPU = not re.search(r"^cuda +none", run("--list-devices", records=False).out, re.M)


def stage():
    """A folder like the project's, in which a replacement of make uses the tested program and builds nothing."""
    here = pathlib.Path(SCRATCH.name) / "tree"
    here.mkdir()
    for name in ("Makefile", "mk", "src", "contrib", "fortran", "kernels", "include", "bench", "tests", "docs", "matrices", "jobs", "examples"):
        (here / name).symlink_to(ROOT / name)
    (here / "spmm_mpi").symlink_to(os.path.realpath(PROGRAM))
    if not NO_SERIES:
        (here / "series_mpi").symlink_to(os.path.realpath(SERIES))
    sub = here / "make-below"
    sub.write_text('#!/bin/sh\necho "$@" >>' + shlex.quote(str(here / "made")) +
                   '\ncase " $* " in *" link "*) exit 0 ;; esac\nexec make "$@"\n')
    sub.chmod(0o755)
    return here


HERE = stage()
# names in the reports that look like kernels of this project
THEIRS = {"csr_vector_sub_warp", "csr_adaptive_sub_block", "coo_to_ellpack_parallel"}
PROBED = ("CUDA", "METIS", "ISAL", "BZIP2", "LZMA", "ZSTD", "HWLOC", "NCCL", "BLAS", "FORTRAN", "PEERS")


def make(*words, code=0, env=None):
    """(output, commands of the makes that it starts) of make in the staged folder."""
    (HERE / "made").unlink(missing_ok=True)
    # the features that makefiles detect by compiling are switched off, so that nothing is compiled
    done = subprocess.run(["make", "NO_DEPS=1", "MPICC=true", *(f"{name}=0" for name in PROBED), f"MAKE={HERE}/make-below",
                           f"MPIRUN={' '.join(MPIRUN)}", *words], cwd=HERE, text=True,
                          capture_output=True, timeout=patience(100), check=False, env={**CLEAN, **(env or {})})
    equal(done.returncode, code, f"make {' '.join(words)}: {done.stdout[-800:]}{done.stderr[-800:]}: exit code")
    return done.stdout + done.stderr, (HERE / "made").read_text(encoding="utf-8") if (HERE / "made").exists() else ""


def records(name):
    lines = (HERE / "records" / name).read_text(encoding="utf-8").splitlines()
    return [r for r in map(json.loads, lines) if "run" in r]


def listed():
    """All kernels in the sources of the registries, whether built or not."""
    text = "".join((ROOT / name).read_text(encoding="utf-8") for name in
                   ("kernels/kernels.def", "kernels/baseline.def", "kernels/series/series.def"))
    return set(re.findall(r"\b[A-Z_]+\(\s*(\w+)", text))


def commands():
    """The commands of the page, each once."""
    found = re.findall(r"`([^`\n]+)`", PAGE.read_text(encoding="utf-8"))
    return list(dict.fromkeys(w for w in found if re.match(r"(make|mpirun|\./\w+|jobs/\w+) ", w)))


def short(command):
    """The command with less work, as it is run here."""
    for pattern, new in ((r"lap3d27:64", "lap3d27:6"), (r" -m \d+ -n \d+", ""), (r"/series_mpi", "/series_mpi -m 40 -n 60"), (r"-r 500", "-r 3"),
                         (r"spmm_mpi(?!.*--(check-conversions|list-))", "spmm_mpi -k 3"), (r" --out plots", ""), (r"^mpirun", " ".join(MPIRUN))):
        command = re.sub(pattern, new, command)
    return command


def run_programs():
    for command in commands():
        if command.startswith(("make", "jobs/profile")) or NO_SERIES and "series" in command or "-d cuda" in command and not GPU:
            continue
        done = subprocess.run(["bash", "-c", short(command)], cwd=HERE, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=patience(60), check=False)
        refused = "-f ell " in command
        equal(done.returncode, 4 if refused else 0, f"{command}: {done.stdout[-500:]}{done.stderr[-500:]}: exit code")
        if refused:
            within(done.stderr, "use --format csr or ell-nopad")


with test("commands of the page that start the programs work"):
    run_programs()
if not GPU:
    skip("commands of the page with -d cuda", "no GPU here; their kernels are looked up")

with test("kernels and files that the page names are there"):
    known = listed()
    assert {"cpu_csr_static", "csr_vector", "walk_thread"} <= known, known
    for names in re.findall(r"--kernel ([\w,]+)", TEXT):
        for name in names.split(","):
            assert name == "all" or name in known, f"no kernel {name}"
    for row in (row for row in ROWS if row[0].startswith("`make ") and len(row) == 3):
        for name in re.findall(r"\w+", row[2]):
            assert name in known, f"no kernel {name}"
    sources = {w for folder in ("src", "kernels", "include") for p in (ROOT / folder).rglob("*.[ch]*")
               for w in re.findall(r"\w+", p.read_text(encoding="utf-8"))}
    for name in re.findall(r"\b(?:csr|ell|sum|cpu|walk|coo)_[a-z0-9_]+\b", TEXT):
        assert name in known | sources | THEIRS, f"nothing is called {name}"
    for word in re.findall(r"`(\w+)\(\)`", TEXT):
        assert word in sources, f"nothing is called {word}"
    for page in (PAGE, TABLES):
        for target in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target} is not there"


with test("--kernel answers a name of the reports with ours"):
    answers = [(PROGRAM, theirs, ours) for theirs, ours in (
        ("parallel_product_CSR", "cpu_csr_static"), ("parallel_product_ellpack_no_zero_padding", "cpu_ell_nopad_transposed"),
        ("CSR_Scalar_v2", "csr_scalar2"), ("CSR_Vector", "csr_vector"), ("CSR_Adaptive_sub_blocks", "csr_adaptive_subblocks"),
        ("csr", "csr_scalar3"), ("ellpack", "ell_scalar"), ("ellpack_sw", "ell_subwarp"))] if "cpu_csr_static" in exactness() else []
    answers += [] if NO_SERIES else [(SERIES, theirs, ours) for theirs, ours in (
        ("K1", "walk_thread"), ("K2", "sum_nested"), ("sumCommSingleBlock", "sum_interleaved"),
        ("sumNoncommSingleWarp-Padded", "sum_ordered_warp_padded"))]
    for program, theirs, ours in answers:
        done = subprocess.run([program, "--kernel", theirs], capture_output=True, text=True, timeout=patience(60), check=False)
        equal((done.returncode, f"did you mean {ours}?" in done.stderr), (2, True), done.stderr)


def product_times():
    """{(kernel, case): ms} from the two files of records that the table of products is made from."""
    found = {}
    for line in (ROOT / "docs/studies/kernels-H200.jsonl").read_text(encoding="utf-8").splitlines():
        r = json.loads(line)
        if "run" in r:
            found[r["run"]["kernel"], f"{r['matrix']['source']}, K = {r['run']['k']}"] = 1e3 * r["apply"]["median"]
    for line in (ROOT / "bench/records/2026-11-21-kernel-all-H200.txt").read_text(encoding="utf-8").splitlines():
        words = line.split()
        if len(words) == 13 and words[-1] == "PASS":
            found[words[1], f"lap3d27:64, K = {words[0]}"] = float(words[3])
    return found


def records_of(file):
    lines = (ROOT / "bench/records" / file).read_text(encoding="utf-8").splitlines()
    return [r for r in map(json.loads, lines) if "run" in r]


def kept(name):
    """The records of one H100 in a file."""
    return records_of(f"2026-11-25-{name}-H100.jsonl")


def case(r):
    return f"{re.sub(r'.*/|[.]mtx[.]gz', '', r['matrix']['source'])}, K = {r['run']['k']}"


def tables(heading):
    """[heading, row, ..] of each table of the page whose heading begins with these columns."""
    blocks = [[[cell.strip() for cell in line.strip("| ").split(" | ")] for line in block.splitlines() if not line.startswith("|---")]
              for block in re.findall(r"(?:^\|.*\n)+", TEXT, re.M)]
    return [block for block in blocks if block[0][:len(heading)] == heading]


with test("the page's times of products and conversions are the records'"):
    times, heads = product_times(), next(row for row in ROWS if row[0] == "kernel")[1:]
    table = [row for row in ROWS if len(row) == 8 and (row[0], heads[0]) in times]
    equal(len(table), 13, "rows of products")
    for row in table:
        equal([c.rstrip(" |") for c in row[1:]], [f"{times[row[0], head]:.4f}" for head in [h.rstrip(" |") for h in heads]], row[0])
    least = {}
    for line in (ROOT / "bench/records/2026-11-25-conversions-cpu.jsonl").read_text(encoding="utf-8").splitlines():
        c = json.loads(line)["conversions"]
        for t in c["times"]:
            key = re.sub(r".*/|\.mtx\.gz", "", c["matrix"]), t["conversion"], t["algorithm"].rsplit("_", 1)[-1]
            least[key] = min(least.get(key, 1e9), t["seconds"])
    conversions = [row for row in ROWS if row[1:2] and row[1].startswith("COO to")]
    equal(len(conversions), 11, "rows of conversions")
    for name, conversion, scan, single, _ in conversions:
        first, one = least[name, conversion, "scan"], least[name, conversion, "pass"]
        equal((scan, single), (f"{1e3 * first:.1f}", f"{1e3 * one:.3f}"), f"{name}, {conversion}")
    (cores,), times = [t for t in tables(["kernel", "threads", "fem3:16, K = 8"])], {}
    for kind in ("csr", "ellpack"):
        for r in records_of(f"2026-11-29-openmp-{kind}-16-cores.jsonl"):
            times.setdefault((r["run"]["kernel"], str(r["run"]["threads"]), case(r)), []).append(1e3 * r["apply"]["median"])
    equal(len(cores), 13, "rows of products on cores")
    for kernel, threads, *cells in cores[1:]:
        equal(cells, [f"{median(times[kernel, threads, head]):.4g}" for head in cores[0][2:]], kernel)


def best_shapes(name, axis, held):
    """{(kernel, case): "best size (time of size `held` over the best one's)"}."""
    times = {}
    for r in kept(name):
        times.setdefault((r["run"]["kernel"], case(r)), {})[r["launch"][axis]] = r["apply"]["median"]
    best = {key: min(line, key=line.get) for key, line in times.items() if held in line}
    return {key: f"{size} ({times[key][held] / times[key][size]:.2f})" for key, size in best.items()}


def series_times(name, per_value=False):
    """{(kernel, block, memory or size, precision): ms, or ps per value}; of equal runs the last one."""
    found = {}
    for precision in ("f64", "f32"):
        for r in kept(name.format("" if precision == "f64" else "-f32")):
            count, length = r["series"]["count"], r["series"]["length"]
            key = f"{count} x {length}" if per_value else r["run"]["memory"]
            seconds = r["seconds"]["median"]
            found[r["kernel"], r["run"]["block"], key, precision] = f"{1e12 * seconds / count / length:.2f}" if per_value else f"{1e3 * seconds:.4g}"
    return found


def by_walk(kernel):
    return 32 if kernel in ("walk_thread", "walk_constant") else 0


with test("the page's tables of one H100 are the records'"):
    threads, lanes = [t for t in tables(["kernel", "lap3d27:64, K = 8"]) if len(t[0]) == 5]
    for table, shapes, rows in ((threads, best_shapes("launch-shapes", "block_size", 512), 8), (lanes, best_shapes("subwarps", "subwarp", 2), 4)):
        equal({(row[0], head): cell for row in table[1:] for head, cell in zip(table[0][1:], row[1:])}, shapes, "shapes")
        equal(len(table), rows + 1, "rows of shapes")
    (matrices,) = tables(["kernel", "bcsstk16, K = 1"])
    times = {(r["run"]["kernel"], case(r)): f"{1e3 * r['apply']['median']:.4f}" for r in kept("kernels-matrices")}
    equal(len(matrices), 14, "rows of real matrices")
    for row in matrices[1:]:
        equal(row[1:], [times[row[0], head] for head in matrices[0][1:]], row[0])
    (memories,), names = tables(["kernel", "device, f64"]), {"device": "device", "unified": "managed", "zero-copy": "mapped"}
    times = series_times("series{}")
    equal(len(memories), 5, "rows of memories")
    for kernel, *cells in memories[1:]:
        equal(cells, [times[kernel, by_walk(kernel), names[head.split(", ")[0]], head.split(", ")[1]] for head in memories[0][1:]], kernel)
    (sizes,), times = tables(["series", "walk_thread, f64"]), series_times("series-large{}", True)
    equal(len(sizes), 6, "rows of sizes")
    for size, *cells in sizes[1:]:
        of = [head.split(", ") for head in sizes[0][1:]]
        equal(cells, [times[kernel, by_walk(kernel), size, precision] for kernel, precision in of], size)


def findings():
    """{finding: (verdict, links)} of the page's four tables, one per document; the rows are checked."""
    found, documents = {}, tables(["finding"])
    equal((len(documents), sum(map(len, documents)) <= 72), (4, True), "tables of findings")
    for table in documents:
        equal(table[0], ["finding", "verdict", "record"], "heading")
        for finding, verdict, record in table[1:]:
            assert re.match(r"\*\*(confirmed|refuted|depends|open)\*\*", verdict), verdict
            links = re.findall(r"\]\(([^)]+)\)", record)  # (that they exist is tested above)
            assert links or len(record.split()) <= 4 and verdict, f"{finding}: {record}"
            found[finding] = verdict, " ".join(links)
    return found


with test("the table of findings: each has a verdict, and a record or the reason why there is none; figures of steps are the record's"):
    table = findings()
    written = (ROOT / "bench/records/2026-11-21-series-mpi-kernels-H200.txt").read_text(encoding="utf-8")
    for name, (verdict, links) in table.items():
        for number in re.findall(r"\b\d\.\d{3,4}\b", verdict) if re.fullmatch(r"\S*series-mpi-kernels-H200\.txt", links) else ():
            assert number in written or any(f"{float(w):.4g}" == number for w in re.findall(r"\d+\.\d{4,}", written)), f"{name}: {number}"

COUNTED = {"csr_scalar1": "scalar_kernel<in_memory, double>", "csr_scalar2": "scalar_kernel<in_register, double>",
           "csr_scalar3": "scalar_kernel<bounds_once, double>", "csr_vector": "subwarp_kernel<0, 0, 32, double>",
           "csr_vector_subwarp": "subwarp_kernel<0, 0, 2, double>", "csr_vector_by_row": "by_row_kernel<0, double>",
           "csr_adaptive": "adaptive_kernel<double>", "csr_adaptive_subblocks": "subblocks_kernel<double>",
           "ell_scalar": "scalar_kernel<ell_row, double>", "ell_subwarp": "subwarp_kernel<1, 0, 2, double>",
           "walk_thread": "walk_thread_kernel<double>", "sum_neighboured": "series_kernel<neighboured, sum_of<double>, double>",
           "sum_interleaved": "series_kernel<interleaved, sum_of<double>, double>",
           "sum_unrolled": "series_kernel<unrolled, sum_of<double>, double>"}

with test("the page's counters are those of the profile"):
    counters = {}
    for line in (ROOT / "bench/records/2026-11-25-profile-H100.txt").read_text(encoding="utf-8").splitlines():
        words = line.split()
        if line.startswith("  ") and re.fullmatch(r"[\d.]+", words[-1]):
            counters[" ".join(words[:-11])] = words[-11:]
    (products,), (steps,) = tables(["kernel", "threads", "instructions"]), tables(["kernel", "its name"])
    equal((len(products), len(steps)), (11, 5), "rows of counters")
    for row in products[1:]:
        of = counters[COUNTED[row[0]]]
        equal(row[1:], [of[2], *of[4:7], *of[8:10]], row[0])
    for row in steps[1:]:
        of = counters[COUNTED[row[0]]]
        equal([row[2], *(cell.split()[0] for cell in row[3:])], [of[2], f"{int(of[4]) / 1e6:.1f}", of[5], of[8]], row[0])

BASELINE = "cpu_csr_static" in exactness()
SMALL = ("MATRIX=matrices/cage4.mtx", "SET=rounds=1 columns=2")
COMPARED = {"csr": {"cpu_serial", "cpu_csr_static"},
            "ellpack": {"cpu_serial_ell", "cpu_serial_ell_nopad", "cpu_ell_transposed", "cpu_ell_nopad_transposed"}}
if BASELINE:
    for kind, kernels in COMPARED.items():
        serial = {k for k in kernels if "serial" in k}
        with test(f"make openmp-{kind}-.. run the reports' kernels, checked"):
            name = f"openmp-{kind}-compare-serial-parallel"
            out, below = make(name, *SMALL)
            within(below, "link")
            equal({r["run"]["kernel"] for r in records(f"{name}.jsonl")}, kernels, name)
            within(out, "None of the")
            out, _ = make(f"openmp-{kind}-check-conversions", SMALL[0])
            within(out, "coo_to_csr_single_pass" if kind == "csr" else "coo_to_ell_nopad_single_pass")
            for what, expected in (("serial", serial), ("parallel", kernels - serial)):
                name = f"openmp-{kind}-{what}-samplings"
                make(name, "SAMPLING_SIZE=7", *SMALL)
                found = records(f"{name}-7.jsonl")
                equal({r["run"]["kernel"] for r in found}, expected, name)
                equal({r["apply"]["n"] for r in found}, {7}, name)
                assert all(r["apply"]["variance"] >= 0 for r in found), name
    with test("make all MODE= builds, and runs the kernel or says that there is no GPU"):
        for mode, kernel in re.findall(r"^\| `make all MODE=(\w+)`.*\| (\w+) \|$", TEXT, re.M):
            out, below = make("all", f"MODE={mode}", "MATRIX=matrices/cage4.mtx", "ARGS=-k 3")
            within(below, "link")
            within(out, f"MODE={mode}: built; {kernel} needs a GPU" if not GPU else f"-d cuda --kernel {kernel}")
            if GPU:
                equal(out.count("\nPASS"), 2, mode)
        out, _ = make("all", "MODE=ellpack", "SAMPLING=yes", "SAMPLING_SIZE=5", *SMALL)
        if GPU:
            equal({(r["run"]["kernel"], r["apply"]["n"]) for r in records("cuda-ellpack-samplings-5.jsonl")}, {("ell_scalar", 5)})
        make("all", "SAMPLING=no", SMALL[0])
else:
    skip("the reports' targets", "the build is without their kernels (BASELINE=0)")

with test("what is not known, or not taken by a target, is refused with exit code 2 and said"):
    for words, part in ((["all", "MODE=csr_vec"], "csr_vector_by_row"), (["all", "MODE="], "ellpack_sw"), (["all", "SAMPLING=maybe"], "yes, no"),
                        (["all", "SAMPLING=yes", "SAMPLING_SIZE=0"], "not a number"), (["all", "SAMPLING_SIZE=3"], "all[SAMPLING=yes]"),
                        (["all", "SAMPLING=yes", "SAMPLING_SIZE=1e3"], "not a number"), (["help", "MODE=csr"], "takes no MODE="),
                        (["openmp-csr-check-conversions", "SAMPLING=yes"], "takes no SAMPLING="), (["run", "SAMPLING_SIZE=3"], "takes no SAMPLING_SIZE="),
                        (["openmp-csr-compare"], "openmp-csr-compare-serial-parallel"), (["csr_vector"], "make all MODE=csr_vector"),
                        (["all", "MODE=csr", "BASELINE=0"], "BASELINE=1")):
        out, below = make(*words, code=2)
        within(out, part)
        assert "matrices/get" not in out and not below, f"{words}: {out}{below}"
with test("every target uses the variables that it takes, and refuses the others by name"):
    taken = dict(re.findall(r"^takes_(\w+) := (.*)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    helped = subprocess.run(["make", "help-all"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    targets = {t for t in re.findall(r"^  make ([a-z][a-z-]+) ", helped, re.M)} | {"cage4", "study-small", "study-conversions"} | \
        {f"openmp-{kind}-{what}" for kind in COMPARED for what in ("compare-serial-parallel", "check-conversions", "serial-samplings")}
    assert len(taken) > 25 and len(targets) > 45, (taken, targets)
    # (MODE= and SAMPLING= are tested above; make -n fuzz would start fuzzing)
    values = {v: f"zz{v}" for v in taken if v not in ("MODE", "SAMPLING") and not v.startswith("FUZZ_")}
    values.update({"SAMPLING_SIZE": "70009", "NP": "70001", "TESTS": "test_plan"})
    for target in sorted(targets if BASELINE else {t for t in targets if not t.startswith("openmp")}):
        out, _ = make("-n", target, *(f"{v}={value}" for v, value in values.items()), code=2)
        refused = set(re.search(r"takes no ((?:\w+= ?)+): leave it out; \w+= is for ", out)[1].replace("=", "").split())
        assert refused <= set(values) and f"make {target} takes no" in out, out
        takes = set(values) - refused
        if takes:
            out, _ = make("-n", target, *(f"{v}={values[v]}" for v in takes))
            equal([v for v in takes if values[v] not in out], [], f"make {target}: variables that are taken and not used")
    make("-n", "clean", "check", "TESTS=test_plan")  # (one of the targets uses it)
    make("-n", "clean", env={"ARGS": "of another program"})
with test("an environment's MODE is nobody's"):
    make("all", env={"MODE": "anything"})

with test("make ML_Laplace fetches the matrix and runs it, and says why where there is no network"):
    cache = {"SPMM_MATRICES": os.path.join(SCRATCH.name, "cache")}
    out, _ = make("ML_Laplace", code=2, env={"SPMM_COLLECTION": "http://127.0.0.1:9", **cache})
    within(out, "Connection refused")
    within(out, "where there is a network")
    out, _ = make("ML_Laplace", "ARGS=-d cpu -k 3", env={"SPMM_COLLECTION": SERVER.url, **cache})
    within(out, "ML_Laplace")
    within(out, "\nPASS")
    out, _ = make("no_such_matrix", code=2, env={"SPMM_COLLECTION": SERVER.url, **cache})
    within(out, "is no target")

with test("make profile runs jobs/profile, which says where there is no ncu"):
    out, below = make("profile", code=2, env={"NCU": "/no/such/ncu"})
    within(below, "link")
    within(out, "there is no ncu")

with test("each make command of the page was run, or lists its points"):
    for command in (c for c in commands() if c.startswith("make ")):
        words = command.split()
        study = re.fullmatch(r"study-([\w-]+)", words[1])
        shapes = study and study[1] in ("launch-shapes", "subwarps")  # these have CUDA kernels only
        if study and study[1] not in ("conversions", "series", "series-large"):
            done = subprocess.run(["jobs/study", "--program", PROGRAM, "--dry-run", "--set", f"devices={'auto' if GPU else 'cpu'}",
                                   *(() if BASELINE else ("--set", "serial=no", "--set", "kernels=auto")),
                                   *(("--set", "kernels=auto", "--set", "block_sizes=0", "--set", "subwarps=0") if shapes and not GPU else ()),
                                   f"jobs/studies/{study[1]}.study"], cwd=HERE, capture_output=True, text=True, timeout=patience(60), check=False)
            equal(done.returncode, 0, f"{command}: {done.stderr[-500:]}: exit code")
        else:
            assert re.match(r"openmp-(csr|ellpack)-(compare-serial-parallel|check-conversions|(serial|parallel)-samplings)$|all$|ML_Laplace$|"
                            r"study-(conversions|series|series-large)$|profile$", words[1]), f"nothing runs {command}"

shutil.rmtree(HERE / "records", ignore_errors=True)
finish()
