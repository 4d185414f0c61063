"""The commands of README and documents: each command in a block is run as printed, or by a rule below, which changes it (less
work, a file that a reader would have) or gives the reason why it cannot be run here. A command without a rule is a failure,
and so is a rule that matches no command. Links, and files that the documents name, must exist."""
# limit: 300
import collections
import os
import pathlib
import re
import shutil
import subprocess

from command import MPIRUN, NO_SERIES, PROGRAM, ROOT, SCRATCH, SERIES, equal, finish, patience, skip, test, within

DOCUMENTS = sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("*/README.md")})
# beginnings of commands; any other line of a block is output, code or a file's text
FIRST = re.compile(r"(\./|jobs/|tests/|bench/|matrices/|packages/)[\w./-]+$|"
                   r"(make|mpirun|mpicc|mpifort|pkg-config|python3|git|module|for|srun|sbatch|sinfo|sacctmgr|spack|eb|docker|apptainer|gzip|cd)$")
NO_GPU = "no GPU is asked for here; make check-gpu runs such"
SITE = "it asks a site's SLURM, modules or network"
TARGETS = "its targets and variables are looked up instead"
PEOPLE = "installed files: test_install, test_examples and test_fortran run it"

Rule = collections.namedtuple("Rule", "pattern change why")


def rule(pattern, change=None, why=None):
    """change: [(pattern, new text)] to apply to the command; why: the reason why it is not run."""
    return Rule(re.compile(pattern), change or [], why)


RULES = [
    rule(r"pkg-config|\./solver|\./block_power", why=PEOPLE),
    rule(r"solver\.py|lobpcg_scipy|python_overhead", why="it needs mpi4py; test_python runs such"),
    rule(r"-m spmm_mpi", why="it needs SciPy; test_self_test runs such"),
    rule(r"\bmake\b", why=TARGETS),
    rule(r"-d cuda|bench_multigpu", why=NO_GPU),
    rule(r"matrices/get|name:|list:", why="it asks the collection's server; test_get has one"),
    rule(r"\.\.\.|-np N\b", why="it stands for many commands"),
    rule(r"^(srun|sbatch|sinfo|sacctmgr|git|spack|eb|docker|apptainer|module) ", why=SITE),
    rule(r"^jobs/submit ", [(r"(?<!--dry-run)$", " --dry-run")]),
    rule(r"^jobs/study (?!.*--dry-run)", [(r"$", " --dry-run")]),
    rule(r"^jobs/study .*--dry-run"),
    rule(r"^jobs/(scaling|report|compare|conversions) "),
    rule(r"spmm_mpi .*lap3d27:64", [("lap3d27:64", "lap3d27:12")]),
    rule(r"spmm_mpi .*lap3d7:60"),
    rule(r"spmm_mpi .*\bMATRIX\b", [(r"\bMATRIX\b", "A.mtx")]),
    rule(r"spmm_mpi .*(matrices/cage9|A\.mtx|--list-devices|--help)"),
    rule(r"series_mpi .*data\.csv"),
    rule(r"series_mpi", [(r" -m \d+ -n \d+", ""), (r"/series_mpi", "/series_mpi -m 40 -n 60")]),
    rule(r"^python3 --version"),
    rule(r"^(python3 )?(bench|tests)/", why="it takes minutes, or what a bench has written"),
]


def blocks(text):
    """Yields the lines of indented blocks, and of fenced blocks with a shell or no language."""
    fenced = None
    for line in text.splitlines():
        if line.startswith("```"):
            fenced = None if fenced is not None else line[3:].strip()
        elif fenced in ("", "sh", "bash", "console") or fenced is None and line.startswith("    "):
            yield line.strip()


def commands(path):
    """The commands in a document, without trailing comments."""
    for line in blocks(path.read_text(encoding="utf-8")):
        command = re.sub(r"\s+#\s.*$", "", re.sub(r"^\$ ", "", line))
        words = re.sub(r"^([A-Z_]+=\S* )+", "", command).split()
        if words and FIRST.match(words[0]) and not re.search(r"^\S+\s{2,}\S", command):
            yield command


def make_is_known(command):
    """Checks that the makefiles have each target and variable in a make command."""
    rules = "\n".join(p.read_text(encoding="utf-8") for p in [ROOT / "Makefile", *ROOT.glob("mk/*.mk")])
    for words in re.findall(r"\bmake ([^;&|]*)", command + " "):
        for word in re.sub(r'"[^"]*"', "", words).split():
            name, equals, _ = word.partition("=")
            if equals:
                assert re.search(rf"\b{name}\b", rules), f"{command}: no variable {name}"
            elif not re.match(r"-|\d|build/|>", name):
                pattern = "|".join([re.escape(name), re.escape(re.sub(r"-.*", "-", name)) + "%"])
                assert re.search(rf"^(\S+ )*({pattern})( \S+)*\s*:|^\.PHONY:.*(\s)({pattern})(\s|$)", rules, re.M), \
                    f"{command}: no target {name}"


def stage():
    """A folder like the project's, with the files that a reader would have."""
    here = pathlib.Path(SCRATCH.name) / "tree"
    here.mkdir()
    for name in ("Makefile", "mk", "src", "contrib", "fortran", "kernels", "include", "bench", "tests", "docs", "examples", "matrices", "jobs",
                 "CHANGELOG.md", "README.md", "LICENSE"):
        (here / name).symlink_to(ROOT / name)
    (here / "spmm_mpi").symlink_to(os.path.realpath(PROGRAM))
    if not NO_SERIES:
        (here / "series_mpi").symlink_to(os.path.realpath(SERIES))
    shutil.copy(ROOT / "matrices/cage4.mtx", here / "A.mtx")
    (here / "X.mtx").write_text("%%MatrixMarket matrix array real general\n9 2\n" + "1\n" * 18)
    (here / "data.csv").write_text("".join(f"{i},{i * i % 7},{(i * 5) % 11},{i % 3}\n" for i in range(1, 9)))
    shutil.copy(ROOT / "jobs/studies/small.study", here / "my.study")
    (here / "records").mkdir()
    for name in ("r", "old", "new", "strong", "weak", "series", "records/small"):
        shutil.copy(ROOT / "docs/studies/small-2-cores.jsonl", here / f"{name}.jsonl")
    os.remove(here / "series.jsonl")  # one of the commands writes it
    return here


def as_run(command, change):
    for pattern, new in change:
        command = re.sub(pattern, new, command)
    return re.sub(r"\bmpirun\b", " ".join(MPIRUN), command)


def plots_missing():
    return subprocess.run(["python3", "-c", "import matplotlib"], capture_output=True, check=False).returncode


def run_all(path, here, used):
    for command in commands(path):
        known = [r for r in RULES if r.pattern.search(command)]
        assert known, f"no rule for: {command}"
        used.add(known[0].pattern)
        make_is_known(command)
        if known[0].why or NO_SERIES and "series_mpi" in command:
            continue
        if command.startswith(("jobs/scaling", "jobs/report")) and plots_missing():
            continue
        done = subprocess.run(["bash", "-c", as_run(command, known[0].change)], cwd=here, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=patience(120), check=False)
        assert done.returncode == 0, f"{command}: exit code {done.returncode}: {done.stdout[-500:]}{done.stderr[-1500:]}"


USED = set()
HERE = stage()
for DOCUMENT in DOCUMENTS:
    with test(f"the commands of {DOCUMENT.relative_to(ROOT)} work"):
        run_all(DOCUMENT, HERE, USED)
with test("every rule is of use"):
    equal([r.pattern.pattern for r in RULES if r.pattern not in USED], [])
if plots_missing():
    skip("jobs/scaling and jobs/report of the documents", "python3 has no matplotlib")

with test("links between the documents lead to files and headings"):
    for DOCUMENT in DOCUMENTS:
        for TARGET in re.findall(r"\]\((?!https?:|mailto:)([^)\s]+)\)", DOCUMENT.read_text(encoding="utf-8")):
            name, _, anchor = TARGET.partition("#")
            file = (DOCUMENT.parent / name) if name else DOCUMENT
            assert file.exists(), f"{DOCUMENT.relative_to(ROOT)}: {TARGET} is not there"
            if anchor:
                heads = [re.sub(r"[^\w\- ]", "", h).strip().lower().replace(" ", "-")
                         for h in re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.M)]
                within(heads, anchor)

FOLDERS = "src|docs|mk|jobs|bench|tests|kernels|packages|contrib|python|fortran|examples|matrices"
with test("files that the documents name in quotes are there"):
    # CHANGELOG names files of older versions; names in capitals are placeholders
    names = {p.name for folder in (*FOLDERS.split("|"), "include") for p in (ROOT / folder).rglob("*")}
    for DOCUMENT in (d for d in DOCUMENTS if d.name != "CHANGELOG.md"):
        text = DOCUMENT.read_text(encoding="utf-8")
        paths = [path for path in re.findall(rf"`((?:{FOLDERS})/[\w./-]*\w)`", text) if not re.search(r"[A-Z]{4}(?!\w*\.md)", path)]
        absent = [path for path in paths if not (ROOT / path).exists()]
        absent += [name for name in re.findall(r"`(\w+\.(?:c|h|cu|cuh|py|sh|def|mk))`", text) if name not in names]
        equal(absent, [], str(DOCUMENT.relative_to(ROOT)))

# CHANGELOG names options of older versions
CURRENT = [d for d in (*DOCUMENTS, *ROOT.glob("docs/*.1"), ROOT / "docs/spmm.3.in") if d.name != "CHANGELOG.md"]
SOURCES = "\n".join(p.read_text(encoding="utf-8", errors="replace") for folder in (*FOLDERS.split("|"), "include")
                    for p in sorted((ROOT / folder).rglob("*"))
                    if p.suffix in (".c", ".h", ".cu", ".cuh", ".cpp", ".def", ".py", ".sh", ".mk", ".f90", ".in", "") and p.is_file()
                    and folder != "docs" and p != pathlib.Path(__file__).resolve()) + (ROOT / "Makefile").read_text(encoding="utf-8")
# options of zstd, git, modules, sbatch, the linker, EasyBuild
OTHERS = {"--ultra", "--prefix", "--force", "--gpus-per-task", "--gc-sections", "--robot", "--check-contrib", "--check-style", "--new-pr"}


def named(pattern, text):
    return set(re.findall(pattern, text.replace("\\-", "-")))


with test("options, functions and variables that the documents name are there"):
    known = {"option": named(r"(?:--|[\"'])([a-z][a-z0-9-]+)", SOURCES), "name": named(r"\b\w+\b", SOURCES)}
    for DOCUMENT in CURRENT:
        text = DOCUMENT.read_text(encoding="utf-8")
        absent = [o for o in named(r"(?<![\w-])--[a-z][a-z0-9-]+", text) - OTHERS if o[2:] not in known["option"]]
        absent += [n for n in named(r"\b(?:spmm|sp)_\w+(?=\()|\bSPMM_[A-Z0-9_]+[A-Z0-9]\b(?![*_])", text) if n not in known["name"]]
        equal(absent, [], str(DOCUMENT.relative_to(ROOT)))
with test("lists of matrices have as many as matrices/README.md says"):
    rows = re.findall(r"\]\(lists/([\w.-]+)\) \|[^|]*\| (\d+) \|", (ROOT / "matrices/README.md").read_text(encoding="utf-8"))
    equal([(n, int(count)) for n, count in rows],
          [(n, len(re.findall(r"^\w+/", (ROOT / "matrices/lists" / n).read_text(encoding="utf-8"), re.M))) for n, _ in rows])
    assert rows, "no row of the table was read"
WORDS = "comments and documents have American spelling, the words of the glossary and lines that fit"
if (ROOT / ".git").exists():
    with test(WORDS):
        done = subprocess.run(["python3", ROOT / "mk/words.py"], capture_output=True, text=True, check=False)
        equal(done.returncode, 0, done.stdout)
else:
    skip(WORDS, "this is no checkout of git, which lists the files")
finish()
