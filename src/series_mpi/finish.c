/** Checks, prints and writes Pearson's coefficients on rank 0; also frees an sp_series_job. */
#include <string.h>

#include "base/memory.h"
#include "formats/multivector.h"
#include "series_mpi/job.h"

/** Copies the coefficients of the sampled series to `some`, from `all`, the coefficients of all series. */
static spmm_status select_sampled(const sp_series_job *job, const spmm_multivector *all,
                                  spmm_multivector *some)
{
    const sp_series_sample *const s = &job->sample;
    TRY(spmm_multivector_create(s->count, s->count > 0 ? s->count : 1, SPMM_F64, SPMM_CPU, some));
    for (int64_t i = 0; i < s->count; i++)
        for (int64_t j = 0; j < s->count; j++)
            ((double *)some->data)[i * some->ld + j] = sp_multivector_get(all, s->number[i], s->number[j]);
    return SPMM_OK;
}

static spmm_status on_root(sp_series_job *job, sp_series_record *r, const sp_pearson_result *result,
                           int everything, int last)
{
    const spmm_multivector *sampled = &result->coefficients;
    spmm_multivector some = {0};
    r->histogram = result->histogram;
    r->pearson.constant = result->constant;
    spmm_status status = SPMM_OK;
    if (everything && job->sample.count > 0) {
        status = select_sampled(job, &result->coefficients, &some);
        sampled = &some;
    }
    if (status == SPMM_OK && job->sample.count > 0) sp_series_check_pearson(job, sampled, r);
    spmm_multivector_destroy(&some);
    if (status != SPMM_OK) return status;
    TRY(sp_series_table_add(&job->table, r));
    if (last && job->options.verbosity >= 0) {
        sp_series_table_end_step(&job->table, stdout);
        sp_series_table_total(&job->table, stdout);
        sp_series_report_pairs(stdout, &job->options, r, result, job->count);
    }
    TRY(sp_series_report_files(&job->options, r));
    return job->options.output ? sp_multivector_write(&result->coefficients, job->options.output) : SPMM_OK;
}

spmm_status sp_series_finish_pearson(sp_series_job *job, sp_series_record *r, const sp_pearson_result *result,
                                     int everything, int last)
{
    const spmm_status status = sp_is_root(&job->place) ? on_root(job, r, result, everything, last) : SPMM_OK;
    return sp_agree(job->place.grid.comm, "output", status);
}

void sp_series_job_destroy(sp_series_job *job)
{
    sp_series_sample *const s = &job->sample;
    void *const of_sample[] = {s->number, s->absolute, s->reduced, s->center, s->spread, s->off, s->constant};
    for (size_t i = 0; i < sizeof of_sample / sizeof *of_sample; i++) sp_free(of_sample[i]);
    spmm_multivector_destroy(&s->series.v);
    sp_series_unmake(job, &job->x);
    sp_series_unmake(job, &job->rows);
    sp_series_free(job->place.binding.device, job->mean);
    sp_series_free(job->place.binding.device, job->spread);
    sp_series_free(job->place.binding.device, job->work);
    sp_series_table_destroy(&job->table);
    sp_ranges_destroy(&job->ranges);
    sp_place_destroy(&job->place);
}
