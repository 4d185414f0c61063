/** Writes a run's record as JSON Lines and CSV. */
#include <math.h>

#include "spmm_mpi/report.h"

static void run_group(sp_writer *s, const sp_record *r)
{
    sp_writer_open(s, "run");
    sp_writer_int(s, "ranks", r->run.ranks);
    sp_writer_pair(s, "grid", "grid_p", "grid_q", r->run.grid);
    sp_program_write_binding(s, r->run.binding);
    sp_writer_text(s, "format", r->run.format);
    sp_writer_text(s, "kernel", r->run.kernel);
    sp_writer_text(s, "precision", r->run.precision);
    sp_writer_int(s, "k", r->run.k);
    sp_writer_text(s, "partition", r->run.partition);
    sp_writer_text(s, "exchange", r->run.exchange);
    sp_writer_text(s, "transport", r->run.transport);
    sp_writer_int(s, "repeat", r->run.repeat);
    sp_writer_int(s, "warmup", r->run.warmup);
    sp_writer_text(s, "x", r->run.x);
    sp_writer_text(s, "verify", r->run.verify);
    sp_writer_close(s);
}

static void seconds_group(sp_writer *s, const sp_seconds *t)
{
    sp_writer_open(s, "seconds");
    sp_writer_double(s, "read", t->read);
    sp_writer_double(s, "partition", t->partition);
    sp_writer_double(s, "scatter", t->scatter);
    sp_writer_double(s, "convert", t->convert);
    sp_writer_double(s, "x", t->x);
    sp_writer_double(s, "exchange", t->exchange);
    sp_writer_double(s, "kernel", t->kernel);
    sp_writer_double(s, "apply", t->apply);
    sp_writer_double(s, "gather", t->gather);
    sp_writer_double(s, "verify", t->verify);
    sp_writer_double(s, "total", t->total);
    sp_writer_close(s);
}

static void error_group(sp_writer *s, const sp_record *r)
{
    const int done = r->mode != SP_VERIFY_NONE;
    sp_writer_open(s, "error");
    sp_writer_double(s, "max_relative", done ? r->error.max_relative : NAN);
    sp_writer_double(s, "mean_relative", done ? r->error.mean_relative : NAN);
    sp_writer_int(s, "checked", r->error.checked);
    sp_writer_int(s, "wrong", r->error.wrong);
    sp_writer_int(s, "different", r->error.different);
    sp_writer_bool(s, "passed", r->passed && done);
    sp_writer_close(s);
}

/** Writes the group "moved": the communication of a product, and the times of the product's phases. */
static void moved_group(sp_writer *s, const sp_record *r)
{
    sp_writer_open(s, "moved");
    sp_writer_text(s, "reduce", r->run.reduce);
    sp_writer_bool(s, "overlap", r->run.overlap);
    sp_writer_int(s, "rows", r->moved.rows);
    sp_writer_int(s, "all_rows", r->moved.all_rows);
    sp_writer_int(s, "bcast_rows", r->moved.bcast_rows);
    sp_writer_int(s, "neighbours", r->moved.neighbours);
    sp_writer_int(s, "column_blocks", r->moved.column_blocks);
    sp_writer_double(s, "interior_share", r->moved.interior);
    sp_writer_double(s, "hidden", r->moved.all_rows > 0 ? r->moved.hidden : NAN);
    sp_writer_double(s, "halo_seconds", r->seconds.halo);
    sp_writer_double(s, "interior_seconds", r->seconds.interior);
    sp_writer_double(s, "boundary_seconds", r->seconds.boundary);
    sp_writer_double(s, "reduce_seconds", r->seconds.reduce);
    sp_writer_double(s, "no_exchange_seconds", r->moved.all_rows > 0 ? r->seconds.no_exchange : NAN);
    sp_writer_close(s);
}

/** Writes the group "probe": the results of --probe. */
static void probe_group(sp_writer *s, const sp_record *r)
{
    sp_writer_open(s, "probe");
    sp_writer_double(s, "latency_seconds", r->probe.latency > 0 ? r->probe.latency : NAN);
    sp_writer_double(s, "seconds_per_byte", r->probe.per_byte > 0 ? r->probe.per_byte : NAN);
    sp_writer_double(s, "seconds_per_flop", r->probe.per_flop > 0 ? r->probe.per_flop : NAN);
    sp_writer_close(s);
}

/** Passes every field of the record to the writer once; JSON and CSV thus have the same order of fields. */
static void visit(sp_writer *s, const void *record)
{
    const sp_record *const r = record;
    sp_writer_text(s, "version", SPMM_VERSION);
    sp_writer_open(s, "matrix");
    sp_writer_text(s, "source", r->matrix.source);
    sp_writer_int(s, "rows", r->matrix.rows);
    sp_writer_int(s, "cols", r->matrix.cols);
    sp_writer_int(s, "nnz", r->matrix.nnz);
    sp_writer_text(s, "field", r->matrix.field);
    sp_writer_text(s, "symmetry", r->matrix.symmetry);
    sp_writer_close(s);
    run_group(s, r);
    seconds_group(s, &r->seconds);
    sp_writer_open(s, "apply");
    sp_writer_stats(s, &r->apply);
    sp_writer_close(s);
    sp_writer_double(s, "gflops", r->gflops);
    sp_writer_double(s, "imbalance", r->imbalance);
    error_group(s, r);
    sp_writer_open(s, "memory");
    sp_writer_int(s, "root_peak_bytes", r->memory.root_peak_bytes);
    sp_writer_int(s, "rank_peak_bytes", r->memory.rank_peak_bytes);
    sp_writer_int(s, "load_peak_bytes", r->memory.load_peak_bytes);
    sp_writer_close(s);
    /* add new fields at the end, so that earlier CSV columns keep their positions */
    const int measured = r->dram_bound.copy_bandwidth > 0;
    sp_writer_double(s, "dram_bound_share", measured ? r->dram_bound.share : NAN);
    sp_writer_double(s, "copy_bytes_per_second", measured ? r->dram_bound.copy_bandwidth : NAN);
    moved_group(s, r);
    probe_group(s, r);
}

spmm_status sp_report_files(const sp_options *o, const sp_record *r)
{
    return sp_writer_files(o->json, o->csv, visit, r);
}
