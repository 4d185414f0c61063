"""jobs/profile: the table of ncu's counters, nsys's tables, and the messages if the tools are missing or may not count. Scripts that
print what NVIDIA's tools print stand in for ncu and nsys, which need a GPU.
limit: 60"""
import os
import shlex

from command import equal, finish, scratch, test, within
from study_tools import profile, start

FOLDER = scratch("tools")
os.makedirs(FOLDER)
HEAD = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC"]
METRICS = sorted(profile.METRICS)  # in ncu's order
UNITS = {"launch__registers_per_thread": "register/thread", "smsp__inst_executed.sum": "inst", "dram__bytes.sum.per_second": "Gbyte/s",
         "gpu__time_duration.sum": "us"}


def row(cells):
    return ",".join(f'"{cell}"' for cell in cells)


def output(*launches, units=None):
    """The file that `ncu --csv --page raw --log-file` writes; launches: (kernel, {metric: text})."""
    units = {**{m: "%" for m in METRICS if ".pct" in m}, **UNITS, **(units or {})}
    lines = ["==PROF== Connected to process 4711 (/a/series_mpi)",
             f'==PROF== Profiling "{launches[0][0]}" - 0: 0%....50%....100% - 10 passes' if launches else "==WARNING== No kernels were profiled.",
             "==PROF== Disconnected from process 4711"]
    if launches:
        lines += [row(HEAD + METRICS), row([""] * len(HEAD) + [units.get(m, "") for m in METRICS])]
    for n, (kernel, values) in enumerate(launches):
        lines.append(row([n, 4711, "series_mpi", "127.0.0.1", kernel, 1, 13, "(256, 1, 1)", "(32, 1, 1)", 0, "9.0"] +
                         [values.get(m, "n/a") for m in METRICS]))
    return "\n".join(lines) + "\n"


def tool(name, log="", said="", code=0):
    """Replaces a tool by a script that writes `log` to the file after --log-file, prints `said`, and records its arguments."""
    path = os.path.join(FOLDER, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n" + f"printf '%s\\n' \"$@\" >{shlex.quote(FOLDER)}/arguments\n"
                   'while [ $# -gt 0 ]; do [ "$1" = --log-file ] && log=$2; shift; done\n' +
                   (f'printf %s {shlex.quote(log)} >"$log"\n' if log else "") + f"printf '%s\\n' {shlex.quote(said)}\nexit {code}\n")
    os.chmod(path, 0o755)
    return {name.upper(): path}


def run(*args, env):
    return start("profile", *args, env=env)


WALK = "void <unnamed>::walk_thread_kernel<double>(<unnamed>::series_view<T1>, <unnamed>::walk_constants<T1>)"
SUM = "void (anonymous namespace)::sum_unrolled_kernel<(anonymous namespace)::sum_of<float>, (int)1024>(series_view<float>, double *)"
K1 = {"launch__grid_size": "8", "launch__block_size": "1,024", "launch__registers_per_thread": "38", "smsp__inst_executed.sum": "34,600,000",
      "dram__bytes.sum.per_second": "29.7", "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": "12.34",
      "sm__throughput.avg.pct_of_peak_sustained_elapsed": "5.06", "smsp__sass_average_branch_targets_threads_uniform.pct": "100",
      "sm__warps_active.avg.pct_of_peak_sustained_active": "49.9", "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio": "21.34",
      "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum": "4,096", "gpu__time_duration.sum": "12,210.5"}

with test("a row per launch has ncu's counters, in units of the table"):
    env = tool("ncu", output((WALK, K1), (SUM, {**K1, "launch__block_size": "256", "gpu__time_duration.sum": "1280",
                                                "smsp__sass_average_branch_targets_threads_uniform.pct": "99.85"})), "PASS")
    done = run("./series_mpi", "-d", "cuda", "--kernel", "walk_thread", env=env)
    equal((done.returncode, done.stderr), (0, ""), done.stderr)
    lines = done.stdout.splitlines()
    equal(lines[0], "./series_mpi -d cuda --kernel walk_thread", "title")
    equal(lines[2].split(), ["walk_thread_kernel<double>", "8", "1024", "8192", "38", "34600000", "29.7", "12.3", "5.1", "100.0", "49.9", "21.3", "4096", "12.21"])
    equal(lines[3].split(), ["sum_unrolled_kernel<sum_of<float>,", "1024>", "8", "256", "2048", "38", "34600000", "29.7", "12.3", "5.1", "99.8", "49.9",
                             "21.3", "4096", "1.28"])
    with open(os.path.join(FOLDER, "arguments"), encoding="utf-8") as file:
        asked = file.read().split("\n")
    assert asked[:3] == ["--csv", "--page", "raw"] and asked[4] == ",".join(profile.METRICS), asked
    equal(asked[-6:-1], ["./series_mpi", "-d", "cuda", "--kernel", "walk_thread"], "command")

with test("units of other sizes and of older versions mean the same, and what ncu has no number for is a dash"):
    for units, seconds, rate in (({"gpu__time_duration.sum": "ms", "dram__bytes.sum.per_second": "Tbyte/s"}, "12.2105", "0.0297"),
                                 ({"gpu__time_duration.sum": "nsecond", "dram__bytes.sum.per_second": "Mbyte/second"}, "12210500", "29,700"),
                                 ({"gpu__time_duration.sum": "second", "dram__bytes.sum.per_second": "byte/s"}, "0.0122105", "29700000000")):
        launch = profile.read(output((WALK, {**K1, "gpu__time_duration.sum": seconds, "dram__bytes.sum.per_second": rate}), units=units))[0]
        assert abs(launch.values["gpu__time_duration.sum"] - 0.0122105) < 1e-9, (units, launch)
        assert abs(launch.values["dram__bytes.sum.per_second"] - 29.7e9) < 1, (units, launch)
    text = run("p", env=tool("ncu", output((WALK, {"launch__grid_size": "3"})))).stdout
    equal(text.splitlines()[2].split(), ["walk_thread_kernel<double>", "3"] + ["-"] * 12)

with test("names of kernels are without namespaces and parameters, and plain ones as they are"):
    for name, expected in ((WALK, "walk_thread_kernel<double>"), ("saxpy", "saxpy"), ("saxpy(int, float *)", "saxpy"),
                           ("void f<void (*)(int)>(float (*)[3])", "f<void (*)(int)>"), ("ampere_dgemm_64x64_nn", "ampere_dgemm_64x64_nn")):
        equal(profile.short(name), expected, name)

SORT = ("void radix_sort::DeviceRadixSortOnesweepKernel<radix::policy_hub<unsigned int, int, unsigned long long>::Policy1000, (bool)0, "
        "unsigned int, int, unsigned long long, int, int, cub::identity_decomposer_t>(T7 *, T7 *, const T3 *)")
HISTOGRAM = ("void radix_sort::DeviceRadixSortHistogramKernel<radix::policy_hub<unsigned int, int, unsigned long long>::Policy1000, (bool)0, "
             "unsigned int, unsigned long long, cub::identity_decomposer_t>(T4 *, const T3 *)")
V3 = ("void cusparse::csrmm_v3_kernel<cusparse::kernel_traits<int, int, double, double, double, double, (int)8, (int)1, (int)1, (int)8, (int)16, "
      "(int)16, (bool)0, (bool)0>>(T1::params)")

with test("names of kernels are no wider than a column, and still those of different kernels"):
    alg1, alg2 = ("void cusparse::csrmm_alg{}_kernel<(bool)0, (bool)0, (bool)0, int, int, {}double, double, double, double>(T1)".format(n, more)
                  for n, more in ((1, ""), (2, "int, int, ")))
    short = profile.names([SORT, HISTOGRAM, V3, alg1, alg2, WALK, "void by_row_kernel<(bool)0, double>(int)"])
    equal(list(short.values()), ["radix_sort::DeviceRadixSortOnesweepKernel<..>", "radix_sort::DeviceRadixSortHistogramKernel<..>",
                                 "cusparse::csrmm_v3_kernel<..>", "cusparse::csrmm_alg1_kernel<0, 0, 0, int, int, ..>",
                                 "cusparse::csrmm_alg2_kernel<0, 0, 0, int, int, ..>", "walk_thread_kernel<double>", "by_row_kernel<0, double>"], "names")
    assert all(len(name) <= profile.WIDTH for name in short.values()), short
    # names that agree up to WIDTH are widened until they differ
    other = V3.replace("16, (bool)0, (bool)0", "16, (bool)0, (bool)1")
    equal(len({*profile.names([V3, other, SORT]).values()}), 3, "names of three kernels")
    lines = run("p", env=tool("ncu", output((SORT, K1), (V3, K1), (SORT.replace("(bool)0", "(bool)1"), K1)))).stdout.splitlines()
    assert all(len(line) < 280 for line in lines[1:5]), lines
    equal(len({line.split("  ")[1] for line in lines[2:5]}), 3, "names of the table")

with test("where ncu is not, may not count, or saw nothing, one line says so"):
    denied = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on the target device 0."
    for wrote, code, part in ((None, 4, "there is no ncu"), ((denied + "\n", "PASS"), 4, "ERR_NVGPUCTRPERM"), (("", denied, 1), 4, "ERR_NVGPUCTRPERM"),
                              ((output(),), 1, "no kernel"), (("==ERROR== Failed to find metric a__b\n", "", 1), 1, "find metric a__b"),
                              (("==ERROR== The application returned an error code (4).\n", "series_mpi: error: no GPU", 4), 1,
                               "exit code 4: series_mpi: error: no GPU"),
                              (('"ID","Metric Name"\n"0","x"\n',), 1, "Kernel Name")):
        done = run("./series_mpi", env=tool("ncu", *wrote) if wrote else {"NCU": "/no/such/ncu", "PATH": "/usr/bin:/bin"})
        equal((done.returncode, done.stdout, len(done.stderr.splitlines())), (code, "", 1), done.stderr)
        within(done.stderr, "profile: error: ")
        within(done.stderr, part)
    equal(run(env={}).returncode, 2, "no program")

with test("nsys's tables follow the command from the calls of CUDA on, and where it makes no report, a line says so"):
    tables = "[4/6] Executing 'cuda_api_sum' stats report\n\n Time (%)  Total Time (ns)  Num Calls  Name\n     44.0        594870000  100  cudaDeviceSynchronize"
    done = run("--nsys", "./series_mpi", "-d", "cuda", env=tool("nsys", said=f"Generating '/tmp/x.qdstrm'\n{tables}"))
    equal((done.returncode, done.stdout), (0, f"./series_mpi -d cuda\n{tables}\n"), done.stderr)
    for env, part in (({"NSYS": "/no/such/nsys", "PATH": "/usr/bin:/bin"}, "there is no nsys"),
                      (tool("nsys", said="Collecting data...\nImporter error status: An unknown error occurred.", code=1), "unknown error")):
        done = run("--nsys", "./series_mpi", env=env)
        equal((done.returncode, done.stdout, len(done.stderr.splitlines())), (4, "", 1), done.stderr)
        within(done.stderr, part)

finish()
