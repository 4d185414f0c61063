#include <math.h>

#include "cli/record_writer.h"
#include "spmm_mpi/report.h"

static void run_group(sp_sink *s, const sp_record *r)
{
    sp_sink_open(s, "run");
    sp_sink_whole(s, "ranks", r->run.ranks);
    sp_sink_pair(s, "grid", "grid_p", "grid_q", r->run.grid);
    sp_sink_text(s, "device", r->run.device);
    sp_sink_text(s, "gpu", r->run.gpu);
    sp_sink_text(s, "host", r->run.host);
    sp_sink_whole(s, "threads", r->run.threads);
    sp_sink_text(s, "format", r->run.format);
    sp_sink_text(s, "kernel", r->run.kernel);
    sp_sink_text(s, "precision", r->run.precision);
    sp_sink_whole(s, "k", r->run.k);
    sp_sink_text(s, "partition", r->run.partition);
    sp_sink_text(s, "exchange", r->run.exchange);
    sp_sink_text(s, "transport", r->run.transport);
    sp_sink_whole(s, "repeat", r->run.repeat);
    sp_sink_whole(s, "warmup", r->run.warmup);
    sp_sink_text(s, "x", r->run.x);
    sp_sink_text(s, "verify", r->run.verify);
    sp_sink_close(s);
}

static void seconds_group(sp_sink *s, const sp_seconds *t)
{
    sp_sink_open(s, "seconds");
    sp_sink_real(s, "read", t->read);
    sp_sink_real(s, "partition", t->partition);
    sp_sink_real(s, "scatter", t->scatter);
    sp_sink_real(s, "convert", t->convert);
    sp_sink_real(s, "x", t->x);
    sp_sink_real(s, "exchange", t->exchange);
    sp_sink_real(s, "kernel", t->kernel);
    sp_sink_real(s, "apply", t->apply);
    sp_sink_real(s, "gather", t->gather);
    sp_sink_real(s, "verify", t->verify);
    sp_sink_real(s, "total", t->total);
    sp_sink_close(s);
}

static void error_group(sp_sink *s, const sp_record *r)
{
    const int done = r->mode != SP_VERIFY_NONE;
    sp_sink_open(s, "error");
    sp_sink_real(s, "max_relative", done ? r->error.max_relative : NAN);
    sp_sink_real(s, "mean_relative", done ? r->error.mean_relative : NAN);
    sp_sink_whole(s, "checked", r->error.checked);
    sp_sink_whole(s, "wrong", r->error.wrong);
    sp_sink_whole(s, "different", r->error.different);
    sp_sink_truth(s, "passed", r->passed && done);
    sp_sink_close(s);
}

/** What a product moves between ranks, and where its time goes. */
static void moved_group(sp_sink *s, const sp_record *r)
{
    sp_sink_open(s, "moved");
    sp_sink_text(s, "reduce", r->run.reduce);
    sp_sink_truth(s, "overlap", r->run.overlap);
    sp_sink_whole(s, "rows", r->moved.rows);
    sp_sink_whole(s, "all_rows", r->moved.all_rows);
    sp_sink_whole(s, "bcast_rows", r->moved.bcast_rows);
    sp_sink_whole(s, "neighbours", r->moved.neighbours);
    sp_sink_whole(s, "slices", r->moved.slices);
    sp_sink_real(s, "interior_share", r->moved.interior);
    sp_sink_real(s, "hidden", r->moved.all_rows > 0 ? r->moved.hidden : NAN);
    sp_sink_real(s, "halo_seconds", r->seconds.halo);
    sp_sink_real(s, "interior_seconds", r->seconds.interior);
    sp_sink_real(s, "boundary_seconds", r->seconds.boundary);
    sp_sink_real(s, "reduce_seconds", r->seconds.reduce);
    sp_sink_real(s, "still_seconds", r->moved.all_rows > 0 ? r->seconds.still : NAN);
    sp_sink_close(s);
}

/** Of --probe. */
static void probe_group(sp_sink *s, const sp_record *r)
{
    sp_sink_open(s, "probe");
    sp_sink_real(s, "latency_seconds", r->probe.latency > 0 ? r->probe.latency : NAN);
    sp_sink_real(s, "seconds_per_byte", r->probe.per_byte > 0 ? r->probe.per_byte : NAN);
    sp_sink_real(s, "seconds_per_flop", r->probe.per_flop > 0 ? r->probe.per_flop : NAN);
    sp_sink_close(s);
}

/** Every field, once, whatever the form. */
static void visit(sp_sink *s, const void *record)
{
    const sp_record *const r = record;
    sp_sink_text(s, "version", SPMM_VERSION);
    sp_sink_open(s, "matrix");
    sp_sink_text(s, "source", r->matrix.source);
    sp_sink_whole(s, "rows", r->matrix.rows);
    sp_sink_whole(s, "cols", r->matrix.cols);
    sp_sink_whole(s, "nnz", r->matrix.nnz);
    sp_sink_text(s, "field", r->matrix.field);
    sp_sink_text(s, "symmetry", r->matrix.symmetry);
    sp_sink_close(s);
    run_group(s, r);
    seconds_group(s, &r->seconds);
    sp_sink_open(s, "apply");
    sp_sink_stats(s, &r->apply);
    sp_sink_close(s);
    sp_sink_real(s, "gflops", r->gflops);
    sp_sink_real(s, "imbalance", r->imbalance);
    error_group(s, r);
    sp_sink_open(s, "memory");
    sp_sink_whole(s, "root_peak_bytes", r->memory.root_peak_bytes);
    sp_sink_whole(s, "rank_peak_bytes", r->memory.rank_peak_bytes);
    sp_sink_whole(s, "load_peak_bytes", r->memory.load_peak_bytes);
    sp_sink_close(s);
    /* new fields go to the end, where readers of columns do not miss them */
    const int measured = r->floor.copy_rate > 0;
    sp_sink_real(s, "floor_share", measured ? r->floor.share : NAN);
    sp_sink_real(s, "copy_bytes_per_second", measured ? r->floor.copy_rate : NAN);
    moved_group(s, r);
    probe_group(s, r);
}

spmm_status sp_report_json(const char *path, const sp_record *r) { return sp_sink_json(path, visit, r); }
spmm_status sp_report_csv(const char *path, const sp_record *r) { return sp_sink_csv(path, visit, r); }
