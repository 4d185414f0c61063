"""Plans: the products of one matrix.

In a collective function each rank does its local work and catches its exception; then the ranks exchange
their exceptions (agree()). In a product of a plan for a single K they do not: a rank whose X is wrong calls
spmm_apply() with NULL, which takes part in the exchange of rows and notifies the neighbors. Python's garbage
collector must not call collective functions, because it runs at different times on different ranks."""
import atexit
import collections
import ctypes
import functools
import gc
import itertools
import sys
import threading
import warnings
import weakref

import numpy as np

from . import _arrays as arrays
from . import _gpu_matrix as gpu_matrix
from . import _library as c
from . import _matrix as matrix
from . import _world as world
from ._agreement import agree, attempt, check_alike
from ._arguments import ABSENT, INT_MAX, INT64_MAX, comm_and_matrix, complex_number, is_complex, real_number, whole_number
from ._product import LEGACY, AtOnce, Made, Product, usual_on_gpu

# ---- threads ----

# MPI allows one collective call at a time on a communicator, and plans of matmul() in all threads duplicate
# MPI.COMM_SELF. (On several ranks, threads that wait for a lock could wait for each other.)
duplicating = threading.Lock()


def serialized(method):
    """Makes threads that call the method take turns: ctypes lets other threads run while libspmm computes."""
    @functools.wraps(method)
    def alone(self, *arguments, **named):
        if c.forked:
            c.check_fork()
        with self._lock:
            return method(self, *arguments, **named)
    return alone


# ---- plans that are not closed ----

dropped = collections.deque()  # plans of one rank that nothing refers to
lost = []  # texts of plans of several ranks that nothing refers to


def close_dropped():
    """Closes the plans of one rank that nothing refers to, unless this thread must not call MPI: then a later
    call closes them."""
    while dropped and c.may_call_mpi():
        try:
            plan = dropped.popleft()
        except IndexError:  # another thread has closed it
            return
        plan.close()


@atexit.register
def tell_lost():
    gc.collect()  # plans in circles of references are lost, too
    if lost and not c.forked:
        print(f"spmm_mpi: {len(lost)} plan{'s' * (len(lost) > 1)} of several ranks {'were' if len(lost) > 1 else 'was'} not closed, and kept "
              f"memory until now; call close() on all ranks, or use `with`: {lost[0]}", file=sys.stderr)


# ---- arguments ----

NO_TRANSPOSE, TRANSPOSE, CONJUGATE_TRANSPOSE = range(3)  # spmm_operation

# What compiled code of PyTorch multiplies with: its operators take no object of Python but a number.
numbers, numbered = itertools.count(1), weakref.WeakValueDictionary()


def word(name, value):
    words = c.WORDS[name]
    if not isinstance(value, str) or value not in words:
        raise ValueError(f"{name} is {value!r}, expected {', '.join(words)}")
    return words[value]


MOST_K = 2 ** 24  # the maximum of --columns of spmm_mpi, too


def columns_of(k):
    """Returns the values of K for which products are set up at once, and whether no other K is allowed."""
    if k is None:
        return (), False
    if isinstance(k, (list, tuple)):
        return tuple(dict.fromkeys(whole_number("k", one, 1, MOST_K) for one in k)), False
    return (whole_number("k", k, 1, MOST_K),), True


# expected numbers of products: a plan for an unknown number of products is made for the first, after as many
# products for the second, and so on. Each limits how much time making the plan may take.
STAGES = 20, 99, 1000
# on a GPU an spmm_plan for up to 100 products takes the matrix as it is, and planning takes as long as some
# hundred products
STAGES_ON_GPU = 100, 1000


def stream_of(stream):
    """Returns the cudaStream_t of a stream of PyTorch or CuPy, or of a number; None: libspmm uses its own
    streams."""
    if stream is None:
        return None
    handle = getattr(stream, "cuda_stream", getattr(stream, "ptr", stream))
    try:
        return whole_number("stream", handle, 0, 2 ** 64 - 1) or LEGACY
    except TypeError:
        raise TypeError(f"stream is {stream!r}, expected a stream of PyTorch or CuPy, or the number of a cudaStream_t") from None


def options_of(given):
    """Returns spmm_plan_options for the keywords. For device="auto" they request CUDA; the caller falls back
    to the CPU."""
    if given["kernel"] is not None and not isinstance(given["kernel"], str):
        raise TypeError(f"kernel is {given['kernel']!r}, expected a name of spmm_mpi --list-kernels, or auto")
    o = c.Options()
    o.device = c.CUDA if given["device"] == "auto" else word("device", given["device"])
    for name in ("format", "exchange", "transport", "reduce", "exchange_precision"):
        setattr(o, name, word(name, given[name]))
    o.any_order, o.exact = word("reproducible", given["reproducible"])
    if given["kernel"] not in (None, "auto"):
        o.kernel = c.text("kernel", given["kernel"])
    for name in ("threads", "column_blocks"):
        setattr(o, name, whole_number(name, given[name], 0, INT_MAX))
    o.products = whole_number("products", given["products"], 0, INT64_MAX)
    o.no_overlap = bool(given["no_overlap"])
    o.stream = stream_of(given["stream"])
    return o


def study_of(given):
    """Returns spmm_plan_study for the keywords."""
    s = c.Study()
    s.quick_plan = word("plan", given["plan"])
    for name in ("block_size", "subwarp"):
        setattr(s, name, whole_number(name, given[name], 0, INT_MAX))
    s.ell_limit = real_number("ell_limit", given["ell_limit"])
    return s


def grid_of(grid, rows, ranks):
    if grid is None:
        return (ranks, 1)
    try:
        p, q = grid
    except (TypeError, ValueError):
        raise TypeError(f"grid is {grid!r}, expected (P, Q)") from None
    p, q = whole_number("P", p, 1, INT_MAX), whole_number("Q", q, 1, INT_MAX)
    if p * q != ranks:
        raise ValueError(f"grid is {p} x {q}, expected P x Q = {ranks}, the number of ranks")
    if rows == "distributed" and q != 1:
        raise ValueError(f'grid is {p} x {q}, expected {ranks} x 1 with rows="distributed"')
    return (p, q)


# ---- plans ----

class Plan:
    """Repeated products Y := alpha A X + beta Y with one sparse matrix A [m, n], distributed over the ranks
    of comm.

    Plan(comm, A, k=None, *, rows="root", grid=None, device="cpu", format="auto", kernel="auto", threads=0,
         exchange="auto", transport="auto", reduce="auto", no_overlap=False, column_blocks=0,
         reproducible="on", plan="timed", block_size=0, subwarp=0, ell_limit=0, products=0, stream=None,
         exchange_precision="f64", cut=None)

    comm: a communicator of mpi4py, which the plan duplicates. Plan(A) is Plan(MPI.COMM_WORLD, A). With a
        libspmm that was built without MPI (make MPI=0), Plan(A) is a plan of this process alone, and comm may
        be None.
    A: a sparse matrix of SciPy in any format, or a tensor of layout torch.sparse_csr, sparse_csc or
        sparse_coo in host memory; the plan copies it. Values of float64 or float32 keep their type; whole
        numbers and bool become float64 (matmul() computes exactly with whole numbers). Duplicate entries are
        summed. rows="root": the whole matrix on rank 0, and None on the other ranks. rows="distributed": on
        each rank its rows [owned rows, n], in the order of the ranks.
    k: the number of columns of X. One number: all products have this K, and a product waits for the neighbors
        only. Several numbers, or None: a product may have any K, also 0, and begins with an MPI_Allreduce, in
        which the ranks agree on K. One plan of libspmm, with at most two converted copies of A, serves all K
        up to the greatest one so far. For a greater K it is made again, for the next power of two, by the
        first product with that K or by prepare(); each product then copies arrays that x_zeros() made before.
        On one rank, without k, products, kernel, plan and stream, the first 20 products on a CPU need no plan
        of libspmm (spmm_rows_apply), unless view(), T or another method asks for one. After these a plan is
        made for 99 products, without a trial of kernels, and after 99 more, with a trial, for 1000. On a GPU,
        in float64, the first 100 products use a copy of A as it is; then the plan is made for 1000. Making it
        again takes memory for both plans for a moment; if libspmm reports that it is lacking, the old one
        stays. prepare() makes it for 1000 at once.
    cut: None: A is cut by entries, and its rows keep their numbers. auto, layout, graph, rows, entries: how
        A, which must be square and on rank 0, is cut so that products move few rows of X (spmm_cut_create in
        man 3 spmm). If rows are renumbered, plan.row_numbers lists the caller's numbers of this rank's rows
        of X and Y; x_range and y_range then raise Error, and the columns of block() have the new numbers.
        plan.cut contains the numbers of rows that products move.
    grid: (P, Q), the numbers of row ranges and column ranges that A is cut into; None: (ranks, 1).
    device: cpu, cuda, or auto (a GPU if the library supports it and all ranks have one).
    stream: with device="cuda", a stream of PyTorch or CuPy, or the number of a cudaStream_t (0: the default
        stream), which must live as long as the plan. Products run after work that was queued in the stream
        before, and before work that is queued afterwards. On return, arrays on the GPU may be incomplete,
        unless libspmm had to wait ("STREAMS AND GRAPHS" in man 3 spmm says when). None: on one rank products
        of contiguous tensors of PyTorch run in its current stream, and of arrays of CuPy in the default
        stream if that is the current one; other products are complete on return.
    The other keywords are options of the program, with the same words (spmm_mpi --help, man spmm_mpi); 0
    means the default. They must be the same on all ranks, except threads, the number of OpenMP threads of
    this rank.

    Collective over comm: if an argument is wrong on any rank, all ranks raise the same exception. Raises
    TypeError or ValueError for a wrong argument; Error if libspmm refuses or fails (its status says why:
    MEMORY, NO_DEVICE, ..), or if it is not found.

    Close a plan by close(), collectively, or use it as a context manager: `with Plan(...) as plan`. After an
    exception, the context manager does not close the plan, because the other ranks may be elsewhere in the
    program. A plan of one rank is also closed when nothing refers to it any more. A plan of several ranks that
    is never closed keeps its memory until the process ends, which then says so.

    Threads take turns: each call waits for the calls of other threads to the same plan and, on a GPU, to any
    plan on the GPU. With several ranks, the program must make sure that all ranks make the same calls in the
    same order; taking turns does not ensure that.
    """

    # X @ plan and plan * X are no products: NumPy must not treat the plan as an element of an array
    __array_ufunc__ = None

    def __init__(self, comm, A=ABSENT, k=None, *, rows="root", grid=None, device="cpu", format="auto", kernel="auto", threads=0,
                 exchange="auto", transport="auto", reduce="auto", no_overlap=False, column_blocks=0, reproducible="on",
                 plan="timed", block_size=0, subwarp=0, ell_limit=0, products=0, stream=None, exchange_precision="f64",
                 cut=None):
        self._products, self._made_for, self._block, self._closed, self._quick, self._end = {}, [], None, True, None, None
        self._cut, self._stages, self._left, self._results = None, [], 0, arrays.Results()
        self._uploaded = False  # whether a matrix in host memory was copied to the GPU
        self._at_once = False  # whether products are computed without an spmm_plan
        self._version = 0  # of the values: counts what may have changed them
        self._taken = None  # the values that the plan has of a tensor (spmm_mpi.torch)
        close_dropped()
        comm, A = comm_and_matrix(comm, A)
        if rows == "root" and comm.size == 1 and (cut is None or gpu_matrix.is_on_gpu(A)):
            rows = "distributed"  # the only rank has all rows; none must be sent
            if isinstance(cut, str) and cut in c.WORDS["cut"]:
                cut = None  # one rank moves no rows
        given = {"device": device, "format": format, "kernel": kernel, "threads": threads, "exchange": exchange,
                 "transport": transport, "reduce": reduce, "no_overlap": no_overlap, "column_blocks": column_blocks,
                 "reproducible": reproducible, "plan": plan, "block_size": block_size, "subwarp": subwarp,
                 "ell_limit": ell_limit, "products": products, "stream": stream,
                 "exchange_precision": exchange_precision, "cut": cut}
        found, error = attempt(self._examine, comm, A, k, rows, grid, given)
        mine, facts = found or (None, None)
        said = agree(comm, error, facts)
        check_alike([fact["alike"] for fact in said], ("rows", "grid", "cut", "k", "device", "A.dtype", "the number of columns of A",
                                                       "whether a GPU is open"))
        on_gpu = self._options.device == c.CUDA
        self._lock = c.gpu_lock if on_gpu else threading.RLock()
        with self._lock:
            self._make(comm, A, mine, said, rows, device)
        if on_gpu and self._options.device == c.CPU:
            self._lock = threading.RLock()
        self._last = next(iter(self._products), None)
        self._number, self._type = next(numbers), self._dtype.name
        self._y_size, self._x_size = self._own_y_rows(None), self._rows(0, None)
        numbered[self._number] = self
        # most operands need no full examination: see Usual
        self._quick = self._takes_usual()

    def _make(self, comm, A, mine, said, rows, device):
        """Makes the block, and products for each K that was passed to the constructor. Collective."""
        self._rank = comm.rank
        with duplicating if comm.size == 1 else c.no_lock:
            self._comm = comm.Dup()
        try:
            self._open(device)
            if not self._columns:  # else the products of these K are set up at once
                _, error = attempt(self._try_options)
                agree(self._comm, error)
            if self._cut_by is not None:
                self._cut = matrix.RankCut()
                self._cut.create(self._comm, mine, self._cut_by, max(self._columns, default=8), self._options)
                _, error = attempt(self._cut.take)
                agree(self._comm, error)
            if self._uploaded:
                mine = self._upload(mine, A)
            self._block = (matrix.RankBlock.of_rows(comm, mine, [fact["rows"] for fact in said]) if rows == "distributed"
                           else matrix.RankBlock.scattered(self._comm, mine, self._grid, self._cut))
            self._describe(rows)
            self._closed = False
            # (with other kernels a GPU's sums of float32 have other bits)
            if self._by_stages and (self._options.device == c.CPU or self._dtype == np.float64):
                self._stages = list(STAGES if self._options.device == c.CPU else STAGES_ON_GPU)
                self._next_stage()
                # (in a format that the caller asked for, products need a plan)
                self._at_once = self._options.device == c.CPU and not self._options.format and c.loaded().spmm_rows_apply is not None
            # the greatest one first: its plan serves the others
            for one in sorted(self._columns, reverse=True):
                self._products[one] = Product(self, one, self._plan_for(one))
            for one in self._columns:
                self._products[one] = self._products.pop(one)  # in the order of the caller
            if self._columns:
                self._products[self._columns[0]].use()
        except BaseException:
            self._release()
            raise

    def _takes_usual(self):
        """Returns the function that finds K of an array that Usual may accept."""
        return columns_in if self._options.device == c.CPU else columns_on_gpu

    # ---- set-up ----

    def _examine(self, comm, A, k, rows, grid, given):
        """Checks the arguments as far as this rank can alone. Returns the matrix (with rows="distributed"
        this rank's rows, else the whole matrix on rank 0), and the facts that the ranks exchange. Local."""
        c.loaded()
        if rows not in ("root", "distributed"):
            raise ValueError(f"rows is {rows!r}, expected root or distributed")
        self._columns, self._only = columns_of(k)
        self._options, self._study = options_of(given), study_of(given)
        # Not with several ranks, where each array of x_zeros() belongs to one spmm_plan. Not in a caller's
        # stream, where a captured graph uses the memory of one spmm_plan.
        self._by_stages = (comm.size == 1 and not self._columns and not self._options.products and not self._options.kernel
                           and not self._study.quick_plan and self._options.stream is None)
        self._grid = grid_of(grid, rows, comm.size)
        self._cut_by = None if given["cut"] is None else word("cut", given["cut"])
        if self._cut_by is not None and (rows != "root" or self._grid[1] != 1):
            raise ValueError(f'cut is {given["cut"]!r}, expected None with rows="distributed" and with grids of several columns')
        mine = None
        if gpu_matrix.is_on_gpu(A):
            mine = self._on_gpu(A, rows)
        elif rows == "distributed":
            # (on a GPU the matrix is copied there, and its indices are checked there)
            self._uploaded = (self._by_stages and self._options.device == c.CUDA and not isinstance(A, matrix.Entries) and
                              c.loaded().spmm_csr_upload is not None)
            mine = matrix.entries(A, copy=not self._uploaded, check=not self._uploaded)
        elif comm.rank == 0:
            mine = matrix.entries(A, copy=False)
        elif A is not None:
            raise TypeError(f'A is a {type(A).__name__}, expected None: only rank 0 passes the matrix, except with rows="distributed"')
        of_all = (str(mine.dtype), mine.shape[1]) if rows == "distributed" else (None, None)
        open_gpu = c.gpu_is_open if self._options.device == c.CUDA else None
        return mine, {"rows": mine.shape[0] if mine else 0,
                      "alike": (rows, self._grid, given["cut"], (self._columns, self._only), given["device"], *of_all, open_gpu)}

    def _on_gpu(self, A, rows):
        """Returns this rank's rows of a matrix in GPU memory. Local."""
        if rows == "root":
            raise TypeError('A is in GPU memory, and rank 0 sends only matrices in host memory: pass A.get() (CuPy) or A.cpu() (torch), '
                            'or pass the rows of each rank with rows="distributed"')
        if self._options.device != c.CUDA:
            raise TypeError('A is in GPU memory, but the plan computes on the CPU: make it with Plan(..., device="cuda")')
        return gpu_matrix.entries(A)

    def _open(self, device):
        """Opens a GPU for this rank, if one is requested and none is open. Collective."""
        if self._options.device == c.CUDA and not c.gpu_is_open:
            try:
                c.device_open(self._comm)
            except c.Error as error:
                if device != "auto" or error.status != c.Status.NO_DEVICE:
                    raise
                self._options.device, self._options.stream = c.CPU, None

    def _upload(self, mine, A):
        """Returns the only rank's matrix on the GPU, as far as it can be used as it is there; else in host
        memory."""
        if self._options.device == c.CUDA and mine.dtype == np.float64:
            try:
                return gpu_matrix.Uploaded(mine)
            except c.Error as error:
                if error.status != c.Status.USAGE:
                    raise
        self._uploaded = False
        return matrix.entries(A, copy=True)

    def _try_options(self):
        """Makes a plan of a matrix with one entry, so that wrong options are refused now and not by the first
        product. Local."""
        if not (self._options.kernel or self._options.threads or self._options.format or self._options.transport):
            return
        options, one = c.Options.from_buffer_copy(self._options), np.ones(1, np.float64)
        options.products, options.column_blocks, options.stream = 1, 0, None
        options.reduce = options.exchange = 0  # of several ranks
        entry = matrix.Entries((1, 1), np.array([0, 1]), np.zeros(1, np.int32), one)
        block = c.Block(entry.csr(), 1, 1, 0, 0, 0, 1, 1, 1, 0)
        handle, lib = ctypes.c_void_p(), c.loaded()
        with duplicating:
            status = lib.spmm_plan_create_extended(c.comm_handle(world.own()), ctypes.byref(block), 1, ctypes.byref(options),
                                                   ctypes.byref(self._study), ctypes.byref(handle))
        lib.check(status)
        lib.spmm_plan_destroy(handle)

    def _describe(self, rows):
        block = self._block.struct
        self._shape, self._dtype = (block.rows, block.cols), self._block.dtype
        self._x_range = slice(block.x_begin, block.x_begin + block.x_rows)
        self._block_rows = slice(block.row_begin, block.row_begin + block.csr.rows)
        self._distributed = rows == "distributed"
        self._entries = block.csr.nnz  # of this rank
        self._said, self._max = np.zeros((2, 3), np.int64), world.maximum()

    def _handle(self):
        return c.comm_handle(self._comm)

    def _own_y_rows(self, product):
        """Returns the number of this rank's rows of Y: 0, except on the first rank of a process row or, with
        the butterfly, on all its ranks."""
        if self._rank % self._grid[1] == 0 or self._options.reduce == c.WORDS["reduce"]["butterfly"]:
            return self._block_rows.stop - self._block_rows.start
        return product.create(1).shape[0] if product else 0

    def _rows(self, side, product):
        """Returns the number of this rank's rows of X (side 0) or of Y (side 1)."""
        if side == 0:
            return self._x_range.stop - self._x_range.start
        return product.y_rows if product else self._own_y_rows(None)

    # ---- properties ----

    @property
    def shape(self):
        """(m, n), rows and columns of the whole A."""
        return self._shape

    @property
    def dtype(self):
        """The element type of A, X and Y: float64, float32, complex128 or complex64."""
        return self._dtype

    @property
    def comm(self):
        """The plan's communicator (mpi4py), a duplicate of the one passed to the constructor."""
        return self._comm

    @property
    def x_range(self):
        """The rows of X that this rank has, as a slice: X_whole[plan.x_range] are this rank's rows. Raises
        Error if `cut` has renumbered the rows."""
        self._check_numbers("x_range")
        return self._x_range

    @property
    def row_numbers(self):
        """The caller's numbers of this rank's rows of X, an array [x rows]: X_whole[plan.row_numbers] are
        this rank's rows. They are the numbers of x_range, unless `cut` has renumbered the rows."""
        return np.arange(self._x_range.start, self._x_range.stop) if self._cut is None else self._cut.rows.copy()

    @property
    def cut(self):
        """The cut, and the number of rows of X that a product moves with it: a named tuple (by, moved,
        moved_by_entries, seconds, why). None if the plan was made without `cut`."""
        return self._cut and self._cut.facts

    @property
    def y_range(self):
        """The rows of Y that this rank has, as a slice: equal to x_range if the grid is P x 1 and A is
        square. Raises Error like x_range."""
        self._check_numbers("y_range")
        return self._y_slice()

    def _check_numbers(self, name):
        if self._cut is not None and self._cut.facts.by in ("layout", "graph"):
            raise c.Error(f"{name}: the plan's cut has renumbered the rows: plan.row_numbers lists the rows of this rank", c.Status.USAGE)

    @serialized
    def _y_slice(self):
        """Returns the rows of Y that this rank has, in the new numbering if `cut` has renumbered them."""
        begin = self._block_rows.start
        return slice(begin, begin + self._rows(1, self._products.get(self._last)))

    @property
    @serialized
    def kernels(self):
        """The kernels, for each K that was used: K -> name, as of its last use."""
        return {k: product.kernel for k, product in self._products.items()}

    @property
    def kernel(self):
        """The name of the kernel for the K that was used last; None: no K was used yet."""
        return self.kernels.get(self._last)

    @property
    def device(self):
        """Where the plan computes: cpu or cuda."""
        return "cuda" if self._options.device == c.CUDA else "cpu"

    @serialized
    def block(self):
        """Returns a copy of this rank's entries: a scipy.sparse.csr_matrix [rows of the block, columns of the
        block]. On P x 1 grids these are the rows y_range of A. If `cut` has renumbered the rows, they are the
        rows row_numbers of the caller's A, and the columns have the new numbers, in any order within a row.
        update_values() expects values in the order of its `data`."""
        import scipy.sparse
        self._check_open()
        here = self._block.on_host()
        return scipy.sparse.csr_matrix((here.data.copy(), here.indices.copy(), here.indptr.copy()), shape=here.shape)

    @serialized
    def view(self):
        """Returns a text on rank 0 that describes the plan of the K that was used last; "" on other ranks.
        Collective. Raises Error if no K was used yet, or if libspmm lacks spmm_plan_view_text."""
        self._check_open()
        product = self._products.get(self._last)
        if product is None:
            raise c.Error("the plan has no product yet: call prepare(k) first")
        function = product.lib.need("spmm_plan_view_text")
        self._planned()
        product.use()
        text, status = c.written(lambda text: function(product.handle, text))
        product.lib.check(status)
        return text

    @serialized
    def diagonal(self):
        """Returns this rank's part, rows y_range, of the diagonal of a square A: an array of NumPy [y rows]
        of the plan's dtype in host memory, 0 where A has no entry. Collective. Raises Error if A is not
        square, no K was used yet, a product has begun, or libspmm lacks spmm_plan_diagonal."""
        self._check_idle()
        product = self._products.get(self._last)
        if product is None:
            raise c.Error("the plan has no product yet: call prepare(k) first")
        self._planned()
        found = np.empty(self._rows(1, product), self._dtype)
        struct = c.Multivector(len(found), 1, 1, product.precision, c.CPU, found.ctypes.data, 0, 0)
        product.lib.check(product.lib.need("spmm_plan_diagonal")(product.handle, ctypes.byref(struct)))
        return found

    def __repr__(self):
        if self._closed:
            return "<spmm_mpi.Plan, closed>"
        return f"<spmm_mpi.Plan of {self.shape[0]} x {self.shape[1]} {self.dtype} on {self.device}, K: {list(self._products)}>"

    def __reduce__(self):
        raise TypeError("a plan cannot be copied or pickled: it belongs to its communicator")

    # ---- multivectors ----

    @serialized
    def prepare(self, k):
        """Sets up products of k columns, if not done yet, for many products. Collective. Raises ValueError if
        k differs between ranks, or if the plan was made for another K only; Error if a product has begun."""
        self._check_idle()
        k, error = attempt(whole_number, "k", k, 1, MOST_K)
        check_alike([(k,) for k in agree(self._comm, error, k)], ("k",))
        if self._stages:
            self._options.products, self._stages, self._at_once = self._stages[-1], [], False
            if self._made_for and self._made_for[0].most >= k:  # (else _product() makes it again)
                self._make_plan(self._made_for[0].most)
        self._product(k)

    def x_zeros(self, k=None):
        """Returns this rank's rows of X [x rows, K], zeroed, in memory of libspmm with room for other ranks'
        rows: a product needs no copy of such an X. The result is an array of NumPy that may have gaps between
        rows (see its strides), or, with device="cuda", a DeviceArray. Local.

        k: required if products of several K have been set up. Raises ValueError if products of that K have
        not been set up (prepare() does it). If Y is distributed like X, such an array can also be `out`, so
        that X and Y can be swapped."""
        return self._zeros(k, 0)

    def y_zeros(self, k=None):
        """Returns this rank's rows of Y [y rows, K], zeroed, in memory of libspmm; else like x_zeros()."""
        return self._zeros(k, 1)

    @serialized
    def _zeros(self, k, side):
        self._check_open()
        if k is None and len(self._products) == 1:
            k = next(iter(self._products))
        if k not in self._products:
            if self._only and k is not None:
                self._check_k(k, f"k is {k}")
            made = f"products of {list(self._products)} columns are set up" if self._products else "no products are set up"
            raise ValueError(f"k is {k}, and {made}: {'call prepare(k) first' if k or not self._products else 'pass one of these k'}")
        return self._products[k].create(side).array()

    # ---- products ----

    def __matmul__(self, X):
        """Returns Y = A X, this rank's rows [y rows, K], or [y rows] if X is a vector, as an array of the
        kind of X.

        X: this rank's rows [x rows, K], of the plan's dtype, or, if that is float64, of a type that NumPy
        converts to it, which takes a copy: an array of NumPy or, with device="cuda", also
        of CuPy or PyTorch, which is used on the GPU. Every layout of a NumPy array is accepted; apply() says
        which are copied. A result of 128 KiB or more in host memory is a view of memory that the plan keeps (of
        its last two of that size, until close()), and uses again when no array refers to it.
        Collective. Raises TypeError or ValueError if X is wrong; ranks that wait for this one then raise
        Error. Raises Error if libspmm fails."""
        return self._new_product(NO_TRANSPOSE, X)

    @serialized
    def _new_product(self, operation, X):
        """Returns op(A) X, as an array of the kind of X."""
        k, here = self._quick and self._quick(X), operation == NO_TRANSPOSE
        product = k and (self._usual_product(k, X) if here else self._usual_transposed(operation, k))
        if product:
            sides = (0, 1) if here else (1, 0)
            source = product.usual[sides[0], False].take(X, False)
            if source is not None:
                if not self._only:
                    self._agree_on_k(product.k, None)
                if self._stages:
                    self._count()
                out, target = product.usual[sides[1], True].fresh(X)
                return product.quick(source, target, 1.0, 0.0, out, sides[0])
        return self._multiply(operation, X, None, 1, 0)

    def _usual_transposed(self, operation, k):
        """Returns the Product of K columns for a product with A^T; None: it has to be made, A^H is complex, or
        libspmm lacks such products."""
        product = self._products.get(k)
        if product is None or product.made.handle is None or operation != TRANSPOSE and self._dtype.kind == "c":
            return None
        if c.loaded().spmm_apply_transposed is None:
            return None
        return product

    def _usual_product(self, k, X):
        """Returns the Product of the K columns of X; K = 0: X is no usual array. None: there is none yet, and
        either X may be wrong, or the ranks must agree first."""
        product = self._products.get(k)
        if (product is None and 0 < k <= MOST_K and self._comm.size == 1 and not self._only and len(X.shape) in (1, 2) and
                X.shape[0] == self._x_range.stop and str(X.dtype).endswith(self._dtype.name)):
            product = self._product(k)
        return product

    def __rmatmul__(self, X):
        """Returns X A, [K, x rows] or [x rows], computed as (plan.T @ X.T).T. X: [K, this rank's y rows]."""
        return turned(self.T @ turned(X))

    @serialized
    def apply(self, X, *, out, alpha=1.0, beta=0.0):
        """Computes out := alpha A X + beta out, and returns out; allocates nothing from the second call on.

        X, out: as for `plan @ X`; out is like its result. They must not overlap. alpha, beta: real numbers.
        With beta = 0, out is not read; with alpha = 0, it becomes exactly beta out, whatever A and X contain.

        X in host memory is used in place if the elements of each row are consecutive (C order, or some
        columns of such an array). libspmm converts an X whose columns are consecutive elements (F order). Any
        other X is copied. With more than one rank, libspmm copies each X that x_zeros() did not make. out is
        written in place if it is contiguous or made by y_zeros(); libspmm also writes F order. Any other out
        is written through a copy.

        On a GPU, arrays of NumPy are copied to the GPU and back. Other arrays must have consecutive elements
        in each row (out must be contiguous) or in each column. The stream of the product is as described for
        Plan. If it is libspmm's own, work that was queued before, in PyTorch's current stream or in the
        stream that the array names, is waited for first.

        Collective. Raises TypeError and ValueError as `plan @ X` does, Error if libspmm fails on this or
        another rank."""
        product = self._quick and self._usual_product(self._quick(X), X)
        if product and type(alpha) is float and type(beta) is float:
            source, target = product.usual[0, False].take(X, False), product.usual[1, True].take(out, True)
            if source is not None and target is not None and type(X) is type(out) and X.ndim == out.ndim:
                if not self._only:
                    self._agree_on_k(product.k, None)
                if self._stages:
                    self._count()
                return product.quick(source, target, alpha, beta, out)
        return self._multiply(NO_TRANSPOSE, X, (out,), alpha, beta)

    @property
    def T(self):
        """The transposed matrix: plan.T @ Y, plan.T.apply(Y, out=X)."""
        return Transposed(self, TRANSPOSE)

    @property
    def H(self):
        """The conjugate transpose, which is plan.T if A is real: plan.H @ Y, plan.H.apply(Y, out=X)."""
        return Transposed(self, CONJUGATE_TRANSPOSE)

    @serialized
    def apply_transposed(self, X, *, out, alpha=1.0, beta=0.0):
        """Computes out := alpha A^T X + beta out, and returns out. X is distributed like the Y of apply(), [y
        rows, K], out like its X, [x rows, K]. Otherwise like apply(). Raises Error on every rank if libspmm
        lacks spmm_apply_transposed."""
        return self._multiply(TRANSPOSE, X, (out,), alpha, beta)

    @serialized
    def _values_gradient(self, G, X):
        """Returns the sums over c of G[i, c] X[j, c] for the entries (i, j) of this rank, [entries], in the order
        of block().data: the gradient of the values, if G [y rows, K] is that of A X. G, X: contiguous arrays of
        NumPy or, with device="cuda", tensors on the GPU, of the plan's dtype and of the same K. Collective."""
        self._check_idle()
        function = c.loaded().need("spmm_plan_values_gradient")
        self._planned()
        k = X.shape[1] if X.ndim == 2 else 1
        self._agree_on_k(k, None)
        return self._product(k).values_gradient(function, G, X, self._entries)

    @serialized
    def begin(self, X, *, out, alpha=1.0, beta=0.0):
        """Begins out := alpha A X + beta out, and returns while rows of X may still be in transit and a GPU
        may still compute. end() completes the product; until then X and out must not be changed. A plan can
        have one such product at a time. Otherwise like apply(): collective, and without k the ranks agree on
        K here. Raises Error if libspmm lacks spmm_apply_begin, or if a product has begun."""
        self._check_idle()
        begin = c.loaded().need("spmm_apply_begin")
        self._planned()
        product, x, y, alpha, beta = self._examined(begin, (0, 1), X, (out,), alpha, beta)
        self._end = product.begin(x, y, alpha, beta)
        self._quick = None  # so that products call _check_idle()

    @serialized
    def end(self):
        """Completes the product that begin() began, and returns its out. Collective. Raises Error if none has
        begun, or if libspmm fails on this or another rank."""
        self._check_open()
        if self._end is None:
            raise c.Error("no product of the plan has begun: call begin() first", c.Status.USAGE)
        end, self._end = self._end, None
        self._quick = self._takes_usual()
        return end()

    def _check_idle(self):
        self._check_open()
        if self._end is not None:
            raise c.Error("a product of the plan has begun: call end() first", c.Status.USAGE)

    @serialized
    def _multiply(self, operation, X, out, alpha, beta):
        """out: a tuple of one array; None: a new array is made."""
        self._check_idle()
        if self._dtype.kind != "c":
            reals = arrays.as_reals(X if out is not None else (X := arrays.contiguous(X)), self._dtype)
            target = out and arrays.as_reals(out[0], self._dtype)
            fits = reals is not None and (not self._only or reals.shape[1] == self._last)
            if fits and (out is None or target is not None):
                y = self._multiply(operation, reals, out and (target,), alpha, beta)
                return out[0] if out else arrays.as_complex(y, X)
        sides = (1, 0) if operation else (0, 1)
        function = self._function(operation, alpha, beta)
        product, x, y, alpha, beta = self._examined(function, sides, X, out, alpha, beta)
        product.run(function, x, y, sides, alpha, beta)
        return y.like

    def _function(self, operation, alpha, beta):
        """Returns the function of libspmm for a product with these factors."""
        lib = c.loaded()
        if self._dtype.kind == "c" and (operation == CONJUGATE_TRANSPOSE or is_complex(alpha) or is_complex(beta)):
            self._planned()
            call = lib.need("spmm_apply_complex")
            return lambda plan, alpha, x, beta, y: call(plan, operation, complex_of(alpha), x, complex_of(beta), y)
        if operation == NO_TRANSPOSE:
            return lib.spmm_apply
        self._planned()
        return lib.need("spmm_apply_transposed")

    def _factors(self, function, alpha, beta):
        number = complex_number if self._dtype.kind == "c" and function is not c.loaded().spmm_apply_begin else real_number
        return number("alpha", alpha), number("beta", beta)

    def _examined(self, function, sides, X, out, alpha, beta):
        """Returns the Product for X, and the operands and factors for a call of function. If an argument is
        wrong, notifies the ranks that wait for this one."""
        if self._only:
            product = self._products[self._last]
            try:
                x, y = self._operands(product, sides, X, out)
                alpha, beta = self._factors(function, alpha, beta)
                if y is None:
                    y = self._made(product, x, sides[1])
            except BaseException:
                product.tell(function)
                raise
            return product, x, y, alpha, beta
        return self._agreed(function, sides, X, out, alpha, beta)

    def _operands(self, product, sides, X, out):
        """Returns X and out as Operands; None in place of an out that is yet to be made. product: the Product
        of the only K, or None."""
        space = self._options.device
        x = arrays.examine(arrays.widened(X, self._dtype), "X", self._rows(sides[0], product), self._dtype, space)
        if product is not None:
            self._check_k(x.k)
        if out is None:
            return x, None
        product = product or self._products.get(x.k)
        y = arrays.examine(out[0], "out", self._rows(sides[1], product), self._dtype, space)
        arrays.check_out(y, out[0], self._rows(sides[1], product), x.k, x.vector)
        return x, y

    def _made(self, product, x, side):
        rows = self._rows(side, product)
        shape = (rows,) if x.vector else (rows, x.k)
        made = arrays.empty(x, shape, self._dtype, lambda: product.result(side), self._results)
        operand = arrays.examine(made, "out", rows, self._dtype, self._options.device)
        operand.made = True
        return operand

    def _agreed(self, function, sides, X, out, alpha, beta):
        """Like _examined(), for a plan of any K: the ranks first agree on K. If an argument is wrong on any
        rank, all raise."""
        def examined():
            return (*self._operands(None, sides, X, out), *self._factors(function, alpha, beta))
        found, error = attempt(examined)
        self._agree_on_k(found[0].k if found else 0, error)
        x, y, alpha, beta = found
        if self._stages:
            self._count()
        product = self._product(x.k)
        if y is None:
            y, error = attempt(self._made, product, x, sides[1])
            if error is not None:
                product.tell(function)
                raise error
        return product, x, y, alpha, beta

    def _agree_on_k(self, k, error):
        """Raises this rank's error, else Error if another rank has one, else ValueError if K differs between
        ranks. Collective."""
        if self._comm.size == 1:
            if error is not None:
                raise error
            return
        mine, all_of = self._said
        mine[:] = (k, -k, 0) if error is None else (0, -MOST_K - 1, 1)
        self._comm.Allreduce(mine, all_of, op=self._max)
        if error is not None:
            raise error
        if all_of[2]:
            raise c.Error("another rank was given a wrong X, out, alpha or beta: its exception names the argument")
        if all_of[0] != -all_of[1]:
            raise ValueError(f"X has {k} columns on this rank and {-all_of[1]} to {all_of[0]} over all ranks, expected the "
                             f"same number on all ranks")

    def _check_k(self, k, what=None):
        if k != self._last:
            what = what or f"X has {k} column{'s' * (k != 1)}"
            raise ValueError(f"{what}, and the plan was made for k = {self._last}: Plan(comm, A), without k, takes any number of columns")

    def _product(self, k):
        """Returns the Product of K columns, made if necessary. Collective if it is made."""
        if k not in self._products:
            if self._only:
                self._check_k(k, f"k is {k}")
            self._products[k] = Product(self, k, self._plan_for(k))
        self._products[k].use()
        self._last = k
        return self._products[k]

    def _plan_for(self, k):
        """Returns a Made for at least K columns. If there is none, makes one, which replaces that for fewer
        columns. Collective."""
        if not self._made_for or self._made_for[0].most < k:
            first = not self._made_for or self._options.column_blocks > 1
            self._make_plan(max(k, 1) if first else 1 << (k - 1).bit_length())
        return self._made_for[0]

    def _make_plan(self, most):
        """Makes the spmm_plan, and destroys the one that it replaces, if any. Collective."""
        made = (AtOnce if self._at_once else Made)(self, most)
        old, self._made_for = self._made_for, [made]  # (first: an interrupt must not leave a freed one there)
        for product in self._products.values():
            product.move(made)
        for one in old:
            one.destroy()

    def _next_stage(self):
        """Sets the expected number of products to the next of the stages, and makes the spmm_plan, if there is
        one, again for it. Raises Error, with the old spmm_plan in place, if that fails."""
        self._options.products = self._stages.pop(0)
        self._left = self._options.products
        self._made_again()

    def _made_again(self):
        """Makes the spmm_plan again, if there is one, or makes it if the products so far were at once."""
        self._at_once = False
        if self._made_for:
            self._make_plan(self._made_for[0].most)

    def _planned(self):
        """Makes the spmm_plan for a call that needs one."""
        if self._at_once:
            self._made_again()

    def _count(self):
        """Counts a product. After as many as the spmm_plan was made for, begins the next stage."""
        if self._left == 0:
            try:
                self._next_stage()
            except c.Error:  # no memory for two plans: the old one stays
                self._stages.clear()
        self._left -= 1

    # ---- for solvers of SciPy ----

    def operator(self, *others):
        """Returns a context manager whose value is a scipy.sparse.linalg.LinearOperator on rank 0 and None on
        the other ranks. All ranks compute its products. Its vectors are whole, on rank 0, which sends rows to
        the other ranks and receives the results.

            with plan.operator() as op:
                if op is not None:  # rank 0
                    values, vectors = scipy.sparse.linalg.eigsh(op, 4)

        The other ranks wait for products as they enter the with statement, until rank 0 leaves its body. If
        rank 0 leaves it by an exception, they raise Error. An exception on any rank in a product is raised on
        all ranks, and ends the operator. matvec, matmat, rmatvec and rmatmat (with A^H) accept and return arrays
        of NumPy, converted to the plan's dtype; a real A multiplies real and imaginary parts of complex arrays
        separately. A plan made for one k accepts only that number of columns.

        others: more plans on the same ranks, for use at the same time (eigsh(A, M=B), a preconditioner). The
        context manager's value is then a tuple with an operator, or None, for each plan. Collective. Raises
        TypeError on a rank that passes anything but plans."""
        from ._operator import Serving
        for other in others:
            if not isinstance(other, Plan):
                raise TypeError(f"operator: found a {type(other).__name__} among the other plans, expected a Plan")
        return Serving((self, *others))

    def _alone(self, transposed, x):
        if self._comm.size > 1:
            raise c.Error(f"the plan has {self._comm.size} ranks, but this call is for plans of one rank: use plan.operator()", c.Status.USAGE)
        by = self.H if transposed else self

        def multiply(part):
            if self._cut is None or part.shape[:1] != self._shape[:1]:  # `by @ part` refuses a wrong x
                return by @ part
            y = np.empty_like(part)
            y[self._cut.rows] = by @ part[self._cut.rows]
            return y
        return arrays.by_parts(multiply, x, self._dtype)

    def matvec(self, x):
        """Returns A x, if the plan has one rank. Because of this method, matmat(), rmatvec() and rmatmat(),
        scipy.sparse.linalg.aslinearoperator(plan) accepts a plan. x: [n] or [n, 1], converted to the plan's
        dtype. Raises Error if there are several ranks."""
        return self._alone(0, x)

    def matmat(self, X):
        """Returns A X; otherwise like matvec()."""
        return self._alone(0, X)

    def rmatvec(self, x):
        """Returns A^H x, which is A^T x if A is real; otherwise like matvec()."""
        return self._alone(1, x)

    def rmatmat(self, X):
        """Returns A^H X; otherwise like matvec()."""
        return self._alone(1, X)

    # ---- new values ----

    @serialized
    def update_values(self, values):
        """Gives A new values; its pattern stays. Products of every K then use them. Collective.

        values: a matrix as in the constructor, with the same pattern (with rows="root" on rank 0, and None on
        the others); or on each rank an array [entries of the rank] with the values of the rank's own entries,
        in the order of block().data. If an argument is wrong on any rank, every rank raises TypeError or
        ValueError, and no value has changed. Raises Error if libspmm fails, if it lacks
        spmm_plan_update_values, or if a product has begun."""
        self._check_idle()
        update = c.loaded().need("spmm_plan_update_values")
        mine, error = attempt(self._new_values, values)
        kinds = agree(self._comm, error, "values" if self._block.on_gpu or isinstance(mine, np.ndarray) else "matrix")
        if len(set(kinds)) != 1:
            raise ValueError(f"values are an array on some ranks and a matrix or None on others: {', '.join(kinds)}")
        if kinds[0] == "matrix":
            mine = self._scattered_values(mine)
        self._version, self._taken = self._version + 1, None
        for made in self._made_for:
            made.use_stream(None)  # products that are queued may read the block
        self._block.assign(mine)
        for made in self._made_for:
            if made.handle is not None:
                c.loaded().check(update(made.handle))

    @serialized
    def _update_rows(self, rows):
        """Compares the arrays of a Rows with the block, and if the pattern is the same, takes their values.
        Returns whether it is the same; None: unknown, because libspmm lacks spmm_plan_update_rows, or no
        spmm_plan was made yet. Collective."""
        update = c.loaded().spmm_plan_update_rows
        if update is None or not self._made_for or self._made_for[0].handle is None:
            return None
        self._version += 1
        status = update(self._made_for[0].handle, *rows.references)
        if status:
            c.loaded().check(status)
        return rows.same.value == 1

    @serialized
    def _apply_rows(self, rows, X, out):
        """Computes the product with the current values of a Rows, by one call of libspmm: see
        Product.apply_rows(). The plan has one rank."""
        product = self._quick and self._products.get(self._quick(X))
        if not product or product.made.handle is None:
            return None
        if self._stages:
            self._count()
        self._version += 1
        return product.apply_rows(rows, X, out)

    def _new_values(self, values):
        """Returns this rank's new values, or the Entries of rank 0's whole matrix. Local."""
        if self._block.on_gpu and not self._uploaded:
            return self._values_on_gpu(values)
        if isinstance(values, np.ndarray):
            dtype, nnz = self._block.dtype, self._block.struct.csr.nnz
            if values.dtype != dtype:
                raise TypeError(arrays.wrong_type("values", values.dtype, dtype))
            if values.shape != (nnz,):
                raise ValueError(f"values have the shape {list(values.shape)}, expected [{nnz}], one for each entry of "
                                 f"block()")
            return np.array(values)
        if self._distributed:
            return self._same_pattern(matrix.entries(values, copy=False), self._block.on_host()).data
        if self._rank != 0:
            if values is not None:
                raise TypeError(f"values are a {type(values).__name__}, expected None: only rank 0 passes the matrix")
            return None
        whole = matrix.entries(values, copy=False)
        if (whole.shape, whole.dtype) != (self._shape, self._dtype):
            raise ValueError(f"the new matrix is {whole.shape[0]} x {whole.shape[1]} {whole.dtype}, expected {self._shape[0]} x "
                             f"{self._shape[1]} {self._dtype} as before")
        return whole

    def _values_on_gpu(self, values):
        """Returns new values for a matrix in GPU memory. values: an array of NumPy or on the GPU, or a matrix
        on the GPU. Local."""
        here = self._block.held
        if gpu_matrix.is_on_gpu(values):
            return self._same_pattern(gpu_matrix.entries(values, copy=False), here).data
        values = gpu_matrix.like(here.data, values)
        if gpu_matrix.dtype_of(values) != here.dtype:
            raise TypeError(arrays.wrong_type("values", gpu_matrix.dtype_of(values), here.dtype))
        if tuple(values.shape) != tuple(here.data.shape):
            raise ValueError(f"values have the shape {list(values.shape)}, expected [{len(here.data)}], one for each entry of block()")
        return values

    def _scattered_values(self, whole):
        """Returns this rank's part of the new values of a matrix on rank 0. Collective."""
        new = matrix.RankBlock.scattered(self._comm, whole, self._grid, self._cut)
        try:
            mine, error = attempt(self._same_pattern, new.entries(), self._block.entries())
            agree(self._comm, error)
            return mine.data.copy()
        finally:
            new.release()

    def _same_pattern(self, new, old):
        if new.dtype != old.dtype or not new.same_pattern(old):
            raise ValueError("the new matrix has another pattern or dtype than the old one, expected the same: make a new Plan")
        return new

    # ---- the end ----

    def close(self):
        """Frees the plan. Collective; a second call does nothing. After MPI_Finalize, and in a forked
        process, it only frees memory. Arrays of x_zeros() and y_zeros() stay valid."""
        with self._lock if not c.forked else c.no_lock:  # a thread of the parent may hold the lock
            if not self._closed:
                self._release()

    def _release(self):
        self._closed, self._quick, self._end, self._results.kept = True, None, None, []
        for made in self._made_for:
            made.destroy()
        self._made_for.clear()
        for product in self._products.values():
            product.clear()
        self._products.clear()
        if self._block is not None:
            self._block.release()
        if self._cut is not None:
            self._cut.release()
        if c.mpi_runs() and not c.forked:
            self._comm.Free()

    def _check_open(self):
        if self._closed:
            raise ValueError("the plan is closed")

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is None:
            self.close()

    def __del__(self):
        if getattr(self, "_closed", True) or sys.is_finalizing():
            return
        if self._comm.size == 1:
            dropped.append(self)
            close_dropped()
            return
        # freeing the plan is collective, but ranks collect garbage at different times: it stays until the
        # process ends
        if self._rank == 0:
            lost.append(repr(self))
        warnings.warn("a spmm_mpi.Plan of several ranks was not closed: its memory is lost until the process ends; call close() on all ranks", ResourceWarning)


class Transposed:
    """A view of a plan as its transposed matrix, or as its conjugate transpose: see Plan.apply_transposed."""

    __array_ufunc__ = None

    def __init__(self, plan, operation):
        self._plan, self._operation = plan, operation

    @property
    def T(self):
        """The plan, as the transpose of its transpose. Raises TypeError for a complex plan.H."""
        return self._turned(TRANSPOSE)

    @property
    def H(self):
        """The plan, as the conjugate transpose of its conjugate transpose. Raises TypeError for a complex plan.T."""
        return self._turned(CONJUGATE_TRANSPOSE)

    def _turned(self, operation):
        if operation != self._operation and self.dtype.kind == "c":
            raise TypeError("a plan has no product with the conjugate of A alone: use plan, plan.T or plan.H")
        return self._plan

    @property
    def shape(self):
        """(n, m)."""
        return self._plan.shape[::-1]

    @property
    def dtype(self):
        return self._plan.dtype

    def __matmul__(self, X):
        """Returns this rank's rows [x rows, K] of A^T X. X: this rank's rows [y rows, K]. Otherwise like
        `plan @ X`."""
        return self._plan._new_product(self._operation, X)

    def __rmatmul__(self, X):
        """Returns X A^T, computed as (plan @ X.T).T; with plan.H, X A^H, as (plan @ X.T.conj()).conj().T."""
        if self._operation == TRANSPOSE or self.dtype.kind != "c":
            return turned(self._plan @ turned(X))
        return turned((self._plan @ turned(X).conj()).conj())

    def apply(self, X, *, out, alpha=1.0, beta=0.0):
        """See Plan.apply_transposed."""
        return self._plan._multiply(self._operation, X, (out,), alpha, beta)


def complex_of(number):
    return c.Complex(number.real, number.imag)


def turned(x):
    """Returns the transpose of an array of two dimensions; else x."""
    return x.T if getattr(x, "ndim", 0) == 2 else x


def columns_in(x):
    """Returns K of an array of NumPy; 0 for any other x."""
    if type(x) is not np.ndarray:
        return 0
    return x.shape[1] if x.ndim == 2 else 1


def columns_on_gpu(x):
    """Returns K of an array of PyTorch or CuPy; 0 for any other x."""
    if usual_on_gpu(type(x)) is None:
        return 0
    shape = x.shape
    return shape[1] if len(shape) == 2 else 1
