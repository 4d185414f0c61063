"""The layers of docs/DESIGN.md: every #include and every call of MPI, CUDA, METIS and exit is checked against its table of
folders. Neither includes, nor calls between C files, nor imports of Python form a circle."""
import ast
import collections
import os
import pathlib
import re
import subprocess

from command import ROOT, equal, finish, skip, test

# the build links one file of each set (mk/config.mk, mk/series.mk): they define the same functions
PAIRS = [{"src/device/device_none.c", *(f"src/device/{p.name}" for p in (ROOT / "src/device").glob("device_cuda*.c"))},
         {"src/device/topology_none.c", "src/device/topology_hwloc.c"},
         {"src/comm/nccl_none.c", "src/comm/nccl_found.c"},
         {"src/order/graph_cut_none.c", "src/order/graph_cut_metis.c"},
         {"src/codec/gzip_zlib.c", "src/codec/gzip_isal.c"},
         {"src/codec/bzip2_none.c", "src/codec/bzip2_found.c"},
         {"src/codec/xz_none.c", "src/codec/xz_found.c"},
         {"src/codec/zstd_none.c", "src/codec/zstd_found.c"},
         {"kernels/series/no_blas.c", "kernels/series/cpu_series_blas.c"}]
CUDA = re.compile(r"src/device/device_cuda\w*\.[ch]|src/comm/nccl_found\.c|kernels/peers/adaptors/cusparse\.c|.*\.cuh?")

Folder = collections.namedtuple("Folder", "place mpi seen_by")


def layers():
    """{folder: (its place in the table, "yes" if it may include MPI, folders that may include it, None: all later ones)}"""
    text = (ROOT / "docs/DESIGN.md").read_text().split("\n## Layers", 1)[1].split("\n## ", 1)[0]
    rows = re.findall(r"^\| `([^`]+)` \|[^|]*\| (yes|no) \| ([^|]*) \|$", text, re.M)
    lists = dict(re.findall(r"^- Seen by, `([^`]+)`: (.*(?:\n .*)*)", text, re.M))
    return {folder: Folder(place, mpi, None if seen == "all" else
                           re.findall(r"`([^`]+)`", lists[folder] if seen == "list" else seen))
            for place, (folder, mpi, seen) in enumerate(rows)}


def sources(*tops):
    """{path: text} of every source in these folders."""
    found = [p for top in tops for p in sorted((ROOT / top).rglob("*"))]
    return {str(p.relative_to(ROOT)): p.read_text() for p in found if p.suffix in (".c", ".h", ".cu", ".cuh", ".def")}


def code(text):
    """The text with the same lines, but without comments and without the contents of strings."""
    def blank(match):
        return '""' if match[0][0] == '"' else "\n" * match[0].count("\n")
    return re.sub(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/|//[^\n]*', blank, text, flags=re.S)


def included(name, files):
    """The path of a header that is included by that name; None: it is not one of the project."""
    return next((path for path in (f"src/{name}", name, f"include/{name}") if path in files), None)


def includes(files):
    """(path, header's path) of every #include "..."; the header's path is "" if the project has no such file."""
    for path, text in files.items():
        for name in re.findall(r'^\s*#\s*include\s*"([^"]+)"', text, re.M):
            yield path, included(name, files) or ""


def wrong_includes(files, table):
    """A line for each include that the layers forbid."""
    wrong = []
    for path, header in includes(files):
        here, there = os.path.dirname(path), os.path.dirname(header)
        if not header:
            wrong.append(f"{path} includes a header that is not there")
        elif table[there].place > table[here].place:
            wrong.append(f"{path} includes {header}: upward")
        elif here != there and table[there].seen_by is not None and here not in table[there].seen_by:
            wrong.append(f"{path} includes {header}: around a wall")
    return wrong + sees_mpi(files, table)


def sees_mpi(files, table):
    """A line for each file that includes <mpi.h>, directly or not, in a folder without MPI."""
    ours = collections.defaultdict(set)
    for path, header in includes(files):
        ours[path].add(header)
    seeing = {path for path, text in files.items() if re.search(r"^\s*#\s*include\s*<mpi\.h>", text, re.M)}
    while True:
        more = {path for path in files if path not in seeing and ours[path] & seeing}
        if not more:
            break
        seeing |= more
    return [f"{path} sees <mpi.h>" for path in sorted(seeing) if table[os.path.dirname(path)].mpi == "no"]


def in_circles(arrows):
    """The nodes on circles of (from, to), and those on paths between circles."""
    while True:
        left = [(a, b) for a, b in arrows if a != b and any(b == c for c, _ in arrows) and any(a == d for _, d in arrows)]
        if len(left) == len(arrows):
            return sorted({a for a, _ in left})
        arrows = left


def circles_of_includes(files):
    """The files on circles of #include, and the folders of src, contrib, kernels and include on such circles."""
    found = {arrow for arrow in includes(files) if arrow[1]}
    return in_circles(sorted(found)) + in_circles(sorted({(os.path.dirname(a), os.path.dirname(b)) for a, b in found}))


def circles_of_calls(files):
    """The C files on circles of calls; functions that two files define, one of which the build links, do not count."""
    where = {name: paths for (kind, name), paths in defined(files).items() if kind == "function"}
    arrows = set()
    for path, text in files.items():
        if path.endswith((".c", ".cu")):
            text = code(text)
            called = set(re.findall(r"(?<![.>\w])([a-z]\w+)\(", text)) - set(re.findall(r"^static [\w *]*?\b([a-z]\w+)\(", text, re.M))
            arrows |= {(path, *where[name]) for name in called if len(where.get(name, ())) == 1}
    return in_circles(sorted(arrows))


def circles_of_imports(texts):
    """The modules on circles of imports, those in functions included. texts: {path: text} of Python sources."""
    arrows = set()
    for path, text in texts.items():
        here = os.path.dirname(path)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom):
                base = "/".join([*here.split("/")[:len(here.split("/")) + 1 - node.level]] if node.level else []) or here
                names = [node.module, *(f"{node.module or ''}.{name.name}".strip(".") for name in node.names)]
            elif isinstance(node, ast.Import) and here != "python/spmm_mpi":  # (not its torch.py)
                base, names = here, [name.name for name in node.names]
            else:
                continue
            for name in filter(None, names):
                place = name.replace(".", "/")
                arrows |= {(path, other) for other in (f"{base}/{place}.py", f"{here.split('/')[0]}/{place}.py") if other in texts}
    return in_circles(sorted(arrows))


def lines_with(pattern, files, without=lambda path: False):
    return [f"{path}:{number}: {line.strip()}" for path, text in files.items() if not without(path)
            for number, line in enumerate(code(text).split("\n"), 1) if re.search(pattern, line)]


def defined(files):
    """{(kind, name): files that define it} for types, and functions that are not static."""
    where = collections.defaultdict(set)
    for path, text in files.items():
        text = code(text)
        for name in re.findall(r"^typedef (?:struct|enum|union) (\w+) \{", text, re.M):
            where["type", name].add(path)
        if path.endswith(".c"):
            for name in re.findall(r"^(?!static|typedef|extern|__)(?=\w)[\w *]*?\b([a-z]\w+)\([^;{}]*\)(?:\n\{| \{ )", text, re.M):
                where["function", name].add(path)
    return where


def in_callers_environment(files):
    """Exported functions that return a status and do not begin with SP_DEFAULT_FP (base/fp_environment.h)."""
    return [name for path, text in files.items() if path.endswith(".c") and path != "src/plan/fortran.c"
            for name, begin in re.findall(r"^spmm_status (spmm_\w+)\([^;{}]*\)\n\{\n *(.*)", code(text), re.M) if begin != "SP_DEFAULT_FP;"]


def defined_twice(files):
    """Names with two definitions, except functions of link-time pairs and the two programs' main()."""
    return [f"{kind} {name}: {', '.join(sorted(paths))}" for (kind, name), paths in sorted(defined(files).items())
            if len(paths) > 1 and not (kind == "function" and (name == "main" or any(paths <= pair for pair in PAIRS)))]


def exported(library):
    library = pathlib.Path(os.environ["BUILD"]) / library
    table = subprocess.run(["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, check=True).stdout
    return {line.split()[2] for line in table.splitlines() if line.split()[1] in "TDBRVWi"}


files, table = sources("src", "contrib", "kernels", "include"), layers()

with test("the table of folders in docs/DESIGN.md has every folder of src, contrib and kernels, and no other"):
    equal(sorted(table), sorted({os.path.dirname(path) for path in files}))

with test("src has at most 18 folders, of at most 28 files each"):
    count = collections.Counter(os.path.dirname(path) for path in files)
    assert sum(folder.startswith("src/") for folder in count) <= 18, sorted(count)
    equal({folder: n for folder, n in count.items() if n > 28}, {})
    equal(sorted(os.listdir(ROOT / "src")), sorted(f[4:] for f in count if f.startswith("src/")))

with test("no include goes up, around a wall or, where there is to be no MPI, to <mpi.h>"):
    equal(wrong_includes(files, table), [])

for path, line, why in (("src/base/memory.h", '#include "plan/plan.h"', "src/base/memory.h includes src/plan/plan.h: upward"),
                        ("src/series_mpi/load.c", '#include "spmm_mpi/job.h"',
                         "src/series_mpi/load.c includes src/spmm_mpi/job.h: around a wall"),
                        ("src/halo/moves.c", '#include "kernels/kernel.h"',
                         "src/halo/moves.c includes kernels/kernel.h: around a wall"),
                        ("src/io/csv.c", '#include "spmm.h"', "src/io/csv.c sees <mpi.h>"),
                        ("src/plan/plan.c", '#include "plan.h"', "src/plan/plan.c includes a header that is not there")):
    with test(f"and one that does is found: {why}"):
        planted = {**files, path: f"{line}\n{files[path]}"}
        assert why in wrong_includes(planted, table), wrong_includes(planted, table)

benches = sources("bench")
scripts = {str(p.relative_to(ROOT)): p.read_text() for top in ("python", "bench", "contrib", "jobs", "mk") for p in (ROOT / top).rglob("*")
           if p.suffix == ".py" or top == "jobs" and p.is_file() and p.read_bytes()[:30].startswith(b"#!/usr/bin/env python3")}

with test("includes form no circle, neither of files nor of folders, and a circle of either kind is found"):
    equal(circles_of_includes({**files, **benches}), [])
    for header, other in (("src/halo/moves.h", "src/halo/joint.h"), ("src/halo/moves.h", "src/exchange/exchange_peer.h")):
        found = circles_of_includes({**files, header: f'#include "{other[4:]}"\n{files[header]}'})
        assert header in found and other in found, found
    found = circles_of_includes({**files, "src/halo/moves.c": '#include "exchange/exchange_backend.h"\n' + files["src/halo/moves.c"]})
    equal(found[-2:], ["src/exchange", "src/halo"])

with test("calls between C files form no circle, and one that does is found"):
    equal([circles_of_calls(group) for group in (files, benches)], [[], []])
    found = circles_of_calls({**files, "src/halo/moves.c": files["src/halo/moves.c"] + "\nvoid f(void) { sp_joint_destroy(NULL); }\n"})
    equal(found, ["src/halo/joint.c", "src/halo/moves.c"])

with test("imports form no circle, and one in a function is found"):
    equal(circles_of_imports(scripts), [])
    path = "python/spmm_mpi/_arrays.py"
    found = circles_of_imports({**scripts, path: scripts[path] + "\n\ndef f():\n    from ._plan import Plan\n"})
    assert path in found and "python/spmm_mpi/_plan.py" in found, found

with test("MPI is called only in folders that the table allows to"):
    equal(lines_with(r"\bP?MPI_[A-Z][a-z_]*[a-z] *\(", files, lambda p: table[os.path.dirname(p)].mpi == "yes"), [])

with test("CUDA is called, and its headers are included, only in device_cuda*, nccl_found.c, cuSPARSE's adaptor, *.cu and *.cuh"):
    equal(lines_with(r"\bcuda[A-Z][A-Za-z]*", files, CUDA.fullmatch), [])
    equal([p for p, text in files.items() if not CUDA.fullmatch(p) and re.search(r'#\s*include\s*[<"]cuda', text)], [])

with test("no #if asks for CUDA: the build links one of two files instead"):
    equal([line for line in lines_with(r"#\s*(if|ifdef|ifndef|elif)\b.*CUDA", files, CUDA.fullmatch)
           if not re.search(r"#\s*ifndef SP_\w+_H$", line)], [])

with test("METIS is called only in graph_cut_metis.c: the build links it or graph_cut_none.c"):
    equal(lines_with(r"\bMETIS_[A-Z]|\bidx_t\b", files, lambda p: p.endswith("/graph_cut_metis.c")), [])

with test("the libraries that decompress are called only in the files of src/codec that the build links for them"):
    for library, caller in ((r"\binflate\w*\(|\bisal_", "gzip_"), (r"\bBZ2_", "bzip2_found"), (r"\blzma_", "xz_found"), (r"\bZSTD_", "zstd_found")):
        equal(lines_with(library, files, lambda p: p.startswith(f"src/codec/{caller}")), [])

with test("hwloc is called only in topology_hwloc.c: the build links it or topology_none.c"):
    equal(lines_with(r"\bhwloc_|\bHWLOC_", files, lambda p: p.endswith("/topology_hwloc.c")), [])

with test("exit and abort are called in main.c alone, by the timer of --timeout, and in the MPI of one rank, as MPI does"):
    equal(lines_with(r"(^|[^A-Za-z0-9_])(exit|_exit|_Exit|abort) *\(", files,
                     lambda p: p.endswith("/main.c") or p in ("contrib/one_rank/process.c", "src/cli/heartbeat.c")), [])

with test("each exported function computes in the default floating-point environment, and one that does not is found"):
    equal(in_callers_environment(files), [])
    path = "src/dense/scale_rows.c"
    equal(in_callers_environment({path: files[path].replace("    SP_DEFAULT_FP;\n    TRY", "    TRY")}), ["spmm_multivector_scale_rows"])

with test("no type and no function has two definitions, but for those of which the build links one"):
    equal(defined_twice(files), [])

with test("and a second one is found"):
    planted = {**files, "src/io/csv.c": files["src/io/csv.c"] + "\nint sp_agree(int x)\n{\n    return x;\n}\n",
               "src/io/csv.h": files["src/io/csv.h"] + "\ntypedef struct sp_grid {\n    int x;\n} sp_grid;\n"}
    equal(len(defined_twice(planted)), len(defined_twice(files)) + 2)

sentence = "libspmm.so and libmm.so export the functions that the headers of include/ declare, those that Fortran calls, what tells their MPI, and nothing else"
if re.search("asan|tsan", os.environ.get("BUILD", "asan")):
    skip(sentence, "not with sanitizers")
else:
    with test(sentence):
        one_rank = pathlib.Path(os.environ["BUILD"]).name.endswith("-one")
        more = "contrib/one_rank/mpi.h" if one_rank else "src/plan/fortran.h"
        headers = "".join(code(text) for path, text in files.items() if path.startswith("include/") or path == more)
        macros = set(re.findall(r"^#define (\w+)", headers, re.M))
        mark = set(re.findall(r"^#define SPMM_MPI_CHECK (\w+)", files["contrib/one_rank/mpi.h" if one_rank else "include/spmm.h"], re.M))
        own = {f"spmm_one_rank_{name}" for name in re.findall(r"SPMM_ONE_RANK\((\w+)\)[^_]", headers)}
        own |= set(re.findall(r"\b(spmm_one_rank_(?:world|self))\b", headers))
        for library, prefix, others in (("libspmm.so", "spmm", mark | own - {"spmm_one_rank_function"}), ("libmm.so", "mm", set())):
            equal(exported(library), (set(re.findall(rf"\b({prefix}_\w+)\(", headers)) - macros) | others)

finish()
