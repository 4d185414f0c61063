"""Plans as LinearOperators of SciPy: rank 0 calls them, and the other ranks serve.

A product begins with a message to the ranks that serve: which plan, A or A^H, how many columns. Rows of X are
scattered from rank 0, each rank multiplies, and rows of Y are gathered. Before rows are sent, and after the
product, the ranks agree on success: an exception on one rank is raised on all ranks, and no rank waits
forever."""
import numpy as np
from scipy.sparse.linalg import LinearOperator

from ._agreement import agree, attempt
from ._arrays import by_parts
from ._library import Error

LEAVE = -1


class Ranges:
    """The ranges of rows of X (side 0) and of Y (side 1) on every rank: taken() has the ranges of an operand on
    that side, given() those of a result. The constructor is collective."""

    def __init__(self, plan):
        # only the first rank of a process row gives rows of Y, even if its other ranks have them, too
        first = plan.comm.rank % plan._grid[1] == 0
        y = plan._y_slice()
        mine = plan._x_range, (y if first else slice(y.start, y.start)), y
        said = plan.comm.allgather([(one.start, one.stop - one.start) for one in mine])
        self.number = plan._cut and plan._cut.number
        self.x, self.y_given, self.y_taken = ([place[i] for place in said] for i in range(3))

    def given(self, side):
        return self.y_given if side else self.x

    def taken(self, side):
        return self.y_taken if side else self.x


class Distributed(LinearOperator):
    """The whole A of a plan on rank 0, as an operator for the solvers of scipy.sparse.linalg. Of complex vectors,
    a real A multiplies real and imaginary parts separately."""

    def __init__(self, plan, multiply):
        super().__init__(plan.dtype, plan.shape)
        self._multiply = multiply  # (whether with A^H, X [rows, K] of the plan's dtype) -> Y

    def _matmat(self, X):
        return by_parts(lambda x: self._multiply(0, x), X, self.dtype)

    def _rmatmat(self, X):
        return by_parts(lambda x: self._multiply(1, x), X, self.dtype)

    def _matvec(self, x):
        return self._matmat(x.reshape(-1, 1)).reshape(-1)

    def _rmatvec(self, x):
        return self._rmatmat(x.reshape(-1, 1)).reshape(-1)


class Serving:
    """The context manager of Plan.operator()."""

    def __init__(self, plans):
        self.plans, self.comm, self.open = plans, plans[0].comm, False

    def __enter__(self):
        self.ranges = [Ranges(plan) for plan in self.plans]
        self.open = True
        found = [None] * len(self.plans)
        if self.comm.rank == 0:
            found = [Distributed(plan, lambda transposed, x, i=i: self.multiply(i, transposed, x)) for i, plan in enumerate(self.plans)]
        else:
            self.serve()
        return found[0] if len(found) == 1 else tuple(found)

    def __exit__(self, kind, error, trace):
        if self.comm.rank == 0 and self.open:
            self.open = False
            self.comm.bcast((LEAVE, error and f"{kind.__name__}: {error}", 0))

    def multiply(self, i, transposed, x):
        """Returns a product with the whole X, on rank 0. If any rank raises, raises that exception; then no
        rank serves any more."""
        if not self.open:
            raise Error("the other ranks no longer serve this operator: the `with` block of plan.operator() has ended, or a product has failed")
        if x.shape[1] == 0:
            return np.zeros((self.plans[i].shape[transposed], 0), x.dtype)
        number = self.ranges[i].number
        if number is not None:  # before the bcast, after which the other ranks wait for x
            given, x = x, np.empty(x.shape, x.dtype)
            x[number] = given
        self.comm.bcast((i, transposed, x.shape[1]))
        y = self.step(i, transposed, x.shape[1], x)
        return y if number is None else y[number]

    def serve(self):
        """Computes products on the other ranks until rank 0 leaves. Raises Error if rank 0 left by an
        exception; raises the exception of a product that failed."""
        while True:
            i, transposed, k = self.comm.bcast(None)
            if i == LEAVE:
                self.open = False
                if transposed:
                    raise Error(f"rank 0 left the operator by an exception: {transposed}")
                return
            self.step(i, transposed, k)

    def step(self, i, transposed, k, x=None):
        """Computes one product. Collective; x [rows, K] is passed and the result returned on rank 0 only."""
        plan, ranges, rank = self.plans[i], self.ranges[i], self.comm.rank
        by = plan.H if transposed else plan
        if self.comm.size == 1:
            return self.agreed(lambda: by @ x)
        from mpi4py import MPI
        taken, given = ranges.taken(transposed), ranges.given(1 - transposed)

        def room():
            y = np.empty((plan.shape[transposed], k), plan.dtype) if rank == 0 else None
            return np.empty((taken[rank][1], k), plan.dtype), y
        mine, y = self.agreed(room)
        double = plan.dtype in (np.float64, np.complex128)
        row = (MPI.DOUBLE if double else MPI.FLOAT).Create_contiguous(k * (1 + (plan.dtype.kind == "c"))).Commit()
        try:
            self.comm.Scatterv([x, *places(taken), row] if rank == 0 else None, [mine, taken[rank][1], row])
            part = self.agreed(lambda: by @ mine)
            self.comm.Gatherv([part, given[rank][1], row], [y, *places(given), row] if rank == 0 else None)
        finally:
            row.Free()
        return y

    def agreed(self, function):
        """Returns the function's result on this rank. Collective: if it raises on some rank, all ranks raise,
        and the operator is closed."""
        found, error = attempt(function)
        if any(self.comm.allgather(error is not None)):
            self.open = False
            agree(self.comm, error)
        return found


def places(ranges):
    """Returns counts and displacements for Scatterv and Gatherv, in rows."""
    return [rows for _, rows in ranges], [start for start, _ in ranges]
