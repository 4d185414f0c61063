"""Arrays of NumPy, CuPy and PyTorch as multivectors of libspmm, and multivectors of libspmm as arrays.

An operand is processed in two steps. examine() reads its shape, type and address and refuses wrong ones,
without communication; the Operand that it returns tells whether libspmm can use the memory in place
("direct") or needs a copy. Product.place() then passes the memory or the copy to libspmm."""
import ctypes
import math
import sys
import weakref

import numpy as np

from . import _library as c

addressof, first_byte = ctypes.addressof, ctypes.c_char.from_buffer
NUMPY, TORCH_CPU, CUPY, TORCH, DEVICE = range(5)


# ---- memory of libspmm ----

def destroy(struct):
    with c.lock_of(struct.space):
        c.loaded().spmm_multivector_destroy(ctypes.byref(struct))


class Memory:
    """A multivector that libspmm allocated. spmm_multivector_destroy() frees it when nothing refers to this
    object any more."""

    def __init__(self, struct):
        self.struct = struct
        self.reference = ctypes.byref(struct)
        self.dtype = TYPES[struct.precision]
        self.shape = (struct.rows, struct.k)
        self.strides = (struct.ld * self.dtype.itemsize, self.dtype.itemsize)
        if struct.data:
            known[struct.data] = self
        weakref.finalize(self, destroy, struct).atexit = False

    @property
    def interface(self):
        """The common part of __array_interface__ and __cuda_array_interface__."""
        return {"shape": self.shape, "strides": self.strides, "typestr": self.dtype.str, "data": (self.struct.data or 0, False),
                "version": 3}


class HostMemory(Memory):
    @property
    def __array_interface__(self):
        return self.interface

    def array(self):
        """Returns the memory as an array of NumPy, which keeps it alive; its rows are ld elements apart."""
        return np.asarray(self) if self.struct.data and self.struct.rows else np.empty(self.shape, self.dtype)


class DeviceArray(Memory):
    """Rows of X or Y in GPU memory, as a plan with device="cuda" allocates them.

    cupy.asarray(a) and torch.as_tensor(a, device="cuda") return views of the same memory, without a copy; so
    does any function that reads __cuda_array_interface__. shape: (rows, K); dtype: float64 or float32;
    strides: in bytes."""

    @property
    def __cuda_array_interface__(self):
        return self.interface

    def array(self):
        return self

    def get(self):
        """Returns a copy [rows, K] in host memory, as an array of NumPy. Local."""
        host = np.empty(self.shape, self.dtype)
        copy(self.reference, ctypes.byref(described(host)))
        return host

    def set(self, values):
        """Copies an array of NumPy of this shape and dtype into the GPU's memory. Local. Raises TypeError,
        ValueError."""
        operand = examine(values, "values", self.shape[0], self.dtype, c.CPU)
        if operand.k != self.shape[1] or operand.kind != NUMPY:
            raise ValueError(f"values have {operand.k} columns, expected an array of NumPy with {self.shape[1]}")
        source = np.ascontiguousarray(operand.array).reshape(self.shape)
        copy(ctypes.byref(described(source)), self.reference)

    def __repr__(self):
        return f"DeviceArray(shape={self.shape}, dtype={self.dtype})"


# address of the first element -> the Memory that begins there
known = weakref.WeakValueDictionary()


def allocated(create, space):
    """Returns the multivector that create(struct) allocates, as Memory."""
    struct = c.Multivector()
    with c.lock_of(space):
        c.loaded().check(create(ctypes.byref(struct)))
    return (HostMemory if space == c.CPU else DeviceArray)(struct)


def copy(source, target):
    lib = c.loaded()
    with c.lock_of(c.CUDA):  # source or target is on the GPU: NumPy makes the copies within host memory
        lib.check(lib.spmm_multivector_copy(source, target))


def described(array):
    """Returns an spmm_multivector for a C-contiguous array of NumPy [rows, k]."""
    rows, k = array.shape
    return c.Multivector(rows, k, max(k, 1), PRECISIONS[array.dtype], c.CPU, address_of(array), 0, 0)


def address_of(array):
    """Returns the address of a contiguous array of NumPy. (array.ctypes.data takes longer, but also works for
    arrays that are read-only or empty.)"""
    return addressof(first_byte(array)) if array.flags.writeable and array.size else array.ctypes.data


# ---- arrays of others ----

class Operand:
    """What examine_rows() or examine() found about an array.

    array: the array (for a CPU tensor: a NumPy array of the same memory). direct: whether libspmm can use its
    memory: rows of k consecutive elements, ld elements apart, or, if `columns` is COLUMN_MAJOR, columns of
    consecutive elements, ld elements apart; examine() also requires that libspmm may access the elements
    between rows. memory: the Memory that the array covers completely; None: there is none. made: whether the
    array was made for this product, on the GPU of X and in the stream of X."""
    __slots__ = ("array", "kind", "like", "dtype", "rows", "k", "vector", "address", "strides", "ld", "direct", "columns", "writable",
                 "memory", "made")

    def __init__(self, array, kind, like, dtype, shape, address, strides, ld, direct, writable):
        self.array, self.kind, self.like, self.dtype = array, kind, like, dtype
        self.vector = len(shape) == 1
        self.rows, self.k = shape[0], 1 if self.vector else shape[1]
        self.address, self.strides, self.ld, self.direct, self.writable, self.memory = address, strides, ld, direct, writable, None
        self.columns, self.made = c.ROW_MAJOR, False

    def matrix(self):
        """Returns an array in host memory as an array of two dimensions."""
        return self.array[:, None] if self.vector else self.array


def torch_tensor(x):
    """Returns the module torch if x is one of its tensors, else None. Does not import torch: while torch is
    not imported, x is no tensor."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and isinstance(x, torch.Tensor) else None


def kind_of(x, name, expected=None):
    """Returns (the kind of array x, an object that gives access to its memory). Raises TypeError.

    expected: the type that messages about a type name; None: either type of libspmm."""
    if isinstance(x, np.ndarray):
        if isinstance(x, np.ma.MaskedArray):
            raise TypeError(f"{name} is a masked array, but products support no masks: {'out.data' if name == 'out' else f'{name}.filled(0)'}")
        return NUMPY, np.asarray(x)
    if torch_tensor(x):
        if x.requires_grad:
            raise TypeError(f"{name} is a tensor that requires a gradient, which libspmm does not compute: pass {name}.detach(), or "
                            f"call the functions of spmm_mpi.torch")
        if x.layout is not torch_tensor(x).strided:
            dense = "torch.empty(out.shape, dtype=out.dtype)" if name == "out" else f"{name}.to_dense()"
            raise TypeError(f"{name} is a tensor of layout {x.layout}, expected a dense one: {dense}")
        if x.device.type == "cpu":
            return TORCH_CPU, host_tensor(x, name, expected)
        if x.device.type != "cuda":
            raise TypeError(f"{name} is a tensor on device {x.device}, expected cpu or cuda")
        check_negated(x, name)
        if x.is_conj():
            raise TypeError(f"{name} is a tensor that is conjugated only by its flag (is_conj): {name}.resolve_conj()")
        return TORCH, x
    if hasattr(x, "__cuda_array_interface__"):
        return (CUPY if type(x).__module__.partition(".")[0] == "cupy" else DEVICE), x
    if hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__"):
        return by_dlpack(x, name)
    way = "plan.y_zeros(), numpy.empty" if name == "out" else "numpy.asarray, or .toarray() of a sparse matrix"
    raise TypeError(f"{name} is a {type(x).__name__}, expected a NumPy, CuPy or PyTorch array ({way})")


def numpy_type(x, name, expected=None):
    """Returns the type of a tensor's elements as a type of NumPy. Raises TypeError if NumPy has no such
    type."""
    found = str(x.dtype).partition(".")[2]
    try:
        dtype = np.dtype(found)
    except TypeError:
        dtype = None
    if dtype is None or dtype.isbuiltin != 1:  # (some packages add bfloat16)
        raise TypeError(wrong_type(name, found, expected, TORCH))
    return dtype


def check_negated(x, name):
    """Refuses a tensor whose numbers are those in its memory with the other sign (torch.conj(z).imag)."""
    if x.is_neg():
        raise TypeError(f"{name} is a tensor that is negated only by its flag (is_neg): {name}.resolve_neg()")


def host_tensor(x, name, expected=None):
    """Returns a dense tensor in host memory as an array of NumPy, of the same memory unless it is complex.
    Raises TypeError."""
    try:
        return x.numpy()
    except (TypeError, RuntimeError) as error:
        numpy_type(x, name, expected)
        check_negated(x, name)
        if x.is_conj() and name != "out":
            return x.resolve_conj().numpy()
        raise TypeError(f"{name} is a tensor that NumPy cannot read, expected a plain one: {error}") from None


def layout(x, kind, name, dtype):
    """Returns (element type, shape, strides in bytes or None, address, whether x is writable). Raises
    TypeError if the element type is not dtype; with dtype None, if it is not one of libspmm's."""
    if kind in (NUMPY, TORCH_CPU):
        check_type(name, x.dtype, dtype, kind)
        return x.dtype, x.shape, x.strides, x.ctypes.data, x.flags.writeable
    if kind == TORCH:  # its __cuda_array_interface__ takes longer than everything else here
        found = torch_types().get(x.dtype) or numpy_type(x, name, dtype)
        check_type(name, found, dtype, kind)
        return found, tuple(x.shape), tuple(step * found.itemsize for step in x.stride()), x.data_ptr(), True
    interface = x.__cuda_array_interface__
    found = np.dtype(interface["typestr"])
    check_type(name, found, dtype, kind)
    if interface.get("mask") is not None:
        raise TypeError(f"{name} is a masked array, but products support no masks")
    address, read_only = interface["data"]
    return found, tuple(interface["shape"]), interface.get("strides"), address, not read_only


# ---- DLPack: arrays of other libraries, such as JAX ----

class DlpackTensor(ctypes.Structure):
    """DLTensor, the first member of DLManagedTensor (dlpack.h before 1.0: producers return it if no version
    is requested)."""
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64)]


DLPACK_CPU, DLPACK_CUDA, DLPACK_KINDS = 1, 2, {2: "f", 5: "c"}
DLPACK_LEGACY_STREAM = 1  # also this stream's handle in the CUDA driver


class DlpackArray:
    """A read-only array on a GPU, passed by DLPack. It keeps the capsule, whose deletion frees the memory."""

    def __init__(self, x, name):
        self.capsule = x.__dlpack__(stream=DLPACK_LEGACY_STREAM)
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        tensor = DlpackTensor.from_address(pointer(self.capsule, b"dltensor"))
        size, kind = tensor.bits // 8, f"{DLPACK_KINDS.get(tensor.code, 'V')}{tensor.bits // 8}"
        if tensor.lanes != 1 or kind not in ("f8", "f4", "c16", "c8"):
            raise TypeError(f"{name} has elements of DLPack type code {tensor.code} with {tensor.bits} bits, expected {EXPECTED}")
        shape = tuple(tensor.shape[:tensor.ndim])
        self.__cuda_array_interface__ = {
            "shape": shape, "typestr": "<" + kind, "data": ((tensor.data or 0) + tensor.offset, True), "version": 3,
            "strides": tuple(size * step for step in tensor.strides[:tensor.ndim]) if tensor.strides else None,
            "stream": DLPACK_LEGACY_STREAM}


def by_dlpack(x, name):
    """Returns what kind_of() returns, for an array that is accessed by DLPack. Such an array is only read,
    never written."""
    device = x.__dlpack_device__()[0]
    if device == DLPACK_CPU and hasattr(np, "from_dlpack"):
        found = np.from_dlpack(x)
        found.flags.writeable = False
        return NUMPY, found
    if device == DLPACK_CUDA:
        return DEVICE, DlpackArray(x, name)
    raise TypeError(f"{name} is on a device of DLPack type {int(device)}, expected host memory (1) or a CUDA GPU (2)")


# in the order of spmm_precision
TYPES = tuple(map(np.dtype, (np.float64, np.float32, np.complex128, np.complex64)))
PRECISIONS = {dtype: number for number, dtype in enumerate(TYPES)}
EXPECTED = "float64, float32, complex128 or complex64"

_torch_types = {}


def torch_types():
    """Returns a table: PyTorch's types for the values and indices that libspmm supports -> NumPy's types."""
    if not _torch_types:
        torch = sys.modules["torch"]
        _torch_types.update({getattr(torch, kind): np.dtype(kind) for kind in (*(dtype.name for dtype in TYPES), "int64", "int32")})
    return _torch_types


def widened(x, dtype):
    """Returns an array of NumPy, PyTorch or CuPy as one of the dtype, unless that is float32, if NumPy would
    convert its elements; else x."""
    if dtype == TYPES[1]:
        return x
    torch = torch_tensor(x)
    if torch:
        found = torch_types().get(x.dtype) or numpy_type(x, "X", dtype)
        return x if found == dtype or not np.can_cast(found, dtype) else x.to(getattr(torch, dtype.name))
    if not isinstance(x, np.ndarray) and type(x).__module__.partition(".")[0] != "cupy":
        return x
    return x.astype(dtype) if x.dtype != dtype and x.dtype.kind in "biufc" and np.can_cast(x.dtype, dtype) else x


def check_type(name, found, expected, kind):
    if found not in TYPES if expected is None else found != expected:
        raise TypeError(wrong_type(name, found, expected, kind))


def wrong_type(name, found, expected, kind=NUMPY):
    """Returns the message about an array of a wrong type, with an expression that works. For `out` that is a
    new array, because a converted copy would receive the result instead of `out`; for complex numbers it is
    the two parts, because a conversion would lose the imaginary part. expected: None means either type of
    libspmm."""
    text, wanted = f"{name} is {found}, expected {expected or EXPECTED}", expected or TYPES[0]
    of_torch, imaginary = kind in (TORCH, TORCH_CPU), "complex" in str(found) and wanted.kind != "c"
    if name == "out":
        module = "torch" if of_torch else "cupy" if kind == CUPY else "numpy"
        return f"{text}: out={module}.empty_like(out, dtype={module}.{wanted})"
    cast = f".to(torch.{wanted})" if of_torch else f".astype(numpy.{wanted})"
    if not imaginary:
        return f"{text}: {name}{cast}"
    # the parts of complex numbers already have the right type, but are views with gaps
    if str(found) == ("complex64" if wanted == TYPES[1] else "complex128"):
        cast = {CUPY: ".copy()", TORCH: ".contiguous()"}.get(kind, "")
    return f"{text}: pass its parts one after the other, {name}.real{cast} and {name}.imag{cast}"


def check_shape(shape, name, rows, whose):
    if len(shape) not in (1, 2):
        any_ = "rows" if rows is None else rows
        raise ValueError(f"{name} has {len(shape)} dimensions, expected [{any_}, K] or a vector [{any_}]")
    if rows is not None and shape[0] != rows:
        raise ValueError(f"{name} has {shape[0]} rows, expected {rows}, {whose}")


def examine_rows(x, name, rows=None, dtype=None):
    """Returns the Operand of an array for functions of multivectors, which access nothing between rows.
    Local. Raises TypeError, ValueError.

    rows, dtype: those of X, which x must have, too; None: any number of rows, float64 or float32."""
    operand = operand_of(x, *kind_of(x, name, dtype), name, rows, dtype, "as X has")
    if operand.k < 1:
        raise ValueError(f"{name} has no columns, expected at least 1")
    return operand


def operand_of(x, kind, reached, name, rows, dtype, whose):
    found, shape, strides, address, writable = layout(reached, kind, name, dtype)
    check_shape(shape, name, rows, whose)
    size = found.itemsize
    k = 1 if len(shape) == 1 else shape[1]
    between = k * size if strides is None or shape[0] <= 1 else strides[0]
    ld, rest = divmod(between, size)
    unit = strides is None or k <= 1 or strides[1] == size
    direct = unit and rest == 0 and ld >= k and address % size == 0
    return Operand(reached, kind, x, found, shape, address, strides, ld, direct, writable)


def examine(x, name, rows, dtype, space):
    """Returns the Operand of an array of `rows` rows for a product. Local. Raises TypeError, ValueError.

    space: where the plan computes; if that is CPU, an array on a GPU is refused."""
    kind, reached = kind_of(x, name, dtype)
    if kind >= CUPY and space == c.CPU:
        raise TypeError(f'{name} is on a GPU, but the plan computes on the CPU: make it with Plan(..., device="cuda")')
    operand = operand_of(x, kind, reached, name, rows, dtype, "the rows that this rank owns")
    if not operand.direct and has_columns(operand):
        operand.ld, operand.direct, operand.columns = operand.strides[1] // operand.dtype.itemsize, True, c.COLUMN_MAJOR
        return operand
    memory, k, ld = known.get(operand.address), operand.k, operand.ld
    if (memory is not None and operand.direct and memory.shape == (rows, k) and memory.dtype == dtype and
            memory.struct.ld == ld):
        operand.memory = memory
    elif kind >= CUPY:
        check_rows_on_gpu(operand, name, True)
        operand.direct = ld == k  # a part of another array is copied
    elif operand.direct and ld != k:
        operand.direct = owns_padding(operand, rows, dtype.itemsize)
    return operand


def contiguous_out(operand):
    """Returns an expression for an `out` of that shape and type on the GPU that would be accepted."""
    shape = (operand.rows,) if operand.vector else (operand.rows, operand.k)
    if operand.kind == TORCH:
        return f"out=torch.empty({shape}, dtype=torch.{operand.dtype}, device=out.device)"
    return f"out=cupy.empty({shape}, cupy.{operand.dtype})"


def has_columns(operand):
    """Whether the elements of each column are consecutive and columns do not overlap (Fortran order). libspmm
    converts such arrays."""
    strides, size = operand.strides, operand.dtype.itemsize
    return (operand.k > 1 and strides is not None and operand.address % size == 0 and strides[0] == size and strides[1] % size == 0 and
            # an older libspmm, without spmm_apply_begin, does not support layouts
            strides[1] >= max(operand.rows, 1) * size and c.loaded().spmm_apply_begin is not None)


def check_rows_on_gpu(operand, name, columns):
    """Refuses an array on a GPU whose rows are not consecutive elements. columns: whether consecutive elements
    of each column are accepted elsewhere (the message says so)."""
    if operand.direct:
        return
    rule = ("neither row-major nor column-major: on a GPU the elements of each row, or of each column," if columns else
            "not row-major: on a GPU the elements of each row")
    remedy = contiguous_out(operand) if name == "out" else f"cupy.ascontiguousarray({name}), {name}.contiguous()"
    raise ValueError(f"{name} is {rule} must be consecutive: {remedy}")


def owns_padding(operand, rows, size):
    """Whether the padding after the operand's last row belongs to the array of which the operand is a part.
    libspmm may read this padding."""
    whole = operand.array
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    return operand.address + rows * operand.ld * size <= bounds(whole)[1]


try:
    bounds = np.lib.array_utils.byte_bounds
except AttributeError:  # before NumPy 2
    bounds = np.byte_bounds


def check_out(operand, out, rows, k, vector):
    """Makes the additional checks of an array that is written. libspmm must not write elements between the
    array's rows, which belong to another array. So a row-major array is direct only if it has no such
    elements, or if it is a whole multivector of libspmm. Raises ValueError."""
    if not operand.writable:
        raise ValueError("out is read-only")
    if operand.k != k or operand.vector != vector:
        expected = f"[{rows}]" if vector else f"[{rows}, {k}]"
        raise ValueError(f"out has the shape {list(out.shape)}, expected {expected} as X has")
    if operand.memory is None and operand.ld != k and not operand.columns:
        if operand.kind >= CUPY:
            raise ValueError(f"out is a part of another array on the GPU, expected a contiguous array: {contiguous_out(operand)}")
        operand.direct = False


def references(kept, i):
    return sys.getrefcount(kept[i])


ALONE = references([object()], 0)  # the count of an object to which only a list refers


class Recycled:
    """The last two objects that were made for one purpose. take() returns one to which nothing else refers,
    or makes one."""

    def __init__(self):
        self.kept = []  # replaced, not changed: another thread may clear it, see Analysis.multiply()

    def take(self, create):
        kept = self.kept
        for i in range(len(kept)):
            if references(kept, i) == ALONE:
                return kept[i]
        made = create()
        self.kept = [*kept[-1:], made]  # X := A X alternates between two
        return made


class Results(Recycled):
    """Memory of large results of one size, for arrays of NumPy. The pages of new memory take longer than many
    products (5 ms for 34 MB, 16 threads; a product 2 ms)."""
    LARGE = 1 << 17  # bytes from which malloc() gets new pages each time

    def empty(self, shape, dtype):
        """Returns an array in C order, with undefined elements."""
        size = math.prod(shape)
        if size * dtype.itemsize < self.LARGE:
            return np.empty(shape, dtype)
        if any(memory.size != size for memory in self.kept):
            self.kept = []
        # (reshape() makes an array of its own, of which the caller can change shape and flags)
        return self.take(lambda: np.empty(size, dtype)).reshape(shape)


def empty(operand, shape, dtype, create, results=None):
    """Returns an array of that shape, of the same kind as an operand. create() returns a DeviceArray."""
    if operand.kind == NUMPY:
        return np.empty(shape, dtype) if results is None else results.empty(shape, dtype)
    like = operand.like
    if operand.kind == CUPY:
        with like.device:
            return sys.modules["cupy"].empty(shape, dtype)
    if operand.kind in (TORCH, TORCH_CPU):
        torch = sys.modules["torch"]
        return torch.empty(shape, dtype=like.dtype, device=like.device)
    return create()


# ---- streams of a GPU ----

_driver = None


def driver():
    """Returns libcuda.so.1, or False if it is not installed."""
    global _driver
    if _driver is None:
        try:
            found = ctypes.CDLL("libcuda.so.1")
            found.cuStreamSynchronize.argtypes = [ctypes.c_void_p]
            found.cuPointerGetAttribute.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64]
        except (OSError, AttributeError):
            found = False
        _driver = found  # complete: other threads use it without a lock
    return _driver


def wait_for(operand):
    """Waits for the work that was queued for an array on a GPU, because libspmm computes in its own streams:
    for the current stream of PyTorch if the array is a tensor, else for the stream that the array names."""
    if operand.kind == TORCH:
        sys.modules["torch"].cuda.current_stream(operand.like.device).synchronize()
    elif operand.kind in (CUPY, DEVICE):
        stream = operand.array.__cuda_array_interface__.get("stream")
        if stream is not None and driver():
            failed = driver().cuStreamSynchronize(stream)
            if failed:
                raise c.Error(f"cannot wait for the stream of an array: CUDA driver error {failed}")


ORDINAL = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL


def gpu_of(address):
    """Returns the number of the GPU that has this address; None: unknown."""
    number = ctypes.c_int(-1)
    if not address or not driver() or driver().cuPointerGetAttribute(ctypes.byref(number), ORDINAL, address):
        return None
    return number.value


_opened_gpu = None


def opened_gpu():
    """Returns the number of the GPU that libspmm has opened; None: unknown. Raises Error if none is open."""
    global _opened_gpu
    if _opened_gpu is None:
        lib = c.loaded()
        probe = allocated(lambda struct: lib.spmm_multivector_create(1, 1, c.F64, c.CUDA, struct), c.CUDA)
        _opened_gpu = gpu_of(probe.struct.data)
    return _opened_gpu


def check_gpu(operand, name):
    """Refuses an array on a GPU other than the one that libspmm has opened: its kernels may be unable to
    access it."""
    gpu, found = opened_gpu(), gpu_of(operand.address)
    if found is not None and gpu is not None and found != gpu:
        raise ValueError(f"{name} is on GPU {found}, but libspmm computes on GPU {gpu}: copy it to GPU {gpu}")


# ---- complex X of real plans ----

def as_reals(x, dtype):
    """Returns a complex array as a view of twice as many columns, of the real dtype; None if it has no such
    view, or is not complex."""
    torch = torch_tensor(x)
    if torch:
        if not x.is_complex() or x.is_conj() or not x.is_contiguous() or x.dim() not in (1, 2):
            return None
        x = torch.view_as_real(x)
        return x.reshape(x.shape[0], -1) if torch_types().get(x.dtype) == dtype else None
    found = getattr(x, "dtype", None)
    if getattr(found, "kind", "") != "c" or found.itemsize != 2 * dtype.itemsize or x.ndim not in (1, 2) or not x.flags.c_contiguous:
        return None
    return x.reshape(x.shape[0], -1).view(dtype)


def contiguous(x):
    """Returns a complex array with consecutive elements, for as_reals(); any other x unchanged."""
    torch = torch_tensor(x)
    if torch:
        return x.resolve_conj().contiguous() if x.is_complex() else x
    return x.copy(order="C") if getattr(getattr(x, "dtype", None), "kind", "") == "c" and not x.flags.c_contiguous else x


def as_complex(y, like):
    """Returns what as_reals() would turn into y, with as many dimensions as `like`."""
    torch = torch_tensor(y)
    y = torch.view_as_complex(y.reshape(len(y), -1, 2)) if torch else y.view(like.dtype)
    return y[:, 0] if like.ndim == 1 else y


def by_parts(multiply, x, dtype):
    """Returns the product with an x of any type of numbers. multiply: the product with an array of NumPy of
    that dtype."""
    x = np.asarray(x)
    if x.dtype.kind == "c" and dtype.kind != "c":
        return by_parts(multiply, x.real, dtype) + 1j * by_parts(multiply, x.imag, dtype)
    return multiply(np.ascontiguousarray(x, dtype))
