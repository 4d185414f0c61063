"""docs/record.schema.json compared with the programs' records: each field is described, with its unit, and each described
field is written by some program, with the described type."""
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import warnings

from command import NO_SERIES, PROGRAM, ROOT, SERIES, equal, finish, patience, run, scratch, skip, test, within
import made_records as made
from study_tools import start
from spmm_study import environment, lines, records, schema

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    try:
        import jsonschema
    except ImportError:
        jsonschema = None

NO_JSONSCHEMA = "no jsonschema for Python (python3-jsonschema)"
DESCRIPTION = json.loads((ROOT / "docs" / "record.schema.json").read_text(encoding="utf-8"))
TYPES = {type(None): "null", bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
NVCC = """nvcc: NVIDIA (R) Cuda compiler driver
Copyright (c) 2005-2025 NVIDIA Corporation
Built on Wed_Aug_20_01:58:59_PM_PDT_2025
Cuda compilation tools, release 13.0, V13.0.88
Build cuda_13.0.r13.0/compiler.36424714_0
"""


def resolved(node):
    """The keywords of a node and of the node that it refers to; its own take precedence."""
    while "$ref" in node:
        target = DESCRIPTION
        for name in node["$ref"].split("/")[1:]:
            target = target[name]
        node = {**target, **{k: v for k, v in node.items() if k != "$ref"}}
    return node


def types(node):
    """The names of the types that a node allows."""
    node = resolved(node)
    if "anyOf" in node:
        return set().union(*(types(n) for n in node["anyOf"]))
    if "const" in node:
        return {TYPES[type(node["const"])]}
    return set(node["type"]) if isinstance(node["type"], list) else {node["type"]}


def declared(node, name=""):
    """Yields (name, node) of every field within a node."""
    node = resolved(node)
    for part, inner in {**node.get("properties", {}), **node.get("patternProperties", {})}.items():
        yield name + part, resolved(inner)
        yield from declared(inner, f"{name}{part}.")
    if "items" in node:
        yield from declared(node["items"], name)


def of(node, name):
    """(name or pattern, node or None) that describes that field of an object."""
    for part, inner in node.get("patternProperties", {}).items():
        if name.startswith(part[1:]):
            return part, inner
    return name, node.get("properties", {}).get(name, node.get("additionalProperties"))


def found(node, value, written, name=""):
    """Adds the names of the fields in a value to `written`, and yields messages on fields without description or with
    another type."""
    node = resolved(node)
    allowed = types(node)
    if TYPES[type(value)] not in allowed and not (type(value) is int and "number" in allowed):
        yield f"{name} is {lines.shown(value)}, described as {allowed}"
    elif isinstance(value, dict):
        for inner, one in value.items():
            part, described = of(node, inner)
            if described is None:
                yield f"{name}.{inner}: not described"
            else:
                written.add(f"{name}{part}")
                yield from found(described, one, written, f"{name}{part}.")
    elif isinstance(value, list):
        for one in value:
            yield from found(node["items"], one, written, name)


def kind(record):
    return "conversions" if "conversions" in record else schema.kind_of(record)


def read(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def study_records():
    """Records of jobs/study: an environment with a GPU and a CUDA compiler, runs, and a failed run."""
    tools = scratch("tools")
    os.makedirs(tools)
    for name, text in (("nvcc", NVCC), ("nvidia-smi", "NVIDIA H200, 580.1, 143771 MiB\n")):
        path = os.path.join(tools, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\ncat <<'END'\n{text}END\n")
        os.chmod(path, 0o755)
    path = scratch("study.jsonl")
    text = f"matrices = lap2d5:{{9*ranks}} {scratch('none.mtx', 'no matrix')}\ndevices = cpu\nthreads = 1\nrounds = 1\nrepeats = 2\n"
    done = start("study", "--program", PROGRAM, "--launcher", "", "--namespaces", 1, "--records", path,
                 scratch("one.study", text),
                 env={"PATH": f"{tools}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1", "SLURM_NTASKS": "1"})
    equal(done.returncode, 1, done.stderr)
    return read(path)


def all_records():
    counts = scratch("counts.jsonl")
    run("-d", "cpu", "--dry-run", "--plan-ranks", "1,2", "--json", counts, "lap2d5:40", records=False)
    made_by = {"spmm_mpi, counts": read(counts),
               "spmm_mpi": run("-q", "-r", 6, "-t", 1, "--probe", "-g", "1x2", "--csv", scratch("runs.csv"), "lap2d5:40", ranks=2).records +
               run("-q", "-r", 2, "-t", 1, "--verify", "none", "lap2d5:9").records, "jobs/study": study_records()}
    path = scratch("conversions.jsonl")
    equal(start("conversions", "--program", PROGRAM, "--launcher", "", "--rounds", 1, "--records", path, "--out",
                scratch("c"), "lap2d5:9").returncode, 0)
    made_by["jobs/conversions"] = read(path)
    for name, words in () if NO_SERIES else (("steps", ("-m", "20", "-n", "50", "-r", "2")), ("sums", ("--accuracy", "-n", "32")),
                                            ("arrays", ("--sum", "all", "-n", "32", "-r", "6"))):
        path = scratch(f"{name}.jsonl")
        subprocess.run([SERIES, "-q", "-d", "cpu", *words, "--json", path], check=True, timeout=patience(60), stdout=subprocess.DEVNULL)
        made_by[f"series_mpi, {name}"] = read(path)
    return made_by


MADE = all_records()
if NO_SERIES:
    skip("fields of series_mpi's records", NO_SERIES)

with test("every field is described, a number with its unit"):
    fields = [(kind, *field) for kind in schema.KINDS for field in declared({"$ref": schema.KINDS[kind][1]})]
    assert len(fields) > 200
    for kind_name, name, node in fields:
        assert len(node.get("description", "")) > 3, f"{kind_name}: {name}: no description"
        if types(node) & {"integer", "number"} and "string" not in types(node):
            assert node.get("x-unit"), f"{kind_name}: {name}: no x-unit"

with test("every field that a program writes is described with its type, and every described one is written by a program"):
    written = {name: set() for name in schema.KINDS}
    for program, made_records in MADE.items():
        for record in made_records:
            where = written[kind(record)]
            equal(list(found({"$ref": schema.KINDS[kind(record)][1]}, record, where)), [], program)
    # the group `study` is the same in all kinds of records
    of_study = {name for names in written.values() for name in names if name.startswith("study")}
    for kind_name in ("run", "failure", "step"):
        written[kind_name] |= of_study if written[kind_name] else set()
    del written["own"]
    for kind_name, names in written.items():
        if names or not (NO_SERIES and kind_name in ("step", "accuracy")):
            never = {name for name, _ in declared({"$ref": schema.KINDS[kind_name][1]})} - names
            equal(never, set(), f"{kind_name}: described, and written by nothing")

with test("a record has what was asked for beside what was taken; nothing of a launch on a CPU"):
    words = ("--exchange", "bcast", "--transport", "mpi", "--reduce", "linear", "--no-overlap", "--column-blocks", 2, "--reproducible", "off",
             "--plan", "quick", "--partition", "rows", "--products", 7, "--ell-limit", 2.5, "--values", "f32", "--exchange-precision", "f32", "-d", "cpu", "-g", "2x1", "-t", 1, "-k", 8, "-f", "csr")
    other = {"device": "cpu", "kernel": "auto", "format": "csr", "grid": "2x1", "threads": 1, "exchange": "bcast", "transport": "mpi",
             "reduce": "linear", "block_size": 0, "subwarp": 0, "overlap": "off", "column_blocks": 2, "reproducible": "off",
             "partition": "rows", "plan": "quick", "products": 7, "autotune": "off", "io": "root", "scatter": "direct", "scatter_format": "csr", "ell_limit": 2.5, "isa": "generic", "backend": "",
             "exchange_precision": "f32", "values": "f32"}
    record = run("-q", "-r", 2, *words, "lap2d5:9", ranks=2, env={"SPMM_ISA": "generic"}).records[0]
    equal(record["asked"], other)
    equal((record["run"]["exchange"], record["moved"]["reduce"], record["plan"]["backend"]), ("bcast", "none", "direct"))
    equal(record["launch"], dict.fromkeys(("block_size", "subwarp", "registers", "blocks", "static_shared_bytes",
                                           "dynamic_shared_bytes", "resident_blocks", "occupancy")))
    plain = {"device": "auto", "kernel": "auto", "format": "auto", "grid": "", "threads": 0, "partition": "auto", "exchange": "auto", "transport": "auto",
             "reduce": "auto", "overlap": "on", "column_blocks": 0, "reproducible": "on", "plan": "timed", "products": 0, "ell_limit": 3, "isa": "",
             "exchange_precision": "f64", "values": "exact"}
    equal(run("-q", "-r", 2, "lap2d5:9").records[0]["asked"], {**other, **plain})

with test("each record of a program tells the date, the processor, its cores, the commit and the load"):
    git = subprocess.run(["git", "-C", ROOT, "describe", "--always"], capture_output=True, text=True, check=False).stdout.strip()
    for program, made_records in MADE.items():
        for record in made_records if program.startswith(("spmm_mpi", "series_mpi")) else ():
            of = record["measured"]
            age = datetime.datetime.now(datetime.timezone.utc) - datetime.datetime.fromisoformat(of["date"].replace("Z", "+00:00"))
            assert 0 <= age.total_seconds() < 600, of
            equal((of["processor"], of["cores"]), (environment._cpu(), os.sysconf("SC_NPROCESSORS_ONLN")))
            assert of["load_average"] >= 0 and (not of["commit"] or not git or re.match(r"[\w.-]*[0-9a-f]{7}", of["commit"])), of

with test("the CSV has the fields of the JSON"):
    with open(scratch("runs.csv"), encoding="utf-8") as file:
        columns = file.readline().strip().split(",")
    expected = []
    for name, value in MADE["spmm_mpi"][0].items():
        expected += [f"{name}.{inner}" for inner in value] if isinstance(value, dict) else [name]
    place = expected.index("run.grid")
    equal(columns, expected[:place] + ["run.grid_p", "run.grid_q"] + expected[place + 1:])

with test("every record has the schema's number"):
    for program, made_records in MADE.items():
        equal({r.get("schema") for r in made_records}, {schema.newest()}, program)

VALIDATES = "what was written validates by JSON Schema 2020-12, and so do records of older versions; what is odd does not"
if jsonschema is None:
    skip(VALIDATES, NO_JSONSCHEMA)
else:
    with test(VALIDATES):
        jsonschema.Draft202012Validator.check_schema(DESCRIPTION)
        validator = jsonschema.Draft202012Validator(DESCRIPTION)
        paths = sorted((ROOT / "docs" / "studies").glob("*.jsonl")) + \
            [p for p in sorted((ROOT / "bench" / "records").glob("*.jsonl")) if "bench-read" not in p.name]
        assert len(paths) > 3
        old = {p.name: read(p) for p in paths}
        assert not all("schema" in r for of_file in old.values() for r in of_file), "none is old any more"
        for name, of_file in {**MADE, **old}.items():
            for record in of_file:
                errors = [e.message[:300] for e in validator.iter_errors(record)]
                equal(errors, [], name)
        good = next(r for r in MADE["jobs/study"] if "run" in r)
        for group, name, value in (("apply", "median", -1), ("run", "k", 0), ("run", "precision", "f16"), ("matrix", "nnz", "9"),
                                   ("run", "grid", [1]), ("study", "load_average", "high"), (None, "schema", schema.newest() + 1), (None, "apply", None)):
            odd = json.loads(json.dumps(good))
            (odd[group] if group else odd)[name] = value
            assert not validator.is_valid(odd), f"{group} {name} = {value} is valid"
        assert not validator.is_valid({}) and not validator.is_valid({"schema": 1})


with test("jobs/ takes the same records, of all versions"):
    for name, of_file in MADE.items():
        for record in of_file:
            schema.check(record, name, kind(record))

with test("a record of a newer schema is refused with both numbers, and what to do"):
    newer = schema.newest() + 1
    path = scratch("newer.jsonl", made.lines([made.environment(), {**made.run(1.0), "schema": newer}]))
    for words in (("scaling", path), ("report", path, "-o", scratch("newer.html"))):
        done = start(*words)
        equal((done.returncode, len(done.stderr.splitlines())), (3, 1), done.stderr)
        within(done.stderr, f"{path}:2: found a record of schema {newer}, expected {newer - 1} or an older one")
    for number in (0, -1, "1", 1.5, True):
        try:
            records.read([scratch("odd.jsonl", made.lines([{**made.run(1.0), "schema": number}]))])
            raise AssertionError(f"schema {number} is taken")
        except records.RecordsError as error:
            within(str(error), f"schema is {json.dumps(number)}, expected a whole number from 1")

with test("without docs/record.schema.json jobs/ says what is missing"):
    shutil.copytree(ROOT / "jobs", scratch("alone/jobs"))
    done = subprocess.run([sys.executable, scratch("alone/jobs/scaling"), scratch("study.jsonl")], capture_output=True, text=True,
                          timeout=patience(60), check=False)
    equal((done.returncode, len(done.stderr.splitlines())), (3, 1), done.stderr)
    within(done.stderr, scratch("alone/docs/record.schema.json") + ": No such file")

with test("an environment has the governor and the compiler's release; its id is that of the same environment, whatever the load"):
    first = next(r["environment"] for r in MADE["jobs/study"] if "environment" in r)
    equal(first["nvcc"], "Cuda compilation tools, release 13.0, V13.0.88")
    equal([g["name"] for g in first["gpus"]], ["NVIDIA H200"])
    environment.GOVERNOR = scratch("governor", "performance\n")
    one = environment.describe("s", PROGRAM, str(ROOT))["environment"]
    equal(one["governor"], "performance")
    os.getloadavg = lambda: (77.0, 0.0, 0.0)
    equal((environment.load_average(), environment.describe("s", PROGRAM, str(ROOT))["environment"]["id"]), (77.0, one["id"]))
    environment.GOVERNOR = scratch("no/such/file")
    other = environment.describe("s", PROGRAM, str(ROOT))["environment"]
    equal((other["governor"], other["id"] == one["id"]), (None, False))

    def fails():
        raise OSError
    os.getloadavg = fails
    equal(environment.load_average(), None)
    loads = [r["study"]["load_average"] for r in MADE["jobs/study"] if "study" in r]
    assert len(loads) == 2 and all(isinstance(load, float) and load >= 0 for load in loads), loads

finish()
