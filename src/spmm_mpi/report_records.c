/** Writes a run's record as JSON Lines and CSV. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/enum_words.h"
#include "base/words.h"
#include "formats/multivector.h"
#include "product/column_blocks.h"
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
    sp_writer_int(s, "neighbours", r->moved.neighbors);
    sp_writer_int(s, "column_blocks", r->moved.column_blocks);
    sp_writer_double(s, "interior_share", r->moved.interior);
    sp_writer_double(s, "hidden", r->moved.all_rows > 0 ? r->moved.hidden : NAN);
    sp_writer_double(s, "halo_seconds", r->seconds.halo);
    sp_writer_double(s, "interior_seconds", r->seconds.interior);
    sp_writer_double(s, "boundary_seconds", r->seconds.boundary);
    sp_writer_double(s, "reduce_seconds", r->seconds.reduce);
    sp_writer_double(s, "no_exchange_seconds", r->moved.all_rows > 0 ? r->seconds.no_exchange : NAN);
    sp_writer_double(s, "nnz_rows", r->moved.nnz_rows >= 0 ? (double)r->moved.nnz_rows : NAN);
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

/** Writes the candidates of a trial and their times. */
static void trial_list(sp_writer *s, const char *name, const sp_trial *trial)
{
    char text[SP_MOST_TRIED * 64];
    sp_trial_list(trial, text, sizeof text);
    sp_writer_text(s, name, text);
}

/** Writes the group "plan": the candidates of its trials. */
static void plan_group(sp_writer *s, const sp_record *r)
{
    const sp_decision *const row = r->plan.decisions.row, *const kernel = &row[SP_DECIDES_KERNEL];
    const sp_trial *const variants = &row[SP_DECIDES_VARIANT].trial;
    const double measured = variants->count > 0 ? variants->tried[variants->chosen].seconds : NAN;
    sp_writer_open(s, "plan");
    sp_writer_int(s, "partial_rows", r->moved.partial_rows);
    trial_list(s, "kernels", &kernel->trial);
    sp_writer_double(s, "kernels_seconds", kernel->trial.count > 0 ? kernel->trial.took : NAN);
    sp_writer_text(s, "why", kernel->why);
    trial_list(s, "variants", variants);
    trial_list(s, "reductions", &row[SP_DECIDES_REDUCE].trial);
    sp_writer_text(s, "steps", r->plan.steps);
    sp_writer_int(s, "chosen", variants->chosen);
    sp_writer_double(s, "measured_seconds", measured);
    sp_writer_double(s, "one_rank_seconds", r->plan.one_rank);
    sp_writer_text(s, "backend", r->run.backend);
    sp_writer_close(s);
}

/** Writes the group "decisions": what the plan decided, in the order of the decisions, and why. */
static void decisions_group(sp_writer *s, const sp_record *r)
{
    char text[SP_DECISION_BYTES];
    sp_writer_open(s, "decisions");
    for (int i = 0; i < SP_DECISIONS; i++) {
        const sp_decision *const d = &r->plan.decisions.row[i];
        snprintf(text, sizeof text, "%s%s%s", d->taken, d->taken[0] ? ", " : "", d->why);
        sp_writer_text(s, sp_decision_words[i], text);
    }
    sp_writer_double(s, "repaid_after", sp_decisions_repaid(&r->plan.decisions, r->seconds.convert));
    sp_writer_close(s);
}

/** Writes a number, or null if it is 0, which means unknown. */
static void number_or_null(sp_writer *s, const char *name, double value)
{
    sp_writer_double(s, name, value > 0 ? value : NAN);
}

/** Writes the group "launch": the launch shape of the CUDA kernel of rank 0. */
static void launch_group(sp_writer *s, const sp_record *r)
{
    sp_writer_open(s, "launch");
    number_or_null(s, "block_size", r->run.shape.block);
    number_or_null(s, "subwarp", r->run.shape.subwarp);
    number_or_null(s, "registers", r->run.shape.registers);
    number_or_null(s, "blocks", (double)r->run.shape.blocks);
    const int launched = r->run.shape.block > 0;
    sp_writer_double(s, "static_shared_bytes", launched ? (double)r->run.shape.static_shared : NAN);
    sp_writer_double(s, "dynamic_shared_bytes", launched ? (double)r->run.shape.dynamic_shared : NAN);
    number_or_null(s, "resident_blocks", r->run.shape.resident);
    number_or_null(s, "occupancy", r->run.shape.occupancy);
    sp_writer_close(s);
}

/** Writes the group "copies": the copies to, from and within rank 0's GPU that --probe measured. The group is
 *  separate from "probe", so that earlier CSV columns keep their positions. */
static void copies_group(sp_writer *s, const sp_host_copies *c)
{
    sp_writer_open(s, "copies");
    number_or_null(s, "to_device_pinned_bytes_per_second", c->to_pinned);
    number_or_null(s, "to_device_pageable_bytes_per_second", c->to_pageable);
    number_or_null(s, "from_device_pinned_bytes_per_second", c->from_pinned);
    number_or_null(s, "from_device_pageable_bytes_per_second", c->from_pageable);
    number_or_null(s, "within_device_bytes_per_second", c->within);
    sp_writer_close(s);
}

static const char *on_off(int on) { return on ? "on" : "off"; }

/** Writes the group "asked": options and variables that affect how a product is computed, as they were given.
 *  The choices of the program are in the other groups; X, K and precision are in "run". */
static void asked_group(sp_writer *s, const sp_options *o)
{
    const char *const isa = getenv("SPMM_ISA"), *const backend = getenv("SPMM_EXCHANGE_BACKEND");
    char grid[32] = "";
    if (o->p > 0) snprintf(grid, sizeof grid, "%dx%d", o->p, o->q);
    sp_writer_open(s, "asked");
    sp_writer_text(s, "device", sp_device_words[1 + (int)o->device]);
    sp_writer_text(s, "kernel", o->kernel ? o->kernel->id : o->all_kernels ? "all" : "auto");
    sp_writer_text(s, "format", sp_format_word(o->format));
    sp_writer_text(s, "grid", o->grid_auto ? "auto" : grid);
    sp_writer_int(s, "threads", o->threads);
    sp_writer_text(s, "partition", sp_partition_word(o->partition));
    sp_writer_text(s, "exchange", sp_exchange_word(o->exchange));
    sp_writer_text(s, "transport", sp_transport_word(o->transport));
    sp_writer_text(s, "reduce", sp_reduce_word(o->reduce));
    sp_writer_int(s, "block_size", o->shape.block);
    sp_writer_int(s, "subwarp", o->shape.subwarp);
    sp_writer_text(s, "overlap", on_off(!o->no_overlap));
    sp_writer_int(s, "column_blocks", o->column_blocks);
    sp_writer_text(s, "reproducible", sp_bits_word(o->bits));
    sp_writer_text(s, "plan", o->quick_plan ? "quick" : "timed");
    sp_writer_int(s, "products", o->products);
    sp_writer_text(s, "autotune", on_off(o->tune));
    sp_writer_text(s, "io", o->io_parallel ? "parallel" : "root");
    sp_writer_text(s, "scatter", sp_scatter_word(o));
    sp_writer_text(s, "scatter_format", sp_format_word(o->scatter_padded ? SPMM_ELL : SPMM_CSR));
    sp_writer_double(s, "ell_limit", o->ell_limit);
    sp_writer_text(s, "isa", isa ? isa : "");
    sp_writer_text(s, "backend", backend ? backend : "");
    sp_writer_text(s, "exchange_precision", sp_precision_word(o->exchange_precision));
    sp_writer_text(s, "values", sp_values_word(o));
    sp_writer_close(s);
}

/** A run, in the form that visit() receives. */
typedef struct reported_run {
    const sp_options *options;
    const sp_record *record;
} reported_run;

/** Writes the group "scatter": the distribution of A. seconds.scatter is its total time. */
static void scatter_group(sp_writer *s, const sp_record *r)
{
    const int padded = r->seconds.pad > 0 || r->seconds.unpad > 0;
    sp_writer_open(s, "scatter");
    sp_writer_text(s, "way", r->scatter.way);
    sp_writer_text(s, "format", r->scatter.format);
    sp_writer_double(s, "bands_seconds", r->seconds.bands > 0 ? r->seconds.bands : NAN);
    sp_writer_double(s, "pad_seconds", padded ? r->seconds.pad : NAN);
    sp_writer_double(s, "unpad_seconds", padded ? r->seconds.unpad : NAN);
    sp_writer_close(s);
}

/** Writes the group "rounding": the precision in which rows of X traveled, and the error of Y that their
 *  rounding allows. */
static void rounding_group(sp_writer *s, const sp_record *r)
{
    const int verified = r->run.rounded && r->mode != SP_VERIFY_NONE;
    sp_writer_open(s, "rounding");
    sp_writer_text(s, "exchange_precision", r->run.rounded ? sp_precision_word(SPMM_F32) : r->run.precision);
    sp_writer_double(s, "max_bound", verified ? r->error.rounding : NAN);
    sp_writer_double(s, "of_bound", verified ? r->error.of_bound : NAN);
    sp_writer_close(s);
}

/** Passes every field of the record to the writer once; JSON and CSV thus have the same order of fields. */
static void visit(sp_writer *s, const void *record)
{
    const reported_run *const run = record;
    const sp_record *const r = run->record;
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
    sp_writer_open(s, "library");
    sp_writer_text(s, "version", r->library.version);
    sp_writer_text(s, "way", r->library.way);
    sp_writer_close(s);
    sp_writer_int(s, "message_rows", r->moved.message_rows);
    sp_writer_schema(s);
    plan_group(s, r);
    launch_group(s, r);
    asked_group(s, run->options);
    copies_group(s, &r->probe.copies);
    scatter_group(s, r);
    rounding_group(s, r);
    sp_writer_text(s, "warning", sp_program_warning());
    decisions_group(s, r);
    sp_program_write_measured(s);
}

spmm_status sp_report_files(const sp_options *o, const sp_record *r)
{
    return sp_writer_files(o->json, o->csv, visit, &(reported_run){o, r});
}

/* ---- --dry-run ---- */

#define WIDE(name, member) name, offsetof(sp_rank_count, member), 1
#define SMALL(name, member) name, offsetof(sp_rank_count, member), 0

/** The lists of the group "per_rank": members of sp_rank_count, of type int64_t or int. The last JOINT_LISTS
 *  lists are for the joint exchange. */
/* clang-format off */
static const struct {
    const char *name;
    size_t field;
    int wide;
} per_rank[] = {
    {WIDE("rows", rows)}, {WIDE("nnz", nnz)}, {WIDE("x_rows", x_rows)}, {WIDE("halo_rows", halo_rows)},
    {WIDE("sent_rows", sent_rows)}, {WIDE("packed_rows", packed_rows)},
    {WIDE("boundary_rows", boundary_rows)}, {WIDE("interior_run", interior_run)},
    {SMALL("receives_from", receives_from)}, {SMALL("sends_to", sends_to)}, {WIDE("far_rows", far_rows)},
    {WIDE("far_sent", far_sent)}, {SMALL("far_from", far_from)}, {SMALL("far_to", far_to)},
    {WIDE("joint_received", joint.received)}, {WIDE("joint_sent", joint.sent)},
    {SMALL("joint_receives_from", joint.receives_from)}, {SMALL("joint_sends_to", joint.sends_to)},
    {WIDE("joint_far_received", joint.far_received)}, {WIDE("joint_far_sent", joint.far_sent)},
    {SMALL("joint_far_from", joint.far_from)}, {SMALL("joint_far_to", joint.far_to)},
};
/* clang-format on */
enum { LISTS = sizeof per_rank / sizeof *per_rank, JOINT_LISTS = 8 };

static int64_t count_of(const void *record, int64_t rank, int list)
{
    const sp_rank_count *const c = ((const sp_counts_record *)record)->ranks + rank;
    const void *const field = (const char *)c + per_rank[list].field;
    return per_rank[list].wide ? *(const int64_t *)field : *(const int *)field;
}

static int64_t column_blocks_of(const void *record, int64_t rank, int list)
{
    const sp_counts_record *const c = record;
    (void)list;
    return sp_column_blocks_best(c->model->k, c->a->precision, c->ranks[rank].halo_rows);
}

static void counts_group(sp_writer *s, const sp_counts_record *c)
{
    const int64_t row = sp_multivector_ld(c->model->k, c->a->precision) * sp_value_size(c->a->precision);
    sp_writer_open(s, "counts");
    sp_writer_int(s, "ranks", (int64_t)c->cost->p * c->cost->q);
    sp_writer_pair(s, "grid", "grid_p", "grid_q", (const int[]){c->cost->p, c->cost->q});
    number_or_null(s, "ranks_per_node", c->model->per_node);
    sp_writer_text(s, "device", sp_device_word(c->model->device));
    sp_writer_bool(s, "crosses_once", sp_crossing_of(c->model).x_once);
    sp_writer_text(s, "partition",
                   sp_partition_word(c->options->partition == SP_PARTITION_AUTO ? SP_PARTITION_NNZ
                                                                                : c->options->partition));
    sp_writer_text(s, "exchange", sp_exchange_word(c->options->exchange));
    sp_writer_text(s, "precision", sp_precision_word(c->a->precision));
    sp_writer_int(s, "k", c->model->k);
    sp_writer_int(s, "row_bytes", row);
    sp_writer_int(s, "received_rows", c->cost->received);
    sp_writer_double(s, "joint_rows", c->model->joint ? (double)c->cost->joint : NAN);
    sp_writer_double(s, "moved_bytes", c->cost->moved);
    sp_writer_double(s, "held_bytes", c->cost->held);
    sp_writer_close(s);
}

/** Passes every field of the counts of --dry-run to the writer once. */
static void visit_counts(sp_writer *s, const void *record)
{
    const sp_counts_record *const c = record;
    const int64_t ranks = (int64_t)c->cost->p * c->cost->q;
    sp_writer_text(s, "version", SPMM_VERSION);
    sp_writer_open(s, "matrix");
    sp_writer_text(s, "source", c->options->matrix);
    sp_writer_int(s, "rows", c->a->rows);
    sp_writer_int(s, "cols", c->a->cols);
    sp_writer_int(s, "nnz", c->a->nnz);
    sp_writer_close(s);
    counts_group(s, c);
    sp_writer_open(s, "per_rank");
    for (int i = 0; i < LISTS; i++)
        sp_writer_list(s, per_rank[i].name, i < LISTS - JOINT_LISTS || c->model->joint ? ranks : 0, count_of,
                       c, i);
    sp_writer_list(s, "column_blocks", ranks, column_blocks_of, c, 0);
    sp_writer_close(s);
    sp_writer_schema(s);
    sp_writer_text(s, "warning", sp_program_warning());
    sp_program_write_measured(s);
}

spmm_status sp_report_counts(const sp_counts_record *c)
{
    return sp_writer_files(c->options->json, c->options->csv, visit_counts, c);
}
