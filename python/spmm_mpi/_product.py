"""Products of one K: how arrays are passed to them, and the spmm_plan that computes them."""
import ctypes
import functools
import sys

import numpy as np

from . import _arrays as arrays
from . import _library as c

# cudaStreamLegacy, the default stream, which replaces the 0 of callers: that would mean no stream. The
# default stream of a thread
LEGACY, PER_THREAD = 1, 2


class Usual:
    """Accepts arrays of NumPy that are rows of X (side 0) or Y (side 1) and need neither a full examination
    nor a copy: contiguous arrays, and those of x_zeros() and y_zeros(). Most work is done in advance, once:
    making an Operand takes ten times as long."""

    def __init__(self, product, side):
        rows = product.rows[side]
        self.dtype, self.shape, self.results = product.dtype, (rows, product.k), product.plan._results
        self.shapes = {self.shape, (rows,)} if product.k == 1 else {self.shape}
        self.struct = product.described(rows, product.k, None, product.space)
        self.reference = ctypes.byref(self.struct)

    def take(self, x, written):
        """Returns the array as an argument for libspmm, valid until the next call; None if the array is
        unusual or wrong."""
        if type(x) is not np.ndarray or x.dtype is not self.dtype or x.shape not in self.shapes:
            return None
        memory = x.base
        if (type(memory) is arrays.HostMemory and x.strides == memory.strides and x.shape == memory.shape and
                (not written or x.flags.writeable)):
            return memory.reference
        flags = x.flags
        if not (flags.c_contiguous and flags.aligned) or written and not flags.writeable:
            return None
        self.struct.data = arrays.address_of(x)
        return self.reference

    def fresh(self, like):
        """Returns (a new array for the result, of the kind of `like`, the array as an argument for libspmm)."""
        made = self.results.empty(self.shape[:1] + like.shape[1:], self.dtype)
        return made, self.take(made, True)

    def wait(self):
        """Waits for work that was queued for the array: none, in host memory."""


class Torch:
    """Contiguous tensors of PyTorch. Reading __cuda_array_interface__ would take longer than all checks
    here."""

    def __init__(self, dtype):
        self.torch = sys.modules["torch"]
        # (torch.cuda.current_stream() takes as long as all else here)
        self.raw_stream = getattr(self.torch._C, "_cuda_getCurrentRawStream", self.stream_number)
        self.dtype = next(theirs for theirs, numpy in arrays.torch_types().items() if numpy == dtype)

    def address(self, x, shapes, gpu):
        if (x.dtype is not self.dtype or x.shape not in shapes or x.requires_grad or x.layout is not self.torch.strided or
                x.get_device() != gpu or not x.is_contiguous() or x.is_neg()):
            return None
        return x.data_ptr()

    def pointer(self, x):
        return x.data_ptr()

    def empty(self, shape, like):
        return like.new_empty(shape)

    def stream_number(self, gpu):
        return self.torch.cuda.current_stream(gpu).cuda_stream

    def wait(self, gpu):
        self.torch.cuda.current_stream(gpu).synchronize()

    def stream(self, gpu):
        """Returns the current stream as the number of a cudaStream_t; None: it may be destroyed before the
        products in it are complete."""
        return self.raw_stream(gpu) or LEGACY  # PyTorch never destroys one


class Cupy:
    """Like Torch, for arrays of CuPy."""

    def __init__(self, dtype):
        self.cupy, self.dtype = sys.modules["cupy"], dtype

    def address(self, x, shapes, gpu):
        memory = x.data
        if x.dtype != self.dtype or x.shape not in shapes or memory.device_id != gpu or not x.flags.c_contiguous:
            return None
        return memory.ptr

    def pointer(self, x):
        return x.data.ptr

    def empty(self, shape, like):
        if like.data.device_id == self.cupy.cuda.device.get_device_id():  # (entering a device takes longer)
            return self.cupy.ndarray(shape, self.dtype)
        with like.device:
            return self.cupy.ndarray(shape, self.dtype)

    def wait(self, gpu):
        self.cupy.cuda.get_current_stream().synchronize()

    def stream(self, gpu):
        found = self.cupy.cuda.get_current_stream().ptr or LEGACY
        return found if found in (LEGACY, PER_THREAD) else None


USUAL_ON_GPU = {("torch", "Tensor"): Torch, ("cupy", "ndarray"): Cupy}


@functools.cache
def usual_on_gpu(kind):
    """Returns the class Torch or Cupy for an array type of PyTorch or CuPy; None for any other type."""
    return USUAL_ON_GPU.get((kind.__module__.partition(".")[0], kind.__name__))


class UsualOnGpu(Usual):
    """Like Usual, for contiguous arrays of PyTorch and CuPy on the GPU that libspmm has opened."""

    def __init__(self, product, side):
        super().__init__(product, side)
        self.in_stream = bool(product.plan._options.stream)
        self.made = lambda: product.made
        self.kinds, self.kind, self.gpu = {}, None, None  # set when the first array is passed

    def kind_of(self, x):
        """Returns the Torch or Cupy for x; None if x is an array of neither."""
        found = type(x)
        try:
            return self.kinds[found]
        except KeyError:
            usual = usual_on_gpu(found)
            self.kinds[found] = usual and usual(self.dtype)
            self.gpu = arrays.opened_gpu()
            return self.kinds[found]

    def take(self, x, written):
        self.kind = self.kind_of(x)
        address = None if self.kind is None else self.kind.address(x, self.shapes, self.gpu)
        if address is None:
            return None
        self.struct.data = address or None  # 0: x has no rows
        return self.reference

    def fresh(self, like):
        kind = self.kind_of(like)
        made = kind.empty(self.shape if like.ndim == 2 else self.shape[:1], like)
        self.struct.data = kind.pointer(made) or None
        return made, self.reference

    def wait(self):
        """Makes the product run in the current stream of the library of the arrays, or waits for that stream."""
        if self.in_stream:
            return
        if not self.made().use_stream(self.kind.stream(self.gpu)):
            self.kind.wait(self.gpu)


class Made:
    """An spmm_plan for at most `most` columns. `k`: the current number of columns of its products."""

    def __init__(self, plan, most):
        self.lib, self.most, self.k = c.loaded(), most, most
        self.handle = ctypes.c_void_p()
        self.stream = None  # the stream of use_stream()
        self.settable = self.lib.spmm_plan_set_stream is not None and plan._comm.size == 1
        self.lib.check(self.lib.spmm_plan_create_extended(plan._handle(), ctypes.byref(plan._block.struct), most,
                                                          ctypes.byref(plan._options), ctypes.byref(plan._study),
                                                          ctypes.byref(self.handle)))

    def use(self, k):
        """Sets the number of columns of products to k. Collective."""
        if self.k != k:
            self.k = None  # stays None if spmm_plan_set_k() fails
            self.lib.check(self.lib.spmm_plan_set_k(self.handle, k))
            self.k = k

    def use_stream(self, stream):
        """Makes later products run in a stream, for the plan of one rank on a GPU, made without a stream; None: in
        libspmm's own, complete on return. Returns whether they run in a stream of the caller."""
        if self.stream != stream and self.settable:
            self.lib.check(self.lib.spmm_plan_set_stream(self.handle, stream))
            self.stream = stream
        return self.stream is not None

    def create(self, side, k, struct):
        """Makes *struct a multivector of k columns like X (side 0) or Y (side 1). Local. Returns the status."""
        if self.k == k:
            return (self.lib.spmm_plan_x_create, self.lib.spmm_plan_y_create)[side](self.handle, struct)
        return (self.lib.spmm_plan_x_create_k, self.lib.spmm_plan_y_create_k)[side](self.handle, k, struct)

    def kernel(self):
        return self.lib.spmm_plan_kernel(self.handle).decode()

    def apply(self, alpha, x, beta, y):
        return self.lib.spmm_apply(self.handle, alpha, x, beta, y)

    def destroy(self):
        """Frees the plan. Collective over its communicator; local after MPI_Finalize."""
        self.lib.spmm_plan_destroy(self.handle)  # first ends a product that has begun, which may use spares


class AtOnce:
    """Like Made, without an spmm_plan: products of one process with the arrays of the block, by
    spmm_rows_apply()."""
    handle = None

    def __init__(self, plan, most):
        self.lib, self.most, self.k = c.loaded(), most, most
        csr, self.threads = plan._block.struct.csr, plan._options.threads
        self.rows, self.precision = (csr.cols, csr.rows), csr.precision
        self.matrix = c.Rows(csr.irp, csr.ja, getattr(csr, "as"), 8, 4)

    def use(self, k):
        self.k = k

    def use_stream(self, stream):
        """Does nothing: products are complete on return."""

    def create(self, side, k, struct):
        return self.lib.spmm_multivector_create(self.rows[side], k, self.precision, c.CPU, struct)

    def kernel(self):
        return "cpu_csr"

    def apply(self, alpha, x, beta, y):
        return self.lib.spmm_rows_apply(ctypes.byref(self.matrix), alpha, x, beta, y, self.threads)

    def destroy(self):
        """Frees nothing: the block owns the arrays."""


class MadeLater(dict):
    """A table whose values are made when they are asked for first."""

    def __init__(self, make):
        super().__init__()
        self.make = make

    def __missing__(self, key):
        self[key] = made = self.make(*key)
        return made


class Product:
    """The products of K columns, and the arguments that their calls reuse."""

    def __init__(self, plan, k, made):
        self.lib, self.plan, self.k, self.made = c.loaded(), plan, k, made
        self.spares, self.results = {}, (arrays.Recycled(), arrays.Recycled())
        self.used = None  # the Made whose kernel is self.kernel
        self.use()
        self.begun = None  # the operands of a product that has begun, kept alive until it has ended
        self.dtype, self.precision, self.space = plan._dtype, plan._block.struct.csr.precision, plan._options.device
        self.y_rows = plan._own_y_rows(self)
        self.rows = (plan._x_range.stop - plan._x_range.start, self.y_rows)
        # (side, whether the array is written) -> Usual; made once, because making a Usual takes longer than a
        # small product
        usual = UsualOnGpu if self.space == c.CUDA else Usual
        self.usual = MadeLater(lambda side, written: usual(self, side))

    @property
    def handle(self):
        return self.made.handle

    def use(self):
        """Sets the number of columns of the plan's products to K. Collective."""
        if self.made.k != self.k or self.used is not self.made:
            self.made.use(self.k)
            self.used, self.kernel = self.made, self.made.kernel()

    def move(self, made):
        """Switches to another spmm_plan. Drops multivectors of the old one, because each product would copy
        them."""
        self.made, self.spares, self.results = made, {}, (arrays.Recycled(), arrays.Recycled())

    def described(self, rows, ld, address, space, layout=c.ROW_MAJOR):
        return c.Multivector(rows, self.k, ld, self.precision, space, address, 0, 0, layout)

    def create(self, side):
        """Returns a new multivector like X (side 0) or Y (side 1), zeroed. Local."""
        return arrays.allocated(lambda struct: self.made.create(side, self.k, struct), self.space)

    def spare(self, side):
        """Returns the multivector that X or Y is copied into, or out of, if it cannot be used in place."""
        if side not in self.spares:
            self.spares[side] = self.create(side)
        return self.spares[side]

    def result(self, side):
        """Returns a DeviceArray like X or Y, with undefined elements. Reuses an earlier one that nothing
        refers to any more, because libspmm takes 27 to 99 microseconds to allocate one (H200)."""
        return self.results[side].take(lambda: self.create(side))

    def place(self, operand, side, name):
        """Returns (the operand as an argument for libspmm, the spare that is passed in its place or None).
        side: 0 if the operand has rows of X, 1 if of Y."""
        if self.k == 0:
            return self.described(self.rows[side], 0, None, self.space), None
        if operand.kind >= arrays.CUPY and not operand.made:
            if not self.plan._options.stream:
                arrays.wait_for(operand)
            arrays.check_gpu(operand, name)
        memory = operand.memory
        if memory is not None and memory.struct.space == self.space:
            return memory.reference, None
        here = operand.kind >= arrays.CUPY or self.space == c.CPU
        if operand.direct and here:
            ld = operand.ld if operand.columns else max(operand.ld, self.k)
            return self.described(self.rows[side], ld, operand.address, self.space, operand.columns), None
        spare = self.spare(side)
        return spare.reference, spare

    def fill(self, operand, spare):
        """Copies the operand's elements into the spare."""
        if operand.kind < arrays.CUPY and self.space == c.CPU:
            np.copyto(spare.array(), operand.matrix())
        elif operand.kind < arrays.CUPY:
            host = np.ascontiguousarray(operand.matrix())
            arrays.copy(arrays.described(host), spare.reference)
        else:
            arrays.copy(self.described(spare.shape[0], operand.ld, operand.address, c.CUDA), spare.reference)

    def empty(self, operand, spare):
        """Copies the spare's elements into the operand, in host memory."""
        target = operand.matrix()
        if self.space == c.CPU:
            np.copyto(target, spare.array())
            return
        host = target if target.flags.c_contiguous and target.flags.aligned else np.empty(target.shape, target.dtype)
        arrays.copy(spare.reference, arrays.described(host))
        if host is not target:
            np.copyto(target, host)

    def call(self, function, x, y, sides, alpha, beta):
        """Calls function(plan, alpha, X, beta, Y). sides: for x and y, 0 if it has rows of X, 1 if of Y.
        Collective, like function. Returns the status, and the spare that contains Y afterwards; None if y
        itself does."""
        try:
            self.made.use_stream(None)
            source, copied = self.place(x, sides[0], "X")
            target, result = self.place(y, sides[1], "out")
            if copied is not None:
                self.fill(x, copied)
            if result is not None and beta != 0:
                self.fill(y, result)
        except BaseException:
            self.tell(function)
            raise
        if function is self.lib.spmm_apply:
            return self.made.apply(alpha, source, beta, target), result
        return function(self.handle, alpha, source, beta, target), result

    def run(self, function, x, y, sides, alpha, beta):
        """Computes Y := alpha A X + beta Y, or with A^T; sides: as for call(). Collective, like function."""
        status, result = self.call(function, x, y, sides, alpha, beta)
        if status:
            self.lib.check(status)
        if result is not None:
            self.empty(y, result)

    def begin(self, x, y, alpha, beta):
        """Begins Y := alpha A X + beta Y. Collective, but does not wait for other ranks. Returns the function
        that ends it."""
        self.begun = x, y
        status, result = self.call(self.lib.spmm_apply_begin, x, y, (0, 1), alpha, beta)
        if status:
            self.lib.spmm_apply_end(self.handle)  # the neighbors must not wait for this rank
            self.lib.check(status)

        def end():
            status = self.lib.spmm_apply_end(self.handle)
            self.begun = None
            if status:
                self.lib.check(status)
            if result is not None:
                self.empty(y, result)
            return y.like
        return end

    def quick(self, source, target, alpha, beta, out, side=0):
        """Like run(), for arrays that Usual accepted: nothing can fail before libspmm is called. side: 1 for a
        product with A^T."""
        self.usual[side, False].wait()
        self.use()
        if side:
            status = self.lib.spmm_apply_transposed(self.handle, alpha, source, beta, target)
        else:
            status = self.made.apply(alpha, source, beta, target)
        if status:
            self.lib.check(status)
        self.plan._last = self.k
        return out

    def apply_rows(self, rows, X, out):
        """Computes the product with the current values of a Rows. X, out: arrays on the GPU; out may be None.
        Returns the product; None: the pattern differs, or the arrays are no usual ones."""
        usual = self.usual[0, False]
        source = usual.take(X, False)
        if source is None or self.lib.spmm_apply_rows is None:
            return None
        if out is None:
            out, target = self.usual[1, True].fresh(X)
        else:
            target = self.usual[1, True].take(out, True)
            if target is None or type(out) is not type(X) or out.ndim != X.ndim:
                return None
        usual.wait()
        self.use()
        status = self.lib.spmm_apply_rows(self.handle, rows.references[0], source, target, rows.references[1])
        if status:
            self.lib.check(status)
        self.plan._last = self.k
        return out if rows.same.value == 1 else None

    def values_gradient(self, function, G, X, entries):
        """Returns what Plan._values_gradient() returns, for arrays that Usual accepts."""
        usual = self.usual[0, False]
        x, g = usual.take(X, False), self.usual[1, False].take(G, False)
        assert x is not None and g is not None, "contiguous arrays of the plan's type"
        made = np.empty(entries, self.dtype) if isinstance(X, np.ndarray) else X.new_empty((entries,))
        address = made.ctypes.data if isinstance(X, np.ndarray) else made.data_ptr()
        usual.wait()
        self.use()
        self.lib.check(function(self.handle, g, x, ctypes.byref(c.Multivector(entries, 1, 1, self.precision, self.space, address, 0, 0))))
        self.plan._last = self.k
        return made

    def tell(self, function):
        """Replaces a product on a rank that cannot compute it, so that its neighbors fail instead of waiting
        forever."""
        if self.made.handle is None:
            return  # no other rank waits
        function(self.handle, 1.0, None, 0.0, None)
        if function is self.lib.spmm_apply_begin:
            self.lib.spmm_apply_end(self.handle)

    def clear(self):
        """Forgets the spares and results."""
        self.spares.clear()
        self.results = (arrays.Recycled(), arrays.Recycled())
