#!/usr/bin/env python3
"""make wheel: the Python package with libspmm inside, as a wheel for pip: of a build of MPI=0, and of one with MPICH, which also loads
with other MPIs of its binary interface. Needs Python's standard library alone.

    wheel.py --library FILE --mpich FILE --openmp FILE --out FOLDER

The platform in the wheel's name contains the newest version of glibc whose symbols the libraries need.
Refuses libraries that need others than those that every Linux with Python has, and MPICH. The same files make
the same wheel, byte by byte."""
import argparse
import base64
import hashlib
import pathlib
import re
import struct
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST_BYTES = 100 * 10 ** 6  # what package registries accept
# glibc's and gcc's libraries; libz.so.1, which Python itself needs
ALLOWED = {"libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1",
           "libgcc_s.so.1", "libz.so.1"}
OPENMP = "libgomp.so.1"
MPI, DEBIANS_MPI = "libmpi.so.12", "libmpich.so.12"  # MPICH's names: in its binary interface, and in Debian
MACHINES = {62: "x86_64", 183: "aarch64"}
DYNAMIC, NEEDED_VERSIONS, STRINGS = 6, 0x6ffffffe, 3  # kinds of sections


class Refused(Exception):
    pass


class Elf:
    """A shared library of 64 bits, little-endian: its machine, the libraries that it needs, and the versions
    of the symbols that it needs from each."""

    def __init__(self, path):
        self.data = path.read_bytes().replace(*(b"\0%s\0" % name.ljust(len(DEBIANS_MPI), "\0").encode() for name in (DEBIANS_MPI, MPI)))
        if self.data[:6] != b"\x7fELF\x02\x01":
            raise Refused(f"{path} is not a 64-bit shared library")
        self.machine = struct.unpack_from("<H", self.data, 18)[0]
        at, size, count = struct.unpack_from("<Q", self.data, 40)[0], *struct.unpack_from("<HH", self.data, 58)
        # (name, kind, flags, address, offset, bytes, link)
        self.sections = [struct.unpack_from("<IIQQQQI", self.data, at + i * size) for i in range(count)]
        self.needed = self.needed_libraries()
        self.versions = self.needed_versions()

    def section(self, kind):
        return next((s for s in self.sections if s[1] == kind), None)

    def text(self, strings, at):
        begin = self.sections[strings][4] + at
        return self.data[begin:self.data.index(b"\0", begin)].decode()

    def needed_libraries(self):
        dynamic = self.section(DYNAMIC)
        entries = struct.iter_unpack("<qQ", self.data[dynamic[4]:dynamic[4] + dynamic[5]])
        return [self.text(dynamic[6], value) for tag, value in entries if tag == 1]

    def needed_versions(self):
        """Library -> names of versions, such as GLIBC_2.34."""
        versions = self.section(NEEDED_VERSIONS)
        found, at = {}, versions[4] if versions else 0
        while at:
            _, count, file, first, following = struct.unpack_from("<HHIII", self.data, at)
            names, here = found.setdefault(self.text(versions[6], file), []), at + first
            for _ in range(count):
                _, _, _, name, step = struct.unpack_from("<IHHII", self.data, here)
                names.append(self.text(versions[6], name))
                here += step
            at = at + following if following else 0
        return found


def glibc(elf):
    """The newest (major, minor) of glibc's symbols that a library needs."""
    found = [re.fullmatch(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?", name) for names in elf.versions.values() for name in names]
    return max((tuple(map(int, m.groups())) for m in found if m), default=(2, 17))


def platform(libraries, mpich):
    """The tag, e.g. manylinux_2_34_x86_64. Raises Refused if a library is needed that other machines may
    lack."""
    for path, elf in libraries.items():
        others = set(elf.needed) - ALLOWED - {OPENMP} - ({MPI} if path == mpich else set())
        if others:
            raise Refused(f"{path} needs {', '.join(sorted(others))}, expected glibc's libraries, {OPENMP} and libz.so.1 alone")
    if MPI not in libraries[mpich].needed:
        raise Refused(f"{mpich} needs no {MPI}, expected a build with MPICH: set MPICC_mpich=")
    machines = {elf.machine for elf in libraries.values()}
    if len(machines) != 1 or not machines <= set(MACHINES):
        raise Refused(f"the libraries are for machines {machines}, expected one of {', '.join(MACHINES.values())}")
    major, minor = max(map(glibc, libraries.values()))
    return f"manylinux_{major}_{minor}_{MACHINES[machines.pop()]}"


def version():
    return re.search(r'^#define SPMM_VERSION "(.*)"', (ROOT / "include/spmm_types.h").read_text(), re.M)[1]


def metadata():
    """METADATA: what pip shows and installs with it."""
    return "\n".join((
        "Metadata-Version: 2.1", "Name: spmm-mpi", f"Version: {version()}",
        "Summary: Sparse matrix x multivector products by libspmm, which is inside: on all cores, on a GPU, or on ranks of MPICH",
        "License: MIT; libgomp.so.1 is GCC's, under the GPL 3 with the GCC Runtime Library Exception", "Requires-Python: >=3.8",
        "Requires-Dist: numpy>=1.20", "Requires-Dist: scipy>=1.6",
        "Requires-Dist: mpi4py>=3.0; extra == 'mpi'", "Provides-Extra: mpi", "Description-Content-Type: text/markdown", "",
        (ROOT / "python/README.md").read_text())).encode()


def contents(libraries, mpich, tag):
    """{name in the wheel: bytes} without RECORD, and the name of RECORD."""
    files = {f"spmm_mpi/{p.name}": p.read_bytes() for p in sorted((ROOT / "python/spmm_mpi").glob("*.py"))}
    names = {path: OPENMP if path.name.startswith("libgomp") else re.match(r"libspmm\.so\.\d+\.\d+", path.name)[0] for path in libraries}
    files.update({f"spmm_mpi/lib/{'mpich/' * (path == mpich)}{names[path]}": elf.data for path, elf in libraries.items()})
    info = f"spmm_mpi-{version()}.dist-info"
    files[f"{info}/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    files[f"{info}/METADATA"] = metadata()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: spmm_mpi ({version()})\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    return files, f"{info}/RECORD"


def record(files, name):
    lines = []
    for path, data in files.items():
        sum_ = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={sum_},{len(data)}\n")
    return "".join([*lines, f"{name},,\n"]).encode()


def write(path, files):
    """Writes a zip file without times and owners."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3
            entry.external_attr = (0o100755 if "/lib/" in name else 0o100644) << 16
            wheel.writestr(entry, data)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--library", required=True, type=pathlib.Path, help="libspmm.so.VERSION of MPI=0")
    parser.add_argument("--mpich", required=True, type=pathlib.Path, help="libspmm.so.VERSION of MPICH")
    parser.add_argument("--openmp", required=True, type=pathlib.Path, help=OPENMP)
    parser.add_argument("--out", required=True, type=pathlib.Path, help="the folder of the wheel")
    told = parser.parse_args()
    try:
        libraries = {path: Elf(path) for path in (told.library, told.mpich, told.openmp)}
        tag = f"py3-none-{platform(libraries, told.mpich)}"
        files, name = contents(libraries, told.mpich, tag)
        files[name] = record(files, name)
        told.out.mkdir(parents=True, exist_ok=True)
        path = told.out / f"spmm_mpi-{version()}-{tag}.whl"
        write(path, files)
        size = path.stat().st_size
        if size > MOST_BYTES:
            path.unlink()
            raise Refused(f"the wheel has {size / 1e6:.1f} MB, expected {MOST_BYTES / 1e6:.0f} at most: set fewer GPU_ARCH=")
    except (Refused, OSError) as error:
        print(f"wheel: {error}", file=sys.stderr)
        return 1
    print(f"{path}: {size / 1e6:.1f} MB (libspmm {len(libraries[told.library].data) / 1e6:.1f} MB, for MPICH {len(libraries[told.mpich].data) / 1e6:.1f} MB, "
          f"{OPENMP} {len(libraries[told.openmp].data) / 1e6:.1f} MB before compression)")
    return 0


sys.exit(main())
