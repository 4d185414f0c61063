"""Files of SciPy (test_petsc has those of PETSc): the Python package reads the right CSR, and three ranks compute the right Y.
limit: 300"""
import struct
import warnings
import zipfile

from command import equal, finish, run, scratch, skip, test, within
from python_package import missing, python

why = missing()
if why:
    skip("matrix files are read as SciPy has them", why)
    finish()

import numpy as np
import scipy.io
import scipy.sparse

ROWS = COLS = 120
RNG = np.random.default_rng(7)


def matrix(rows=ROWS, cols=COLS, density=0.08, kind="real"):
    """A matrix with an empty row, an empty column and a stored zero; kind: real, integer or pattern."""
    a = scipy.sparse.random(rows, cols, density, "csr", random_state=np.random.RandomState(len(kind) + rows))
    a.data = {"real": RNG.standard_normal, "integer": lambda n: RNG.integers(-9, 10, n), "pattern": np.ones}[kind](a.nnz).astype(float)
    a = scipy.sparse.csr_matrix(scipy.sparse.diags((np.arange(rows) != 5).astype(float)) @ a)
    if kind == "real":
        a.data[3] = 0.0
    a.sort_indices()
    return a


def with_duplicates(a):
    """(rows, columns, values) in random order; some entries are two halves, whose sum is exact."""
    a = a.tocoo()
    half = RNG.random(a.nnz) < 0.3
    row, col = np.r_[a.row, a.row[half]], np.r_[a.col, a.col[half]]
    data = np.r_[np.where(half, a.data / 2, a.data), a.data[half] / 2]
    order = RNG.permutation(len(row))
    return row[order], col[order], data[order]


def compressed_rows(row, col, data, rows):
    """Row lengths, columns and values of triplets; the order within a row is kept."""
    order = np.argsort(row, kind="stable")
    return np.bincount(row, minlength=rows), col[order], data[order]


SHAPES = {"square": (ROWS, COLS), "wide": (40, 300)}


def npz(name, how=np.savez, **arrays):
    path = scratch(name)
    how(path, **arrays)
    return path


def arrays_of(a, index, value):
    return {"format": np.array(b"csr"), "shape": np.array(a.shape), "indptr": a.indptr.astype(index), "indices": a.indices.astype(index),
            "data": a.data.astype(value)}


def npy(array, start=128, descr=None):
    """A file of NumPy whose elements begin at byte `start`."""
    head = repr({"descr": descr or array.dtype.str, "fortran_order": False, "shape": array.shape}).encode()
    return b"\x93NUMPY\1\0" + struct.pack("<H", start - 10) + head.ljust(start - 10) + array.tobytes()


def members(arrays):
    return {f"{name}.npy": npy(np.asarray(array)) for name, array in arrays.items()}


def archive(name, *members):
    """A zip archive; the same name may be in several of `members`."""
    with zipfile.ZipFile(scratch(name), "w") as zip:
        for some in members:
            for member, data in some.items():
                zip.writestr(member, data)
    return scratch(name)


def npz_files():
    for compressed in (False, True):
        for layout in ("csr", "csc", "coo", "bsr"):
            for shape in ("square", "wide"):
                a = matrix(*SHAPES[shape])
                path = scratch(f"{layout}-{shape}-{compressed}.npz")
                b = a.tobsr((5, 4)) if layout == "bsr" else a.asformat(layout)
                scipy.sparse.save_npz(path, b, compressed)
                expected = b.tocsr() if layout == "bsr" else a
                expected.sort_indices()
                yield path, expected, layout == "csr" and not compressed
    for value in ("?", "i1", "u2", "<i4", ">i8", "u8", "<f4", ">f8"):
        a = matrix(kind="pattern" if value == "?" else "integer")
        a.data = abs(a.data)
        yield npz(f"of-{value.strip('<>?')}-values.npz", **arrays_of(a, "<i4", value)), a, True
    for index in ("i2", ">i2", "u1"):
        a = matrix()
        yield npz(f"shape-of-{index.replace('>', 'swapped-')}.npz", **{**arrays_of(a, "<i4", "<f8"), "shape": np.array(a.shape, index)}), a, True
    a = scipy.sparse.csr_matrix(np.arange(1.0, 40001).reshape(1, -1))
    yield npz("unsigned-starts.npz", **arrays_of(a, "u2", "<f8")), a, True
    a = matrix()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield archive("twice.npz", {"data.npy": npy(a.data + 1)}, members(arrays_of(a, "<i4", "<f8"))), a, True
    yield archive("longest-head.npz", {**members(arrays_of(a, "<i4", "<f8")), "shape.npy": npy(np.array(a.shape), 4080)}), a, True
    yield npz("wide-indices.npz", **arrays_of(a, "<i8", "<f8")), a, True
    yield npz("other-order.npz", np.savez_compressed, **arrays_of(a, ">i4", ">f8")), a, False
    longer = arrays_of(a, "<i4", "<f8")
    longer["indices"], longer["data"] = np.r_[longer["indices"], [7, 7]], np.r_[longer["data"], [1.0, np.nan]]
    yield npz("longer-arrays.npz", **longer), a, True
    row, col, data = with_duplicates(a)
    yield npz("duplicates.npz", format=np.array("coo"), shape=np.array(a.shape), row=row, col=col, data=data), a, False
    lengths, columns, values = compressed_rows(row, col, data, ROWS)
    yield npz("disordered.npz", format=np.array(b"csr"), shape=np.array(a.shape), indptr=np.r_[0, np.cumsum(lengths)], indices=columns,
              data=values), a, True
    for prefix, more in (("adj_", {"attr_indptr": np.zeros(3, "i4"), "labels": np.array([b"x"])}), ("graph.", {})):
        named = {f"{prefix}{name}": array for name, array in arrays_of(a, "<i4", "<f4").items() if name != "format"}
        b = a.copy()
        b.data = a.data.astype(np.float32).astype(float)
        yield npz(f"prefix-{prefix}.npz", **named, **more), b, True
    for blocks, last in (((5, 4), 0), ((1, 4), 2), ((5, 1), 0)):  # (`last` blocks follow the matrix)
        b = a.tobsr(blocks)
        of = {"format": np.array(b"bsr"), "shape": np.array(a.shape), "indptr": b.indptr, "indices": np.r_[b.indices, np.zeros(last, b.indices.dtype)],
              "data": np.asfortranarray(np.r_[b.data, np.ones((last, *blocks))])}
        expected = b.tocsr()
        expected.sort_indices()
        yield npz("fortran-{}x{}.npz".format(*blocks), **of), expected, False
    empty = scipy.sparse.csr_matrix((7, 5))
    scipy.sparse.save_npz(scratch("empty.npz"), empty)
    yield scratch("empty.npz"), empty, False


FILES = list(npz_files())  # (file, matrix, whether all ranks can read it)

READ = """
import sys
import numpy as np
import spmm_mpi
for path in sys.argv[1:]:
    for dtype in (np.float64, np.float32):
        a = spmm_mpi.read(path, dtype)
        np.savez(f"{path}.{np.dtype(dtype).name}.seen.npz", shape=a.shape, indptr=a.indptr, indices=a.indices, data=a.data)
"""
done = python("-c", READ, *[path for path, _, _ in FILES])
equal(done.returncode, 0, done.stdout)

with test("spmm_mpi.read returns libspmm's memory, asks libspmm for what it adds, and takes no name with a NUL byte"):
    tall = scipy.sparse.csr_matrix((np.ones(2 ** 20), np.zeros(2 ** 20, np.int32), np.arange(2 ** 20 + 1)), shape=(2 ** 20, 1))
    scipy.sparse.save_npz(scratch("tall.npz"), tall, compressed=False)
    done = python("-c", f"""
import gc, pathlib, tracemalloc
import numpy as np, scipy.sparse
import spmm_mpi
from spmm_mpi._read import widened
tracemalloc.start()  # NumPy reports its memory, libspmm does not
a = spmm_mpi.read({scratch("tall.npz")!r})
peak = tracemalloc.get_traced_memory()[1]
assert peak < a.data.nbytes / 4, peak
assert a.nnz == 2 ** 20 and (a.data == 1).all() and (a.indices == 0).all() and (a.indptr == np.arange(2 ** 20 + 1)).all()
assert a.indptr.dtype == a.indices.dtype == np.int32
a.data[:] = 3  # it is the caller's
starts, b = a.indptr, spmm_mpi.read({scratch("tall.npz")!r}, "float32")
del a
gc.collect()
assert (starts == np.arange(2 ** 20 + 1)).all() and (b.data == 1).all()
wide = widened(np.arange(-2, 5, dtype=np.int32))
assert wide.dtype == np.int64 and wide.tolist() == [*range(-2, 5)] and not len(widened(np.empty(0, np.int32)))
try:
    widened(np.broadcast_to(np.int32(1), 2 ** 45))
except spmm_mpi.Error as error:
    assert error.status == spmm_mpi.Status.MEMORY, error
else:
    assert False
name = {scratch("tall.npz")!r} + chr(0) + "x"
for call in (lambda: spmm_mpi.read(name), lambda: spmm_mpi.read(name.encode()), lambda: spmm_mpi.read(pathlib.Path(name)),
             lambda: spmm_mpi.read(name, read_as="edges"), lambda: spmm_mpi.Plan(b, kernel="cpu_csr" + chr(0)),
             lambda: spmm_mpi.matmul(b, np.ones((1, 2), np.float32), kernel="cpu_csr" + chr(0) + "x")):
    try:
        call()
    except ValueError as error:
        assert "expected one without NUL bytes" in str(error), error
    else:
        assert False
""")
    equal(done.returncode, 0, done.stdout)


def same_csr(path, a):
    for dtype in (np.float64, np.float32):
        seen = np.load(f"{path}.{np.dtype(dtype).name}.seen.npz")
        assert tuple(seen["shape"]) == a.shape, (path, seen["shape"], a.shape)
        np.testing.assert_array_equal(seen["indptr"], a.indptr, path)
        np.testing.assert_array_equal(seen["indices"], a.indices, path)
        equal(seen["data"].tobytes(), a.data.astype(dtype).tobytes(), path)


def same_product(path, a, parallel):
    """Checks that Y on three ranks has the bits of Y on one rank from a Matrix Market file."""
    text, one, three = scratch("same.mtx"), scratch("one.mtx"), scratch("three.mtx")
    scipy.io.mmwrite(text, a, precision=17)
    for name, ranks, out, more in ((text, 1, one, ()), (path, 3, three, ("--io", "parallel") if parallel else ())):
        done = run("-q", "-d", "cpu", "-k", 3, "-r", 1, "-o", out, *more, name, ranks=ranks)
        equal(done.code, 0, f"{path}: {done.err}")
    equal(open(one, "rb").read(), open(three, "rb").read(), path)


with test(f"{len(FILES)} files .npz are read as the CSR that they were made of, in f64 and f32"):
    for path, a, _ in FILES:
        same_csr(path, a)
with test("their products on three ranks, which read them together where they can, have the bits of one rank's"):
    for path, a, parallel in FILES:
        if a.nnz:
            same_product(path, a, parallel)

A = matrix()
GOOD = arrays_of(A, "<i4", "<f8")


def refused(path, message):
    for ranks, more in ((1, ()), (3, ("--io", "parallel"))):
        done = run("-q", "-d", "cpu", *more, path, ranks=ranks)
        equal(done.code, 3, f"{path}: {done.out} {done.err}")
        assert any(message in line for line in done.error_lines()), f"{path}: {done.err}"


with test("an .npz that is damaged, or has another content, is refused with what was found and expected"):
    path = npz("good.npz", **GOOD)
    whole = open(path, "rb").read()
    for length in (40, len(whole) // 2, len(whole) - 1):
        refused(scratch("cut.npz", whole[:length]), "it is damaged or cut short")
    values = bytearray(whole)
    at = whole.index(A.data.tobytes())
    values[at + 5] ^= 1
    done = run("-q", "-d", "cpu", scratch("bit.npz", bytes(values)))
    equal(done.code, 3)
    assert "its member data.npy is damaged (checksum)" in done.err, done.err
    packed = bytearray(open(npz("packed.npz", np.savez_compressed, **GOOD), "rb").read())
    packed[len(packed) // 3] ^= 16
    equal(run("-q", "-d", "cpu", scratch("bit.npz", bytes(packed))).code, 3)
    for change, message in (({"indices": GOOD["indices"] + 1}, "has a column index outside of 1 to"),
                            ({"indptr": GOOD["indptr"][::-1].copy()}, "its row starts decrease or are out of range"),
                            ({"indptr": GOOD["indptr"] + 1}, "as its last row start, expected 0 to"),
                            ({"indptr": GOOD["indptr"][1:]}, "the sizes of its arrays do not match"),
                            ({"shape": np.array([ROWS, 2 ** 31])}, "expected 0 to 2147483647"),
                            ({"format": np.array(b"dia")}, 'found a matrix in the format "dia"'),
                            ({"data": GOOD["data"] * 1j}, "found complex values, expected real ones, or a complex type"),
                            ({"data": GOOD["data"].astype(object)}, "found pickled objects in data.npy"),
                            ({"data": GOOD["data"].astype("f2")}, "found floating-point numbers of 2 bytes"),
                            ({"data": np.where(np.arange(A.nnz) == 9, np.inf, GOOD["data"])}, 'found "inf" in row')):
        refused(npz("changed.npz", **{**GOOD, **change}), message)
    refused(npz("other.npz", a=np.ones(3)), "found no array format.npy, expected a sparse matrix as SciPy's save_npz() writes it")
    csc = A.tocsc()
    csc.data[3] = np.nan
    scipy.sparse.save_npz(scratch("nan.npz"), csc)
    row, column = csc.tocoo().row[3] + 1, csc.tocoo().col[3] + 1
    done = run("-q", "-d", "cpu", scratch("nan.npz"))
    assert f'found "nan" in row {row}, column {column}' in done.err, done.err

with test("an .npz whose small members, names, lengths or types are wrong is refused as such"):
    whole, packed = (open(npz("good.npz", how, **GOOD), "rb").read() for how in (np.savez, np.savez_compressed))
    for name, data in (("shape", GOOD["shape"].tobytes()), ("format", b"csr")):
        at = whole.index(data, whole.index(f"{name}.npy".encode()) + 80)
        refused(scratch("bit.npz", whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:]), f"its member {name}.npy is damaged (checksum)")
        at = packed.rindex(f"{name}.npy".encode()) - 30
        assert packed[at - 16:at - 12] == b"PK\1\2"
        refused(scratch("bit.npz", packed[:at] + bytes([packed[at] ^ 1]) + packed[at + 1:]), f"its member {name}.npy is damaged")
    small = members(GOOD)
    for name, data, message in (("shape", npy(GOOD["shape"], 4090), "found 4106 bytes in shape.npy, expected at most 4096"),
                                ("format", npy(GOOD["format"], 4094), "found 4097 bytes in format.npy, expected at most 4096"),
                                ("data", npy(GOOD["data"], 5000), "found a head of 5000 bytes in data.npy, expected at most 4096"),
                                ("shape", npy(GOOD["shape"])[:100], "its array shape.npy is damaged (its head)"),
                                ("shape", npy(np.array([1, 2, 3], "i2")), "found a shape of 3 numbers, expected 2"),
                                ("format", npy(GOOD["format"], descr="<U-2147483648"), 'found the type "<U-2147483648\''),
                                ("data", npy(GOOD["data"], descr="<f4294967304"), 'found the type "<f4294967304\''),
                                ("format", npy(np.array("\u0163sr")), 'found a matrix in the format "?sr"')):
        refused(archive("changed.npz", {**small, f"{name}.npy": data}), message)
    for before, after in ((b"indices.npy", b"indicez.npy"), (whole[:10], whole[:8] + b"\x08\0")):
        refused(scratch("local.npz", whole.replace(before, after, 1)), "with a member that its directory describes differently")
    end = whole.rindex(b"PK\5\6")
    fewer = whole[:end + 8] + struct.pack("<HH", len(GOOD) - 1, len(GOOD) - 1) + whole[end + 12:]
    refused(scratch("fewer.npz", fewer), "whose directory is longer than its end record says")
    equal(run("-q", "--convert", scratch("zip64.npz"), scratch("good.npz")).code, 0)
    large = bytearray(open(scratch("zip64.npz"), "rb").read())
    large[large.rindex(b"PK\6\6") + 55] |= 0x80
    refused(scratch("large.npz", bytes(large)), "whose directory is past its end record")

with test("an .npz that is not a stored CSR is not read by all ranks, and the message says what to do"):
    scipy.sparse.save_npz(scratch("deflated.npz"), A)
    done = run("-q", "-d", "cpu", "--io", "parallel", scratch("deflated.npz"), ranks=2)
    equal(done.code, 3)
    assert "--convert FILE.npz" in done.err, done.err

ENDINGS = ("mtx", "mtx.gz", "npz", "petsc")
with test("--convert writes each format, and what it reads from any of them is the same, bit by bit"):
    a = matrix(40, 300)
    a.data[:4] = [0.1, -0.0, 5e-324, 1.7976931348623157e308]
    start = npz("start.npz", **arrays_of(a, "<i4", "<f8"))
    for precision in ("f64", "f32"):
        options = ("-p", precision, "--allow-nonfinite")
        first = {end: scratch(f"first-{precision}.{end}") for end in ENDINGS}
        for end, path in first.items():
            done = run(*options, "--convert", path, start, ranks=2 if end == "npz" else 1)
            equal(done.code, 0, done.err)
            within(done.out, f"converted  {start} to {path}: 40 x 300, {a.nnz} entries")
        seen = scipy.sparse.load_npz(first["npz"])
        equal(seen.shape, a.shape)
        np.testing.assert_array_equal(seen.indptr, a.indptr)
        np.testing.assert_array_equal(seen.indices, a.indices)
        with np.errstate(over="ignore"):
            equal(seen.data.tobytes(), a.data.astype(np.float64 if precision == "f64" else np.float32).tobytes())
        for source in first.values():
            for end in ("mtx", "npz", "petsc"):
                path = scratch(f"second.{end}")
                equal(run(*options, "-q", "--convert", path, source).code, 0)
                equal(open(path, "rb").read(), open(first[end], "rb").read(), f"{source} to {end}")

with test("--convert refuses an unknown ending, as --cache does, its own input, a folder that is not there and --io parallel"):
    for name, code, message, more in (("A.foo", 2, "expected a name that ends in .mtx", ()), ("A.npz.gz", 2, "expected a name", ()),
                                      (start, 2, "name the same file", ()), ("/no/such/folder/A.npz", 4, "/no/such/folder", ()),
                                      (scratch("A.npz"), 2, "--convert does not use --io", ("--io", "parallel"))):
        done = run("--convert", name, *more, start)
        equal(done.code, code, done.err)
        within(done.err, message)
    for name in ("A.foo", "A.npz.gz", "A.spmm"):
        done = run("--cache", name, start)
        equal(done.code, 2, done.err)
        within(done.err, f"--cache {name}: expected a name that ends in .mtx")
    equal(run("-q", "--convert", scratch("generated.npz"), "lap2d5:9").code, 0)
    equal(scipy.sparse.load_npz(scratch("generated.npz")).shape, (81, 81))

finish()
