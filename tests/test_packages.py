"""CITATION.cff, packages/ and the workflow: the same version everywhere, and only settings that the build has. Spack and
Docker are not needed: package.py runs with a stand-in for Spack's functions, and the steps of the containers are checked
but not run (packages/test-in-root runs them)."""
import importlib.machinery
import importlib.util
import re
import shutil
import subprocess
import sys
import types

from command import ROOT, equal, finish, skip, test, within

SPACK = ROOT / "packages/spack/packages/spmm-mpi/package.py"
MAKEFILES = "".join(path.read_text() for path in [ROOT / "Makefile", *sorted((ROOT / "mk").glob("*.mk"))])
VERSION = re.search(r'#define SPMM_VERSION "(.*)"', (ROOT / "include/spmm_types.h").read_text())[1]
sys.dont_write_bytecode = True


def loaded(path, name):
    """Loads a Python program without the ending .py as a module."""
    loader = importlib.machinery.SourceFileLoader(name, str(ROOT / path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


IN_ROOT = loaded("packages/test-in-root", "test_in_root")
STAGES = {kind: IN_ROOT.READERS[kind]((ROOT / path).read_text()) for kind, path in IN_ROOT.RECIPES.items()}


def known_to_make(settings):
    """Checks that every NAME of NAME=VALUE is a variable of the makefiles."""
    for setting in settings:
        name = setting.partition("=")[0]
        assert re.search(rf"(?m)^{name} *\??=|\$\({name}\)", MAKEFILES), f"make has no variable {name}"


# ---- Spack ----

class Words:
    """A stand-in for `from spack.package import *` that records the declarations of the package's class."""

    def __init__(self):
        self.variants, self.depends, self.versions = {}, [], []

    def module(self):
        words = types.ModuleType("spack.package")
        words.MakefilePackage, words.CudaPackage = type("MakefilePackage", (), {}), type("CudaPackage", (), {})
        words.license = words.which = lambda *_: None
        words.version = lambda text, **_: self.versions.append(text)
        words.variant = lambda name, **more: self.variants.__setitem__(name, more)
        words.depends_on = lambda name, **more: self.depends.append((name, more.get("when", "")))
        return words


class Spec:
    """A spec with +name for each of the names; dependencies are in /opt/NAME."""

    def __init__(self, names, archs=()):
        self.names = names
        self.variants = {"cuda_arch": types.SimpleNamespace(value=tuple(archs) or ("none",))}

    def satisfies(self, text):
        return all(word in self.names for word in text.strip("+").split("+"))

    def __getitem__(self, name):
        prefix = type("Prefix", (str,), {"bin": types.SimpleNamespace(nvcc=f"/opt/{name}/bin/nvcc")})(f"/opt/{name}")
        return types.SimpleNamespace(prefix=prefix, mpicc=f"/opt/{name}/bin/mpicc")


def spack_package():
    words = Words()
    sys.modules["spack"], sys.modules["spack.package"] = types.ModuleType("spack"), words.module()
    found = {}
    exec(compile(SPACK.read_text(), SPACK, "exec"), found)  # as Spack does
    return words, found["SpmmMpi"]


def settings_of(names, archs=()):
    made = spack_package()[1]()
    made.spec, made.prefix = Spec(names, archs), "/opt/spmm"
    return made.build_targets, made.install_targets


def easyconfig():
    path, = (ROOT / "packages/easybuild").glob("*.eb")
    found = {"SOURCE_TAR_GZ": "%(name)s-%(version)s.tar.gz", "SHLIB_EXT": "so", "SYSTEM": "system"}
    exec(compile(path.read_text(), path, "exec"), found)
    return path, found


def citation():
    """{key: text} of the lines that begin with a key."""
    return dict(re.findall(r"(?m)^([a-z-]+): *(.*)$", (ROOT / "CITATION.cff").read_text()))


with test("CITATION.cff and all packages have the version of include/spmm_types.h"):
    path, eb = easyconfig()
    found = {"CITATION.cff": citation()["version"], "package.py": spack_package()[0].versions[-1],
             path.name: eb["version"], "the Dockerfile's label": STAGES["docker"][-1].labels["org.opencontainers.image.version"],
             "the label of spmm_mpi.def": STAGES["apptainer"][-1].labels["Version"]}
    wrong = {where: version for where, version in found.items() if version != VERSION}
    assert not wrong, f"expected {VERSION}, found {wrong}"
    equal(path.name, f"spmm_mpi-{VERSION}-{eb['toolchain']['name']}-{eb['toolchain']['version']}.eb")

with test("the Spack package's variants are variables of make, each on and off"):
    words, _ = spack_package()
    equal(sorted(words.variants), ["baseline", "blas", "compression", "fortran", "hwloc", "metis", "nccl", "series"])
    for names in ((), ("series", "baseline"), ("cuda", "nccl", "metis", "blas", "hwloc", "compression", "fortran", "series", "baseline")):
        build, install = settings_of(names, ("80", "90") if "cuda" in names else ())
        equal((build[-1], install[-1], build[:-1]), ("build", "install", install[:-1]))
        known_to_make(build[:-1])
        given = dict(word.split("=", 1) for word in build[:-1])
        for name in ("cuda", "nccl", "metis", "blas", "hwloc", "fortran", "series", "baseline"):
            equal(given[name.upper()], str(int(name in names)), name)
        for name in ("ISAL", "BZIP2", "LZMA", "ZSTD"):
            equal(given[name], str(int("compression" in names)), name)
        equal(given["PEERS"], "0")
        equal((given["PREFIX"], given["MPICC"], given["NO_DEPS"]), ("/opt/spmm", "/opt/mpi/bin/mpicc", "1"))
    equal((given["NVCC"], given["GPU_ARCH"], given["NCCL_HOME"]), ("/opt/cuda/bin/nvcc", "80 90", "/opt/nccl"))
    expected = {("metis@5:", "+metis"), ("openblas", "+blas"), ("nccl", "+nccl"), ("mpi@3:", "")}
    assert expected <= set(words.depends), words.depends

with test("what the EasyBuild file tells make, make knows"):
    eb = easyconfig()[1]
    for options in (eb["buildopts"], eb["installopts"]):
        known_to_make(re.findall(r"(?:^|\s)([A-Z_]+=)", options))
    within(eb["installopts"], "PREFIX=%(installdir)s")
    equal((eb["easyblock"], eb["skipsteps"]), ("ConfigureMake", ["configure"]))

with test("the containers install what mk/deps.sh lists, build with variables of make, and run what they built"):
    listed = re.findall(r"(?m)^(?:build|optional) +(\S+)", (ROOT / "mk/deps.sh").read_text())
    assert len(listed) > 6
    for kind in ("docker", "apptainer"):
        build, last = STAGES[kind]
        text = "".join(step[1] for step in build.steps if step[0] == "run")
        cpu_and_gcc = [name for name in listed if name != "libomp-dev" and not (name == "g++" and kind == "apptainer")]
        equal([name for name in cpu_and_gcc if f" {name} " not in text.replace("\n", " ")], [], kind)
        make = re.search(r"make -C /src ([^\n]*) install", text)[1].replace("${CUDA}", "0").split()
        known_to_make(make)
        prefix = dict(word.split("=", 1) for word in make)["PREFIX"]
        copies = [step for step in last.steps if step[0] == "copy"]
        equal([step[1:3] for step in copies], [("build", prefix)], kind)
        within(last.environment["PATH"], f"{prefix}/bin")
        equal({stage.image for stage in (build, last)}, {"debian:bookworm-slim"})

with test("a Dockerfile or a definition file that test-in-root does not understand is not passed over"):
    for kind, text, word in (("docker", "FROM a\nHEALTHCHECK x\n", "HEALTHCHECK"),
                             ("apptainer", "Bootstrap: docker\nFrom: a\n%setup\n  x\n", "setup")):
        try:
            IN_ROOT.READERS[kind](text)
        except ValueError as error:
            within(str(error), word)
        else:
            raise AssertionError(kind)

with test("made-up addresses are under .invalid, and packages/README.md names each file that has one"):
    files = [path for path in ROOT.glob("packages/**/*") if path.is_file() and "__pycache__" not in path.parts]
    files += [ROOT / "CITATION.cff", ROOT / "CONTRIBUTING.md"]
    readme = (ROOT / "packages/README.md").read_text()
    for path in files:
        text = path.read_text()
        if path.name != "README.md" and ".invalid" in text:
            within(readme, f"`{path.relative_to(ROOT)}`")
        elsewhere = [url for url in re.findall(r"https?://[^\s'\")]+", text) if ".invalid" not in url]
        equal(elsewhere, [], path)

with test("CITATION.cff has what its format demands, and the license of LICENSE"):
    found = citation()
    equal(found["cff-version"], "1.2.0")
    assert {"message", "title", "authors", "version"} <= set(found)
    equal(found["license"], (ROOT / "LICENSE").read_text().split(" ")[0])
if shutil.which("cffconvert"):
    with test("cffconvert takes CITATION.cff"):
        done = subprocess.run(["cffconvert", "--validate", "-i", str(ROOT / "CITATION.cff")], capture_output=True,
                              text=True, check=False)
        equal(done.returncode, 0, done.stdout + done.stderr)
else:
    skip("cffconvert takes CITATION.cff", "no cffconvert")

WORKFLOW = ROOT / ".github/workflows/ci.yml"
with test("the workflow's steps are targets of make, with toolchains that it knows"):
    text = WORKFLOW.read_text()
    runs = re.findall(r"(?m)- run: (.*)$", text)
    assert len(runs) == 2, runs
    toolchains = re.findall(r"[\w-]+", re.search(r"(?m)^ +toolchain: \[(.*)\]$", text)[1])
    equal(sorted(toolchains), ["clang-mpich", "clang-openmpi", "gcc-mpich"])
    for run in runs:
        words = run.replace("${{ matrix.toolchain }}", toolchains[0]).split()
        equal(words[0], "make")
        assert re.search(rf"(?m)^{words[1]}:", MAKEFILES), run
if shutil.which("check-jsonschema"):
    with test("the workflow is as its schema wants it"):
        done = subprocess.run(["check-jsonschema", "--builtin-schema", "vendor.github-workflows", str(WORKFLOW)],
                              capture_output=True, text=True, check=False)
        equal(done.returncode, 0, done.stdout + done.stderr)
else:
    skip("the workflow is as its schema wants it", "no check-jsonschema")

finish()
