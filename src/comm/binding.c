#include "comm/binding.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/threads.h"

/** Cores of this process, and a key that is equal for equal sets of them. */
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

/** asked: 0: the default */
static spmm_status choose_threads(int asked, sp_place *place)
{
    char what[48];
    TRY(sp_environment_check());
    snprintf(what, sizeof what, "--threads %d", asked);
    if (asked != 0) TRY(sp_threads_check(what, asked));
    place->threads = asked;
    if (place->threads == 0) TRY(sp_threads_told(&place->threads));
    if (place->threads == 0) place->threads = place->cores / place->core_sharers;
    if (place->threads > sp_threads_most()) place->threads = sp_threads_most();
    if (place->threads < 1) place->threads = 1;
    return SPMM_OK;
}

static spmm_status place_threads(MPI_Comm comm, int asked, sp_place *place)
{
    char key[32];
    int which;
    const int quota = sp_threads_quota(NULL);
    place->cores = bound_cores(key, sizeof key);
    if (quota > 0 && quota < place->cores) place->cores = quota;
    TRY(sp_node_sharers(comm, key, &which, &place->core_sharers));
    return sp_agree(comm, "place", choose_threads(asked, place));
}

static spmm_status open_gpu(int node_rank, sp_place *place)
{
    const char *why = "";
    const int count = sp_device_count(&why);
    if (count == 0)
        return sp_fail(SPMM_ERR_NO_DEVICE, "device cuda: no usable GPU on %s: %s; use --device cpu",
                       place->host, why);
    TRY(sp_device_open(node_rank % count));
    return sp_device_describe(node_rank % count, &place->gpu);
}

spmm_status sp_place_rank(MPI_Comm comm, sp_device_choice choice, int threads, sp_place *place)
{
    memset(place, 0, sizeof *place);
    if (gethostname(place->host, sizeof place->host - 1) != 0)
        snprintf(place->host, sizeof place->host, "unknown");
    TRY(place_threads(comm, threads, place));
    int node_rank, node_size, gpus_everywhere;
    TRY(sp_node_rank(comm, &node_rank, &node_size));
    const char *why;
    TRY(sp_all(comm, choice != SP_DEVICE_CPU && sp_device_count(&why) > 0, &gpus_everywhere));
    const int use = choice == SP_DEVICE_CUDA || (choice == SP_DEVICE_AUTO && gpus_everywhere);
    place->device = use ? SPMM_CUDA : SPMM_CPU;
    TRY(sp_agree(comm, "place", use ? open_gpu(node_rank, place) : SPMM_OK));
    if (!use) return SPMM_OK;
    int which;
    return sp_node_sharers(comm, place->gpu.pci, &which, &place->gpu_sharers);
}

static const char *plural(int count) { return count == 1 ? "" : "s"; }

void sp_place_print(FILE *out, const sp_place *place)
{
    if (place->device == SPMM_CUDA) {
        fprintf(out, "device     cuda: %s", place->gpu.name);
        if (place->gpu_sharers > 1) fprintf(out, ", shared by %d ranks", place->gpu_sharers);
        fprintf(out, "\n");
    } else {
        const int threads = place->threads * place->core_sharers;
        fprintf(out, "device     cpu: %d thread%s a rank (%d core%s shared by %d rank%s)", place->threads,
                plural(place->threads), place->cores, plural(place->cores), place->core_sharers,
                plural(place->core_sharers));
        if (threads > place->cores)
            fprintf(out, ", oversubscribed: %d threads on %d core%s", threads, place->cores,
                    plural(place->cores));
        fprintf(out, "\n");
    }
}

spmm_status spmm_device_open(MPI_Comm comm)
{
    sp_place place;
    TRY(sp_comm_check(comm, __func__));
    return sp_place_rank(comm, SP_DEVICE_CUDA, 1, &place); /* a plan has threads of its own */
}

void spmm_device_close(void) { sp_device_close(); }
