/** Determines the cores and GPUs that each rank may use, and divides them among the ranks of a node. */
#include "comm/binding.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/environment.h"
#include "base/fp_environment.h"
#include "base/threads.h"

/** Returns the number of cores in the affinity mask of this process.
 *  \param [out] key  text [n] that is equal for equal masks */
static int bound_cores(char *key, size_t n)
{
    cpu_set_t set;
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) {
        snprintf(key, n, "unknown");
        return (int)sysconf(_SC_NPROCESSORS_ONLN);
    }
    for (size_t i = 0; i < sizeof set; i++)
        hash = (hash ^ ((const unsigned char *)&set)[i]) * UINT64_C(1099511628211);
    snprintf(key, n, "%016llx", (unsigned long long)hash);
    return CPU_COUNT(&set);
}

/** Sets binding->threads to `asked`. If `asked` is 0, uses OMP_NUM_THREADS; if that variable is unset, uses
 *  this rank's share of its cores. */
static spmm_status choose_threads(int asked, sp_binding *binding)
{
    char what[48];
    TRY(sp_environment_check());
    snprintf(what, sizeof what, "--threads %d", asked);
    if (asked != 0) TRY(sp_threads_check(what, asked));
    binding->threads = asked;
    if (binding->threads == 0) TRY(sp_threads_told(&binding->threads));
    if (binding->threads == 0) binding->threads = binding->cores / binding->core_sharers;
    if (binding->threads > sp_threads_most()) binding->threads = sp_threads_most();
    if (binding->threads < 1) binding->threads = 1;
    return sp_threads_try(binding->threads);
}

static spmm_status place_threads(MPI_Comm comm, int asked, sp_binding *binding)
{
    char key[32];
    int which;
    const int quota = sp_cgroup_cores("/");
    binding->cores = bound_cores(key, sizeof key);
    if (quota > 0 && quota < binding->cores) binding->cores = quota;
    TRY(sp_node_sharers(comm, key, &which, &binding->core_sharers));
    return sp_agree(comm, "binding", choose_threads(asked, binding));
}

static spmm_status open_gpu(int node_rank, sp_binding *binding)
{
    const char *why = "";
    const int count = sp_device_count(&why);
    if (count == 0)
        return sp_fail(SPMM_ERR_NO_DEVICE, "device cuda: no usable GPU on %s: %s; use --device cpu",
                       binding->host, why);
    TRY(sp_device_open(node_rank % count));
    return sp_device_describe(node_rank % count, &binding->gpu);
}

spmm_status sp_bind_rank(MPI_Comm comm, sp_device_choice choice, int threads, sp_binding *binding)
{
    memset(binding, 0, sizeof *binding);
    if (gethostname(binding->host, sizeof binding->host - 1) != 0)
        snprintf(binding->host, sizeof binding->host, "unknown");
    TRY(place_threads(comm, threads, binding));
    int node_rank, node_size, gpus_everywhere;
    TRY(sp_node_rank(comm, &node_rank, &node_size));
    const char *why;
    TRY(sp_all(comm, choice != SP_DEVICE_CPU && sp_device_count(&why) > 0, &gpus_everywhere));
    const int use = choice == SP_DEVICE_CUDA || (choice == SP_DEVICE_AUTO && gpus_everywhere);
    binding->device = use ? SPMM_CUDA : SPMM_CPU;
    TRY(sp_agree(comm, "binding", use ? open_gpu(node_rank, binding) : SPMM_OK));
    if (!use) return SPMM_OK;
    int which;
    return sp_node_sharers(comm, binding->gpu.pci, &which, &binding->gpu_sharers);
}

spmm_status sp_find_far_ranks(MPI_Comm comm, sp_binding *binding)
{
    sp_far_ranks *const far = &binding->far;
    int rank, mine;
    if (binding->device != SPMM_CUDA) return SPMM_OK;
    TRY(SP_MPI(MPI_Comm_rank(comm, &rank)));
    TRY(SP_MPI(MPI_Comm_size(comm, &far->of)));
    sp_topology_near(binding->gpu.pci, &far->near);
    TRY(SP_MPI(MPI_Allreduce(&far->near.far, &far->count, 1, MPI_INT, MPI_SUM, comm)));
    mine = far->near.far ? rank : far->of;
    TRY(SP_MPI(MPI_Allreduce(&mine, &far->first, 1, MPI_INT, MPI_MIN, comm)));
    return far->count == 0 ? SPMM_OK : sp_bcast(comm, far->first, &far->near, sizeof far->near);
}

spmm_status sp_find_spanning_ranks(MPI_Comm comm, sp_binding *binding)
{
    if (binding->device != SPMM_CPU) return SPMM_OK;
    const int spans = binding->threads > 1 && sp_topology_numa_nodes() > 1;
    return SP_MPI(MPI_Allreduce(&spans, &binding->spanning, 1, MPI_INT, MPI_SUM, comm));
}

static const char *plural(int count) { return count == 1 ? "" : "s"; }

const char *sp_cores_text(char *text, size_t n, const sp_binding *binding)
{
    const int cores = sp_topology_cores();
    if (cores > 0 && cores < binding->cores)
        snprintf(text, n, "%d hardware threads of %d core%s", binding->cores, cores, plural(cores));
    else
        snprintf(text, n, "%d core%s", binding->cores, plural(binding->cores));
    return text;
}

static void print_far_ranks(FILE *out, const sp_far_ranks *far)
{
    fprintf(
        out,
        "           far from their GPU: %d of %d rank%s; rank %d is on cores %s, its GPU near cores %s (NUMA "
        "%s); bind ranks near the GPUs of --list-devices\n",
        far->count, far->of, plural(far->of), far->first, far->near.bound, far->near.cores, far->near.numa);
}

void sp_binding_print(FILE *out, const sp_binding *binding)
{
    if (binding->device == SPMM_CUDA) {
        fprintf(out, "device     cuda: %s", binding->gpu.name);
        if (binding->gpu_sharers > 1) fprintf(out, ", shared by %d ranks", binding->gpu_sharers);
        fprintf(out, "\n");
        if (binding->far.count > 0) print_far_ranks(out, &binding->far);
    } else {
        char cores[64];
        const int threads = binding->threads * binding->core_sharers;
        sp_cores_text(cores, sizeof cores, binding);
        fprintf(out, "device     cpu: %d thread%s", binding->threads, plural(binding->threads));
        if (binding->core_sharers > 1)
            fprintf(out, " per rank, %d ranks share %s", binding->core_sharers, cores);
        else
            fprintf(out, " on %s per rank", cores);
        if (threads > binding->cores) fprintf(out, "; oversubscribed: %d threads", threads);
        fprintf(out, "\n");
        if (binding->spanning > 0)
            fprintf(out,
                    "           %d rank%s on cores of several NUMA nodes; with one rank per NUMA node, each "
                    "rank reads local memory (Open MPI: --map-by ppr:1:numa --bind-to numa)\n",
                    binding->spanning, binding->spanning == 1 ? " has threads" : "s have threads");
    }
}

spmm_status spmm_device_open(MPI_Comm comm)
{
    SP_DEFAULT_FP;
    sp_binding binding;
    TRY(sp_comm_check(comm, __func__));
    /* 1 thread: ignored, because every plan has its own number of threads */
    return sp_bind_rank(comm, SP_DEVICE_CUDA, 1, &binding);
}

void spmm_device_close(void) { sp_device_close(); }
