"""Records of invented runs of series_mpi, for tests of the programs that read records."""
from made_records import apply_group

BYTES, COPY = 8e9, 16e9


def step(seconds, name="mean", kernel="cpu_sum", ranks=1, threads=1, precision="f64", device="cpu", gpu="", count=1000,
         length=1000, source="generated", layout="series", sequential=4.0, share=1, wrong=0, verified=True, block=0,
         moved=BYTES, flops=1e9, copy=COPY, operator="sum", parts=0, memory="device", **apply_options):
    """A record as src/series_mpi/report.c writes it. share: fraction of the work that the sequential program did."""
    times = apply_group(seconds, **apply_options)
    return {
        "program": "series_mpi", "version": "0.1.0",
        "series": {"source": source, "count": count, "length": length, "start": 100, "epsilon": 0.01, "seed": 1,
                   "layout": layout},
        "run": {"ranks": ranks, "device": device, "gpu": gpu, "host": "node1", "threads": threads,
                "precision": precision, "memory": memory, "block": block, "blocks_per_series": parts, "operator": operator, "repeat": 10, "warmup": 1, "batch": 1,
                "verify": "sample" if verified else "none"},
        "step": name, "kernel": kernel,
        "seconds": {**times, "sequential": sequential,
                    "sequential_measured_share": None if sequential is None else share, "centre": None},
        "roofline": {"bytes": moved, "flops": flops, "copy_bytes_per_second": copy,
                     "copy_share": moved / seconds / copy if copy and seconds else None,
                     "gflops": flops / seconds / 1e9 if seconds else None},
        "check": {"checked": 64 if verified else 0, "wrong": wrong, "worst_of_bound": 0.1 if verified else None,
                  "passed": verified and wrong == 0},
        "pearson": {"transport": "none", "received_bytes": None, "pairs": 0, "constant_series": 0, "min": None,
                    "q05": None, "q25": None, "q50": None, "q75": None, "q95": None, "max": None}}


def array_sum(seconds, reduce="tree", ranks=1, count=1001, calc=1e-9, com=1e-6, steps=0, model=1e-6, combine=2e-6, **more):
    """A record as src/series_mpi/sums.c writes it."""
    record = step(seconds, "sum", "cpu_sum_serial", ranks, count=1, length=count, moved=8 * count, flops=count - 1, **more)
    record["sum"] = {"reduce": reduce, "steps": steps, "calc_seconds": calc, "com_seconds": com, "model_seconds": model,
                     "combine_seconds": combine, "value": 1.5}
    return record


def everything():
    """All steps: on several ranks, with times by a law, and on a GPU with many kernels; in both precisions."""
    found = []
    for precision, size in (("f64", 1), ("f32", 0.5)):
        for name, base, flops in (("generate", 2.0, 3e9), ("mean", 1.0, 1e9), ("deviation", 2.0, 6e9),
                                  ("pearson", 8.0, 1e12)):
            found += [step(base * size * (0.1 + 0.9 / p), name, f"cpu_{name}", p, precision=precision, flops=flops,
                           moved=BYTES * size, copy=COPY * p) for p in (1, 2, 4)]
            found += [step(base * size * n / 1000, name, f"{name}_{n}", precision=precision, flops=flops, copy=8e12,
                           moved=BYTES * size, device="cuda", gpu="NVIDIA H200", share=0.01) for n in range(1, 12)]
    return found
