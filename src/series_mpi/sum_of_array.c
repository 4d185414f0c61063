/** Sums an array that is cut between the ranks. */
#include "series_mpi/sum_of_array.h"

#include "device/device.h"
#include "formats/multivector.h"
#include "series_mpi/job.h"

spmm_status sp_array_scatter(const sp_grid *grid, const sp_ranges *ranges, const void *all,
                             spmm_precision precision, spmm_device device, sp_series *part)
{
    const int64_t first = ranges->row_begin[grid->rank], length = ranges->row_begin[grid->rank + 1] - first;
    /* a series has at least one value: a rank without numbers has no series */
    const int64_t count = length > 0, values = length > 0 ? length : 1;
    sp_series host = {0};
    *part = (sp_series){0};
    spmm_status status = sp_series_create(count, values, 0, SP_SERIES_MAJOR, precision, device, part);
    if (status == SPMM_OK && device != SPMM_CPU)
        status = sp_series_create(count, values, 0, SP_SERIES_MAJOR, precision, SPMM_CPU, &host);
    spmm_multivector *const to = device == SPMM_CPU ? &part->v : &host.v;
    TRY_GOTO(sp_agree(grid->comm, "series", status), done);
    TRY_GOTO(sp_scatter_rows(grid, ranges, 0, all, sp_value_size(precision), to->data, SP_TAG_SERIES), done);
    if (to != &part->v) status = spmm_multivector_copy(to, &part->v);
    status = sp_agree(grid->comm, "series", status);
done:
    spmm_multivector_destroy(&host.v);
    return status;
}

spmm_status sp_array_reduction(const sp_grid *line, spmm_precision precision, spmm_reduce method,
                               sp_reduction **reduction)
{
    return sp_reduction_create(line, 1, precision, SPMM_CPU, method, 1, NULL, reduction);
}

spmm_status sp_array_part_sum(const sp_array_sum *a, double *sum)
{
    const spmm_device device = a->launch.x->v.space;
    *sum = 0;
    if (a->launch.x->count == 0) return SPMM_OK;
    TRY(a->kernel->ops->run(&a->launch));
    if (device == SPMM_CUDA) TRY(sp_device_sync());
    return sp_series_download(device, sum, a->launch.mean, sizeof *sum);
}

spmm_status sp_array_combine(const sp_array_sum *a, spmm_status summed, double *sum)
{
    const spmm_precision p = a->launch.x->v.precision;
    sp_value value;
    if (!a->reduction) return summed;
    if (summed != SPMM_OK) {
        sp_reduction_skip(a->reduction);
        return summed;
    }
    sp_value_set(&value, p, 0, *sum);
    TRY(sp_reduction_run(a->reduction, &value));
    *sum = sp_value_get(&value, p, 0);
    return SPMM_OK;
}

int sp_array_has_sum(spmm_reduce method, int rank) { return rank == 0 || sp_reduce_everywhere(method); }

double sp_array_model(spmm_reduce method, int64_t count, int ranks, double calc, double com)
{
    const int64_t most = (count + ranks - 1) / ranks;
    return (double)(most > 1 ? most - 1 : 0) * calc + sp_reduce_steps(method, ranks) * (com + calc);
}
