/** Stores in the tuning file the kernel that --autotune found for each K, and looks it up. */
#include <string.h>

#include "base/cpu_isa.h"
#include "base/enum_words.h"
#include "spmm_mpi/job.h"
#include "spmm_mpi/tune.h"

static void warn(const sp_place *place, const char *what)
{
    if (place->verbosity < 0) return;
    fflush(stdout);
    fprintf(stderr, "spmm_mpi: warning: %s: %s\n", what, spmm_error_message());
}

spmm_status sp_job_start_tuning(const sp_job *job, sp_tuning *t)
{
    const spmm_block *const block = &job->dist.block;
    *t = (sp_tuning){.hash = 0};
    if (!job->options.tune) return SPMM_OK;
    t->hash = sp_structure_hash(&block->csr, block->row_begin, job->place.binding.threads);
    if (sp_is_root(&job->place) && sp_tune_path(t->path, sizeof t->path) != SPMM_OK) {
        t->path[0] = '\0';
        warn(&job->place, "the tuning result is not stored");
    }
    return SP_MPI(MPI_Allreduce(MPI_IN_PLACE, &t->hash, 1, MPI_UINT64_T, MPI_SUM, job->place.grid.comm));
}

/** Writes to `key` the key for K = k: everything that the fastest kernel may depend on. */
static void make_key(const sp_job *job, const sp_tuning *t, int64_t k, char *key, size_t n)
{
    const sp_options *const o = &job->options;
    const sp_matrix_facts *const m = &job->input.facts;
    const sp_binding *const binding = &job->place.binding;
    char device[192], name[128];
    if (binding->device == SPMM_CUDA)
        snprintf(device, sizeof device, "%s", binding->gpu.name);
    else
        snprintf(device, sizeof device, "%s %s", sp_cpu_name(name, sizeof name), sp_isa_name(sp_cpu_isa()));
    snprintf(key, n, "%s %016llx %lldx%lld %lld K=%lld %s %s threads=%d grid=%dx%d %s %s %s ell=%g %d %d%s%s",
             SPMM_VERSION, (unsigned long long)t->hash, (long long)m->rows, (long long)m->cols,
             (long long)m->nnz, (long long)k, sp_precision_word(o->precision), device, binding->threads,
             job->place.grid.dims[0], job->place.grid.dims[1], sp_partition_word(job->dist.cut.taken),
             sp_exchange_word(job->dist.halo.kind), sp_format_word(o->format), o->ell_limit, o->shape.block,
             o->shape.subwarp, o->bits == SP_BITS_EXACT ? " exact" : "",
             o->round_values && o->precision == SPMM_F64 ? " values=f32" : "");
}

spmm_status sp_job_recall(const sp_job *job, const sp_tuning *t, int64_t k, const sp_kernel **kernel,
                          double *seconds)
{
    const sp_options *const o = &job->options;
    struct {
        double seconds;
        char name[64];
    } known = {0, ""};
    *kernel = NULL;
    if (!o->tune) return SPMM_OK;
    if (sp_is_root(&job->place) && t->path[0]) {
        char key[SP_TUNE_KEY_BYTES];
        const sp_kernel *found = NULL;
        make_key(job, t, k, key, sizeof key);
        if (sp_tune_find(t->path, key, job->place.binding.device, o->format, &found, &known.seconds) !=
            SPMM_OK)
            warn(&job->place, "earlier tuning results are not used");
        if (found) snprintf(known.name, sizeof known.name, "%s", found->id);
    }
    TRY(sp_bcast(job->place.grid.comm, SP_ROOT, &known, sizeof known));
    if (known.name[0]) *kernel = sp_kernel_find(known.name);
    *seconds = known.seconds;
    return SPMM_OK;
}

void sp_job_remember(const sp_job *job, const sp_tuning *t, int64_t k, const sp_kernel *kernel,
                     double seconds)
{
    char key[SP_TUNE_KEY_BYTES];
    if (!job->options.tune || !sp_is_root(&job->place) || !t->path[0]) return;
    make_key(job, t, k, key, sizeof key);
    if (sp_tune_store(t->path, key, kernel->id, seconds) != SPMM_OK)
        warn(&job->place, "the tuning result is not stored");
}
