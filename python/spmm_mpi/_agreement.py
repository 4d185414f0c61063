"""Agreement of the ranks: an exception on one rank is raised on all."""
from . import _library as c

RAISED = {kind.__name__: kind for kind in (TypeError, ValueError, MemoryError, c.Error)}


def agree(comm, error, facts=None):
    """Returns every rank's facts. If any rank has an error, all ranks raise the same one: that of the lowest
    such rank. Collective."""
    mine = error and (type(error).__name__, str(error)), facts
    said = comm.allgather(mine) if comm.size > 1 else [mine]
    for rank, (failed, _) in enumerate(said):
        if failed:
            kind, text = failed
            text = text if comm.size == 1 else f"rank {rank}: {text}"
            raise (RAISED[kind](text) if kind in RAISED else c.Error(f"{text} ({kind})")) from error
    return [fact for _, fact in said]


def attempt(function, *arguments):
    """Returns (the function's result, None) or (None, its exception): for local work before the ranks
    agree."""
    try:
        return function(*arguments), None
    except Exception as error:  # other ranks must learn of any exception
        return None, error


def check_alike(said, names):
    """Refuses arguments that differ between ranks. said: a tuple of arguments for each rank. Raises the same
    ValueError on every rank."""
    for rank, facts in enumerate(said):
        for name, first, here in zip(names, said[0], facts):
            if here != first:
                raise ValueError(f"{name} is {first!r} on rank 0 and {here!r} on rank {rank}, expected the same on all ranks")
