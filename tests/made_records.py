"""Records of invented studies, with times by known laws, for tests of the programs that read records."""
import json

ENVIRONMENT = {"id": "e1", "study": "made", "host": "node1", "cpu": "A CPU of 64 cores", "cores": 64,
               "memory_bytes": 2 ** 38, "gpus": [], "mpi": "Open MPI 4.1.4", "compiler": "gcc 12.2.0",
               "commit": "0123abc", "program": "0.1.0", "variables": {"OMP_PROC_BIND": "close"}, "slurm": {},
               "started": "2026-01-02T03:04:05"}


def environment(**more):
    return {"environment": {**ENVIRONMENT, **more}}


def apply_group(seconds, spread=0.02, n=10, interval=True):
    """The statistics of n times around `seconds`."""
    deviation = spread * seconds / 2
    group = {"n": n, "median": seconds, "mean": seconds * 1.001, "stddev": deviation, "variance": deviation ** 2,
             "min": seconds * (1 - spread), "max": seconds * (1 + 2 * spread),
             "median_low": None, "median_high": None}
    if interval:
        group.update(median_low=seconds * (1 - spread / 2), median_high=seconds * (1 + spread / 2))
    return group


def run(seconds, matrix="lap3d7:60", rows=216000, nnz=1490400, k=8, ranks=1, grid=None, threads=1, kernel="cpu_csr",
        form="csr", precision="f64", device="cpu", gpu="", number=0, weak=None, probe=None, copy=None, reduce=None,
        received=0, settings=None, **apply_options):
    """A record as jobs/study writes it; received: rows of X that all ranks together receive."""
    p, q = grid or (ranks, 1)
    asked = {"matrix": matrix, "k": k, "device": device, "kernel": kernel, "format": form, "precision": precision,
             "ranks": ranks, "threads": threads, "grid": f"{p}x{q}", **({"weak": weak} if weak else {}),
             **(settings or {})}
    record = {
        "version": "0.1.0",
        "matrix": {"source": matrix, "rows": rows, "cols": rows, "nnz": nnz, "field": "real", "symmetry": "general"},
        "run": {"ranks": ranks, "grid": [p, q], "device": device, "gpu": gpu, "host": "node1", "threads": threads,
                "format": form, "kernel": kernel, "precision": precision, "k": k, "partition": "nnz",
                "exchange": "halo", "transport": "mpi", "repeat": 10, "warmup": 2, "x": "uniform:1", "verify": "full"},
        "seconds": {"read": 0.02, "partition": 0.0001, "scatter": 0.004, "convert": 0.003, "x": 0.004,
                    "exchange": 0.05 * seconds, "kernel": 0.9 * seconds, "apply": seconds, "gather": 0.002,
                    "verify": 0.005, "total": 0.1},
        "apply": apply_group(seconds, **apply_options),
        "gflops": 2e-9 * nnz * k / seconds if seconds else 0.0, "imbalance": 1.01,
        "error": {"max_relative": 1e-16, "mean_relative": 1e-18, "checked": rows * k, "wrong": 0, "different": 0,
                  "passed": True},
        "dram_bound_share": 0.5 if copy else None, "copy_bytes_per_second": copy,
        "moved": {"reduce": reduce or ("tree" if q > 1 else "none"), "overlap": True, "rows": received // ranks,
                  "all_rows": received, "bcast_rows": rows * (p - 1), "neighbours": min(2, ranks - 1), "hidden": 0.5,
                  "reduce_seconds": 0.05 * seconds if q > 1 else 0, "no_exchange_seconds": None},
        "study": {"name": "made", "point": " ".join(f"{n}={v}" for n, v in asked.items()), "round": number,
                  "settings": asked, "command": ["mpirun", "-np", str(ranks), "spmm_mpi"], "environment": "e1",
                  "started": "2026-01-02T03:04:05", "wall_seconds": 1.0, "code": 0, "error": ""}}
    if probe:
        record["probe"] = dict(zip(("latency_seconds", "seconds_per_byte", "seconds_per_flop"), probe))
    return record


def failed(code, error, point="matrix=lap3d7:60 ranks=64", **settings):
    return {"study": {"name": "made", "point": point, "round": 0, "settings": {"matrix": "lap3d7:60", **settings},
                      "command": ["mpirun", "spmm_mpi"], "environment": "e1", "started": "2026-01-02T03:04:05",
                      "wall_seconds": 1.0, "code": code, "error": error}}


def lines(records):
    return "".join(json.dumps(r) + "\n" for r in records)


def amdahl(first, serial, overhead, form, ranks=(1, 2, 4, 8, 16), **more):
    """Strong scaling that obeys the law exactly."""
    return [run(first * (serial + (1 - serial) / p) + overhead * form(p), ranks=p, **more) for p in ranks]


def everything():
    """A study with data for every section of the page."""
    probe, found = (2e-6, 1e-10, 4e-10), [environment()]
    for number in range(3):
        drift = 1 + 0.01 * number
        for k in (1, 8, 64):
            base = 2e-4 * k ** 0.8 * drift
            found.append(run(3 * base, k=k, kernel="cpu_serial", number=number, probe=probe))
            for kernel, factor in (("cpu_csr", 1.0), ("cpu_ell", 1.2), ("cpu_ell_nopad_transposed", 3.0)):
                found += [run(factor * base * (0.02 + 0.98 / p) + 2e-6 * (p - 1), k=k, ranks=p, kernel=kernel,
                              form="ell-nopad" if "nopad" in kernel else kernel[4:7], number=number, probe=probe,
                              copy=4e9 * min(p, 8), received=7200 * (p - 1)) for p in (1, 2, 4, 8, 16)]
        for p, grid in ((4, (1, 4)), (4, (2, 2)), (16, (4, 4)), (16, (1, 16))):
            found.append(run(1.2e-3 * drift * (0.05 + 0.95 / p) + 1e-4 * grid[1], ranks=p, grid=grid, k=8, probe=probe,
                             number=number, received=3600 * grid[1]))
        for p in (1, 2, 4, 8):
            edge = round(64 * p ** (1 / 3))
            found.append(run(1e-3 * drift * (1 + 0.05 * (p - 1)), matrix=f"lap3d7:{edge}", rows=edge ** 3,
                             nnz=7 * edge ** 3 - 6 * edge ** 2, ranks=p, weak="lap3d7:{64*cbrt(ranks)}", k=8,
                             number=number, received=edge ** 2 * 2 * (p - 1)))
        found += [run(2e-4 * k ** 0.7 * drift * (0.05 + 0.95 / p), matrix="fem3:64", rows=786432, nnz=61629875, k=k,
                      device="cuda", gpu="NVIDIA H200", kernel=kernel, form=form, ranks=p, number=number, copy=4e12 * p)
                  for k in (1, 4, 16, 64, 256) for p in (1, 2, 4)
                  for kernel, form in (("csr_rows", "csr"), ("panel_mma", "panel"))]
    found.append(failed(4, "spmm_mpi: error: no memory for 12 GB of X on rank 3", ranks=64, k=4096))
    return found
