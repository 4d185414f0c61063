"""libspmm.so by ctypes: how it is found, the mirror of include/spmm_types.h, spmm.h and spmm_extended.h, and
errors.

tests/test_python.py compares sizes, offsets and numbers with those of a C compiler."""
import contextlib
import ctypes
import ctypes.util
import enum
import importlib.util
import os
import re
import subprocess
import sys
import threading
from ctypes import POINTER, Structure, c_char_p, c_double, c_int, c_int64, c_void_p

from ._version import VERSION

# before 1.0 each minor version is a separate interface, as in the soname
INTERFACE = VERSION.rsplit(".", 1)[0]
SONAME = f"libspmm.so.{INTERFACE}"

# ---- types ----


class Status(enum.IntEnum):
    """spmm_status: what a function of libspmm returned."""
    OK = 0
    VERIFY = 1
    USAGE = 2
    OPEN = 3
    SYNTAX = 4
    UNSUPPORTED = 5
    MEMORY = 6
    LIMIT = 7
    NO_DEVICE = 8
    DEVICE = 9
    MPI = 10
    OUTPUT = 11
    INTERNAL = 12


class Error(RuntimeError):
    """A failure of libspmm or of another rank; the message is a sentence.

    status: the Status that libspmm returned; None: libspmm itself did not fail (it was not found, or wrong
    arguments were passed on another rank)."""

    def __init__(self, message, status=None):
        super().__init__(message)
        self.status = status


F64, F32, C128, C64 = range(4)
CPU, CUDA = 0, 1
ROW_MAJOR, COLUMN_MAJOR = 0, 1


class Complex(Structure):
    """spmm_complex: passed like a double complex of C."""
    _fields_ = [("real", c_double), ("imag", c_double)]


class Csr(Structure):
    """spmm_csr."""
    _fields_ = [("rows", c_int64), ("cols", c_int64), ("nnz", c_int64), ("precision", c_int), ("irp", c_void_p),
                ("ja", c_void_p), ("as", c_void_p)]


class Multivector(Structure):
    """spmm_multivector."""
    _fields_ = [("rows", c_int64), ("k", c_int64), ("ld", c_int64), ("precision", c_int), ("space", c_int),
                ("data", c_void_p), ("ghost_low", c_int64), ("ghost_high", c_int64), ("layout", c_int)]


class Block(Structure):
    """spmm_block."""
    _fields_ = [("csr", Csr), ("rows", c_int64), ("cols", c_int64), ("row_begin", c_int64), ("col_begin", c_int64),
                ("x_begin", c_int64), ("x_rows", c_int64), ("p", c_int), ("q", c_int), ("borrowed", c_int), ("any_order", c_int)]


class Cut(Structure):
    """spmm_cut."""
    _fields_ = [("rows", c_int64), ("row_begin", c_int64), ("row_count", c_int64), ("row", c_void_p), ("begin", c_void_p), ("number", c_void_p),
                ("ranks", c_int), ("by", c_int), ("moved", c_int64), ("moved_by_entries", c_int64), ("seconds", c_double),
                ("why", ctypes.c_char * 256)]


class Rows(Structure):
    """spmm_rows."""
    _fields_ = [("irp", c_void_p), ("ja", c_void_p), ("as", c_void_p), ("irp_bytes", c_int), ("ja_bytes", c_int),
                ("map_bytes", c_int), ("first_column", c_int64), ("map", c_void_p), ("map_size", c_int64), ("nnz", c_int64)]


class Options(Structure):
    """spmm_plan_options."""
    _fields_ = [("device", c_int), ("format", c_int), ("kernel", c_char_p), ("threads", c_int), ("exchange", c_int), ("transport", c_int), ("reduce", c_int),
                ("no_overlap", c_int), ("column_blocks", c_int), ("any_order", c_int), ("exact", c_int),
                ("products", c_int64), ("stream", c_void_p), ("exchange_precision", c_int)]


class Study(Structure):
    """spmm_plan_study."""
    _fields_ = [("ell_limit", c_double), ("block_size", c_int), ("subwarp", c_int), ("quick_plan", c_int), ("all_kernels", c_int)]


# option -> its words, as in the program's options -> the numbers of the C enumeration
WORDS = {
    "device": {"cpu": CPU, "cuda": CUDA},
    "format": {"auto": 0, "csr": 1, "ell": 2, "ell-nopad": 3, "sell": 4, "panel": 5, "staged": 6},
    "exchange": {"auto": 0, "halo": 1, "bcast": 2, "joint": 3},
    "transport": {"auto": 0, "mpi": 1, "staged": 2, "cuda-aware": 3, "nccl": 4, "peer": 5, "shared": 6},
    "reduce": {"auto": 0, "linear": 1, "tree": 2, "butterfly": 3, "mpi": 4, "nccl": 5},
    "exchange_precision": {"f64": F64, "f32": F32},
    "reproducible": {"on": (0, 0), "off": (1, 0), "exact": (0, 1)},  # any_order, exact
    "cut": {"auto": 0, "entries": 1, "rows": 2, "layout": 3, "graph": 4},
    "plan": {"timed": 0, "quick": 1},
}

# ---- functions ----


def prototypes(comm):
    """Returns a table: function -> (type of its result, types of its arguments). comm: the C type of
    MPI_Comm."""
    multivector = POINTER(Multivector)
    return {
        "spmm_csr_read": (c_int, [c_char_p, c_int, POINTER(Csr)]),
        "spmm_csr_read_edges": (c_int, [c_char_p, c_int, c_int, POINTER(Csr)]),
        "spmm_csr_destroy": (None, [POINTER(Csr)]),
        "spmm_csr_scatter": (c_int, [comm, c_int, POINTER(Csr), c_int, c_int, POINTER(Block)]),
        "spmm_block_destroy": (None, [POINTER(Block)]),
        "spmm_device_open": (c_int, [comm]),
        "spmm_plan_create_extended": (c_int, [comm, POINTER(Block), c_int64, POINTER(Options), POINTER(Study), POINTER(c_void_p)]),
        "spmm_plan_x_create": (c_int, [c_void_p, multivector]),
        "spmm_plan_y_create": (c_int, [c_void_p, multivector]),
        "spmm_apply": (c_int, [c_void_p, c_double, multivector, c_double, multivector]),
        "spmm_plan_kernel": (c_char_p, [c_void_p]),
        "spmm_plan_destroy": (None, [c_void_p]),
        "spmm_error_message": (c_char_p, []),
        "spmm_multivector_create": (c_int, [c_int64, c_int64, c_int, c_int, multivector]),
        "spmm_multivector_copy": (c_int, [multivector, multivector]),
        "spmm_multivector_destroy": (None, [multivector]),
    }


# functions that an older libspmm of the same interface may lack
NEWER = {
    "spmm_apply_transposed": (c_int, [c_void_p, c_double, POINTER(Multivector), c_double, POINTER(Multivector)]),
    "spmm_apply_complex": (c_int, [c_void_p, c_int, Complex, POINTER(Multivector), Complex, POINTER(Multivector)]),
    "spmm_apply_begin": (c_int, [c_void_p, c_double, POINTER(Multivector), c_double, POINTER(Multivector)]),
    "spmm_apply_end": (c_int, [c_void_p]),
    "spmm_rows_apply": (c_int, [POINTER(Rows), c_double, POINTER(Multivector), c_double, POINTER(Multivector), c_int]),
    "spmm_plan_set_k": (c_int, [c_void_p, c_int64]),
    "spmm_plan_x_create_k": (c_int, [c_void_p, c_int64, POINTER(Multivector)]),
    "spmm_plan_y_create_k": (c_int, [c_void_p, c_int64, POINTER(Multivector)]),
    "spmm_plan_update_values": (c_int, [c_void_p]),
    "spmm_plan_update_rows": (c_int, [c_void_p, POINTER(Rows), POINTER(c_int)]),
    "spmm_plan_values_gradient": (c_int, [c_void_p, POINTER(Multivector), POINTER(Multivector), POINTER(Multivector)]),
    "spmm_csr_upload": (c_int, [POINTER(Csr), POINTER(Csr)]),
    "spmm_apply_rows": (c_int, [c_void_p, POINTER(Rows), POINTER(Multivector), POINTER(Multivector), POINTER(c_int)]),
    "spmm_plan_set_stream": (c_int, [c_void_p, c_void_p]),
    "spmm_plan_view_text": (c_int, [c_void_p, POINTER(c_void_p)]),
    "spmm_multivector_times": (c_int, [c_double, POINTER(Multivector), c_void_p, c_int64, c_double, POINTER(Multivector)]),
    "spmm_multivector_times_complex": (c_int, [Complex, POINTER(Multivector), c_void_p, c_int64, Complex, POINTER(Multivector)]),
    "spmm_multivector_axpby_complex": (c_int, [Complex, POINTER(Multivector), Complex, POINTER(Multivector)]),
    "spmm_multivector_scale_complex": (c_int, [c_void_p, POINTER(Multivector)]),
    "spmm_multivector_axpby": (c_int, [c_double, POINTER(Multivector), c_double, POINTER(Multivector)]),
    "spmm_plan_diagonal": (c_int, [c_void_p, POINTER(Multivector)]),
    "spmm_multivector_scale_rows": (c_int, [POINTER(Multivector), POINTER(Multivector)]),
    "spmm_multivector_scale": (c_int, [c_void_p, POINTER(Multivector)]),
    "spmm_cut_destroy": (None, [POINTER(Cut)]),
}


def newer(comm):
    """Returns NEWER with the newer functions that have a communicator as an argument."""
    multivector = POINTER(Multivector)
    return {**NEWER,
            "spmm_cut_create": (c_int, [comm, c_int, POINTER(Csr), c_int, c_int64, POINTER(Options), POINTER(Cut)]),
            "spmm_cut_scatter": (c_int, [comm, c_int, POINTER(Csr), POINTER(Cut), POINTER(Block)]),
            "spmm_multivector_dot": (c_int, [comm, multivector, multivector, c_void_p, c_int64]),
            "spmm_multivector_dot_complex": (c_int, [comm, multivector, multivector, c_void_p, c_int64]),
            "spmm_multivector_norms": (c_int, [comm, multivector, c_void_p])}


def comm_type():
    """Returns the C type of MPI_Comm in mpi4py's MPI: a pointer (Open MPI) or an int (MPICH)."""
    from mpi4py import MPI
    return c_void_p if MPI._sizeof(MPI.Comm) == ctypes.sizeof(c_void_p) else c_int


def comm_handle(comm):
    """Returns the MPI_Comm of a communicator of mpi4py; the only MPI_Comm there is if libspmm has no MPI."""
    if loaded().world is not None:
        return loaded().world
    from mpi4py import MPI
    return comm_type().from_address(MPI._addressof(comm))


# ---- finding the library ----

# the folder of a wheel that contains libgomp and the libspmm for one process; that of the libspmm for ranks
BUNDLED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib")
BUNDLED_FOR_RANKS = os.path.join(BUNDLED, "mpich")
OPENMP = "libgomp.so.1"


def has_mpich():
    """Whether the program has imported mpi4py.MPI, whose MPI has the binary interface of MPICH: MPICH, Intel
    MPI or MVAPICH."""
    if sys.modules.get("mpi4py.MPI") is None or comm_type() is not c_int:
        return False
    try:
        return bool(ctypes.CDLL("libmpi.so.12", os.RTLD_NOW | os.RTLD_NOLOAD))  # (fails if it is not loaded)
    except OSError:
        return False


def open_openmp(folder):
    """Makes sure that the libspmm of a wheel finds an OpenMP runtime: the one that the process has loaded,
    else the system's, else the one in the wheel."""
    bundled = os.path.join(BUNDLED, OPENMP)
    if folder not in (BUNDLED, BUNDLED_FOR_RANKS) or not os.path.exists(bundled):
        return
    try:
        ctypes.CDLL(OPENMP)
    except OSError:
        ctypes.CDLL(bundled)


HOW = (f"build libspmm by `make`, install it by `make install PREFIX=DIR`, and set SPMM_LIBRARY to DIR/lib or to the file "
       f"({SONAME})")


def named_by_environment():
    """Returns the file that SPMM_LIBRARY names; None: the variable is not set."""
    told = os.environ.get("SPMM_LIBRARY")
    if not told:
        return None
    files = [told] if not os.path.isdir(told) else [os.path.join(told, name) for name in (SONAME, "libspmm.so")]
    for file in files:
        if os.path.isfile(file):
            return os.path.abspath(file)
    raise Error(f"SPMM_LIBRARY={told}: there is no {' and no '.join(files)}; {HOW}")


def pkg_config_folder():
    try:
        done = subprocess.run(["pkg-config", "--variable=libdir", "spmm"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, universal_newlines=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def places():
    """Files and names to try, in this order."""
    if has_mpich():
        yield os.path.join(BUNDLED_FOR_RANKS, SONAME)
    yield os.path.join(BUNDLED, SONAME)
    folder = pkg_config_folder()
    if folder:
        yield os.path.join(folder, SONAME)
    yield SONAME  # the loader's own search: LD_LIBRARY_PATH, ldconfig's list
    found = ctypes.util.find_library("spmm")
    if found:
        yield found
    for prefix in (sys.prefix, os.environ.get("CONDA_PREFIX"), os.path.expanduser("~/.local"), "/usr/local"):
        if prefix:
            yield os.path.join(prefix, "lib", SONAME)


def check_interface(file):
    """Refuses a file whose name, after links are resolved, has the number of another interface: its structs
    may differ."""
    version = re.search(r"libspmm\.so\.(\d+\.\d+)", os.path.basename(os.path.realpath(file)))
    if version and version[1] != INTERFACE:
        raise Error(f"{file} has interface {version[1]}, and the package spmm_mpi {VERSION} needs interface {INTERFACE}; {HOW}")


def open_library():
    """Returns the first library that can be loaded, and its name. If SPMM_LIBRARY names a file, only that one
    is tried."""
    told = named_by_environment()
    why = []
    for file in [told] if told else places():
        if os.sep in file and not os.path.exists(file):
            continue
        try:
            check_interface(file)
            open_openmp(os.path.dirname(file))
            return ctypes.CDLL(file), file
        except (OSError, Error) as error:
            why.append(str(error))
    because = f" ({'; '.join(dict.fromkeys(why))})" if why else ""
    raise Error(f"libspmm was not found{because}: {HOW}")


def one_rank_world(lib):
    """Initializes a libspmm that was built without MPI (make MPI=0), and returns its world communicator;
    returns None if the library has an MPI."""
    if not hasattr(lib, "spmm_one_rank_Init_thread"):
        return None
    begun, level, multiple = c_int(), c_int(), 3
    lib.spmm_one_rank_Initialized(ctypes.byref(begun))
    if not begun.value:
        lib.spmm_one_rank_Init_thread(None, None, multiple, ctypes.byref(level))
    return c_void_p(ctypes.addressof(ctypes.c_char.in_dll(lib, "spmm_one_rank_world")))


def check_mpi(lib, file):
    """Refuses a libspmm that was linked to another MPI than mpi4py: it could not use mpi4py's communicators.

    A function that is looked up by the library's handle belongs to the MPI that the library was linked to."""
    from mpi4py import MPI
    try:
        version = lib.MPI_Get_library_version
    except AttributeError:
        return
    text, length = ctypes.create_string_buffer(8192), c_int()
    version(text, ctypes.byref(length))
    theirs, ours = text.value.decode(errors="replace"), MPI.Get_library_version().rstrip("\0")
    if theirs.strip() != ours.strip():
        raise Error(f"{file} was built with {theirs.splitlines()[0]}, and mpi4py with {ours.splitlines()[0]}: build one of them "
                    f"with the other's MPI (pip install --no-binary mpi4py mpi4py, with MPICC set)")


def check_version(lib, file):
    """Refuses a libspmm whose spmm_version() reports another interface, whatever the name of its file."""
    try:
        version = lib.spmm_version
    except AttributeError:  # the library is older than spmm_version()
        return
    numbers = [c_int() for _ in range(3)]
    version.restype, version.argtypes = c_char_p, [POINTER(c_int)] * 3
    text = version(*map(ctypes.byref, numbers)).decode()
    if f"{numbers[0].value}.{numbers[1].value}" != INTERFACE:
        raise Error(f"{file} is libspmm {text}, and the package spmm_mpi {VERSION} needs {INTERFACE}; {HOW}")


class Library:
    """The functions of libspmm, found and opened at the first use."""

    def __init__(self):
        lib, self.file = open_library()
        check_version(lib, self.file)
        self.world = one_rank_world(lib)
        if self.world is None:
            check_mpi(lib, self.file)
        comm = comm_type() if self.world is None else c_void_p
        try:
            for name, prototype in prototypes(comm).items():
                self.declare(lib, name, prototype)
        except AttributeError as error:
            raise Error(f"{self.file} is not libspmm of interface {INTERFACE}: {error}; {HOW}") from None
        for name, prototype in newer(comm).items():
            try:
                self.declare(lib, name, prototype)
            except AttributeError:
                setattr(self, name, None)

    def declare(self, lib, name, prototype):
        function = getattr(lib, name)
        function.restype, function.argtypes = prototype
        setattr(self, name, function)

    def need(self, name):
        """Returns a function of newer(). Raises Error if this library lacks it."""
        function = getattr(self, name)
        if function is None:
            raise Error(f"{self.file} has no function {name}: it is older than this package; {HOW}")
        return function

    def check(self, status):
        """Raises Error if status is not SPMM_OK."""
        if status:
            raise Error(self.spmm_error_message().decode(errors="replace") or Status(status).name, Status(status))


_loaded = None
loading = threading.RLock()  # (a signal's handler may make a first call within the first call)
# whether this process was forked from one that had loaded libspmm, or in which another thread was loading it
forked = False


def in_forked():
    global forked
    held = not loading.acquire(blocking=False)
    if not held:
        loading.release()
    forked = forked or held or _loaded is not None


os.register_at_fork(after_in_child=in_forked)


def check_fork():
    """Raises Error in a forked process, before it calls mpi4py or waits for a lock that a thread of the
    parent may hold."""
    if forked:
        raise Error("this process was forked from one that uses libspmm, so libspmm's threads and MPI are missing: call spmm_mpi in the "
                    "parent process, or in a process started with spawn (multiprocessing.get_context(\"spawn\"))", Status.USAGE)


def without_mpi():
    """Whether libspmm was built without MPI. Raises Error if libspmm was not found and mpi4py, through which
    other ranks could be notified, is not installed."""
    try:
        return loaded().world is not None
    except Error:
        if importlib.util.find_spec("mpi4py") is None:
            raise
        return False


def may_call_mpi():
    """Whether MPI allows calls from this thread; also true if libspmm has no MPI, in a forked process, and after
    MPI_Finalize, when plans are freed without MPI."""
    if without_mpi() or forked:
        return True
    from mpi4py import MPI
    return MPI.Is_finalized() or MPI.Query_thread() == MPI.THREAD_MULTIPLE or MPI.Is_thread_main()


def mpi_runs():
    """Whether communicators can be used, i.e. MPI has not been finalized."""
    if without_mpi():
        return True
    from mpi4py import MPI
    return not MPI.Is_finalized()


def loaded():
    """Returns the only Library of this process, which the first thread to call this function makes."""
    global _loaded
    if _loaded is None:
        check_fork()
        with loading:
            if _loaded is None:
                _loaded = Library()
    return _loaded


def library_path():
    """Returns the file of the libspmm that is used. Local. Raises Error if none is found."""
    return loaded().file


# ---- the GPU ----

gpu_is_open = False
gpu_lock, no_lock = threading.RLock(), contextlib.nullcontext()


def lock_of(space):
    """Returns the lock that a thread must hold to call libspmm for a GPU, because all threads share its
    streams. For CPUs the lock does nothing."""
    return gpu_lock if space == CUDA else no_lock



def device_open(comm):
    """Opens a GPU for this rank: number (rank within its node) modulo (number of visible GPUs). Collective
    over comm.

    The first Plan with device="cuda" does this itself, over its communicator. A program whose plans have
    different communicators must call this function first, with a communicator of all ranks. Raises Error with
    status NO_DEVICE on every rank if some rank sees no usable GPU."""
    global gpu_is_open
    check_fork()
    lib = loaded()
    with gpu_lock:
        lib.check(lib.spmm_device_open(comm_handle(comm)))
        gpu_is_open = True


# ---- text ----

def text(name, value):
    """Returns a text, or a path, as bytes for C, where a NUL byte would end it. Raises ValueError."""
    found = os.fsencode(value)
    if b"\0" in found:
        raise ValueError(f"{name} is {value!r}, expected one without NUL bytes")
    return found


def written(write):
    """Returns the text that write(char **) stored ("" if NULL) and the status that it returned; frees C's
    text."""
    text = c_void_p()
    status = write(ctypes.byref(text))
    said = ctypes.string_at(text).decode(errors="replace") if text else ""
    free = ctypes.CDLL(None).free
    free.restype, free.argtypes = None, [c_void_p]
    free(text)
    return said, status
