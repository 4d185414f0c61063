/** Prints spmm_mpi's report as text: preamble, table of runs, comparison of kernels, summary. */
#include "spmm_mpi/report.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/enum_words.h"
#include "base/memory.h"

static double share(int64_t part, int64_t whole) { return whole > 0 ? (double)part / (double)whole : 0; }

static void exchange_line(FILE *out, const sp_record *r)
{
    if (r->moved.all_rows == 0) {
        fprintf(out, "exchange   none: every rank owns the rows of X that it needs\n");
        return;
    }
    fprintf(out,
            "exchange   %s: a rank receives at most %lld rows of X%s from %d neighbour%s; all ranks %lld",
            r->run.exchange, (long long)r->moved.rows, r->moved.partial_rows > 0 ? " and partial Y" : "",
            r->moved.neighbours, r->moved.neighbours == 1 ? "" : "s", (long long)r->moved.all_rows);
    if (r->moved.partial_rows > 0) fprintf(out, " (%lld of Y)", (long long)r->moved.partial_rows);
    if (r->moved.all_rows < r->moved.bcast_rows)
        fprintf(out, ", %.3g %% of a broadcast", 100 * share(r->moved.all_rows, r->moved.bcast_rows));
    fprintf(out, "\n");
}

/** Ends the line of the scatter: what it consisted of, unless rank 0 sent CSR blocks to all. */
static void scatter_parts(FILE *out, const sp_options *o, const sp_record *r)
{
    if (r->seconds.bands > 0)
        fprintf(out, ", of which bands to the first process column %.3f s", r->seconds.bands);
    if (o->scatter_padded)
        fprintf(out, ", as ELLPACK (conversion to it %.3f s, of it to CSR %.3f s)", r->seconds.pad,
                r->seconds.unpad);
    fprintf(out, "\n");
}

void sp_report_preamble(FILE *out, const sp_options *o, const sp_record *r)
{
    const sp_matrix_facts *const m = &r->matrix;
    static const char *const partition[] = {"entries", "even blocks", "a cut graph"};
    char text[32];
    fprintf(out, "spmm_mpi %s: Y := A X\n", SPMM_VERSION);
    fprintf(out, "matrix     %s, %lld x %lld, %lld entries (%s %s", m->source, (long long)m->rows,
            (long long)m->cols, (long long)m->nnz, m->field, m->symmetry);
    if (m->stored != m->nnz) fprintf(out, ", %lld stored", (long long)m->stored);
    fprintf(out, ")\n           entries per row: mean %.1f, longest %lld; empty rows: %lld\n",
            share(m->nnz, m->rows), (long long)m->longest, (long long)m->empty);
    if (m->duplicates)
        fprintf(out, "           %lld duplicate entries were summed\n", (long long)m->duplicates);
    fprintf(out, "ranks      %d as a %d x %d grid, rows by %s, imbalance %.3f\n", r->run.ranks,
            r->run.grid[0], r->run.grid[1], partition[o->partition], r->imbalance);
    sp_binding_print(out, r->run.binding);
    fprintf(out, "X          %s, %s\n", r->run.x, r->run.precision);
    exchange_line(out, r);
    if (m->read_bytes > 0)
        fprintf(out, "read       %.3f s (%s of %s at %.0f MB/s), scattered in %.3f s", r->seconds.read,
                sp_bytes_text(text, sizeof text, m->read_bytes),
                m->binary ? "binary arrays read" : "text parsed",
                m->parse_seconds > 0 ? m->read_bytes / m->parse_seconds / 1e6 : 0, r->seconds.scatter);
    else
        fprintf(out, "generated  %.3f s, scattered in %.3f s", r->seconds.read, r->seconds.scatter);
    scatter_parts(out, o, r);
}

void sp_report_ranks(FILE *out, const sp_rank_row *ranks, int count)
{
    fprintf(out, "\n  rank  (p, q)     host              first row        rows  first column     columns"
                 "       entries     block  rows of X  received  from      sent    to  threads  GPU\n");
    for (int i = 0; i < count; i++) {
        const sp_rank_row *r = &ranks[i];
        char text[32], place[32], gpu[64] = "-";
        if (r->binding.device == SPMM_CUDA)
            snprintf(gpu, sizeof gpu, "%d %.40s%s", r->binding.gpu.index, r->binding.gpu.pci,
                     r->binding.gpu_sharers > 1 ? " shared" : "");
        snprintf(place, sizeof place, "(%d, %d)", r->coords[0], r->coords[1]);
        fprintf(out, "  %4d  %-9s  %-14.14s %12lld %11lld  %12lld %11lld", i, place, r->binding.host,
                (long long)r->row_begin, (long long)r->rows, (long long)r->col_begin, (long long)r->cols);
        fprintf(out, " %13lld %9s %10lld %9lld %5d %9lld %5d %8d  %s\n", (long long)r->nnz,
                sp_bytes_text(text, sizeof text, (double)r->bytes), (long long)r->x_rows,
                (long long)r->halo_rows, r->sources, (long long)r->sent_rows, r->targets, r->binding.threads,
                gpu);
    }
}

void sp_report_table_head(FILE *out, int width)
{
    fprintf(out,
            "\n      K  %-*s  format     median ms       min       max  stddev   GFLOP/s   max rel err"
            "  mean rel err   wrong  bits   result\n",
            width, "kernel");
}

void sp_report_run(FILE *out, const sp_record *r, int width)
{
    const double spread = r->apply.mean > 0 ? 100 * r->apply.stddev / r->apply.mean : 0;
    fprintf(out, "%7lld  %-*s  %-9s %11.4f %9.4f %9.4f %6.1f%% %9.2f", (long long)r->run.k, width,
            r->run.kernel, r->run.format, 1e3 * r->apply.median, 1e3 * r->apply.min, 1e3 * r->apply.max,
            spread, r->gflops);
    if (r->mode == SP_VERIFY_NONE)
        fprintf(out, "             -             -       -  -      not verified\n");
    else
        fprintf(out, "      %8.2e      %8.2e %7lld  %-5s  %s\n", r->error.max_relative,
                r->error.mean_relative, (long long)r->error.wrong, r->error.different ? "differ" : "same",
                r->passed ? "PASS" : "FAIL");
    if (r->library.version[0])
        fprintf(out, "         theirs: %s: %s; set-up %.4f s\n", r->library.version, r->library.way,
                r->seconds.convert);
    if (r->mode != SP_VERIFY_NONE && r->error.wrong)
        fprintf(out,
                "         first wrong: Y(%lld,%lld) = %.17g, the serial product has %.17g (bound %.2e)\n",
                (long long)r->error.row + 1, (long long)r->error.column + 1, r->error.found,
                r->error.expected, r->error.bound);
}

/** Prints the ways of exchanging that were compared, if there were several. */
static void variants(FILE *out, const sp_record *r)
{
    const sp_variants *const all = &r->plan.variants;
    for (int i = 0; i < all->count && all->count > 1; i++) {
        const sp_variant *const v = &all->variant[i];
        char name[64], blocks[32] = "";
        if (v->column_blocks > 1) snprintf(blocks, sizeof blocks, ", %d column blocks", v->column_blocks);
        snprintf(name, sizeof name, "%s%s%s", sp_exchange_word(v->exchange), blocks,
                 v->overlap ? "" : ", no overlap");
        fprintf(out, "%-10s %-24s", i == 0 ? "plan" : "", name);
        if (!isnan(v->modelled)) fprintf(out, " modelled %9.4f ms,", 1e3 * v->modelled);
        if (isfinite(v->measured)) fprintf(out, " measured %9.4f ms", 1e3 * v->measured);
        if (isnan(v->measured)) fprintf(out, " not timed");
        if (isinf(v->measured)) fprintf(out, " too little memory");
        fprintf(out, "%s\n", i == all->chosen ? ", taken" : "");
    }
}

/** Prints what was tried, if there were several candidates. */
static void tried(FILE *out, const char *what, const sp_trial *trial)
{
    for (int i = 0; i < trial->count && trial->count > 1; i++) {
        const sp_tried *const t = &trial->tried[i];
        fprintf(out, "%-10s %-24s", i == 0 ? what : "", t->name);
        if (isfinite(t->seconds))
            fprintf(out, " measured %9.4f ms", 1e3 * t->seconds);
        else
            fprintf(out, isnan(t->seconds) ? " not timed" : " cannot be set up");
        fprintf(out, "%s\n", i == trial->chosen ? ", taken" : "");
    }
}

/** Says so if fewer ranks would be faster. */
static void fewer_ranks(FILE *out, const sp_record *r)
{
    if (r->run.ranks > 1 && r->plan.one_rank > 0 && r->plan.one_rank < r->apply.median)
        fprintf(out, "ranks      1 would take about %.4f ms for a product, the kernels' time of all %d\n",
                1e3 * r->plan.one_rank, r->run.ranks);
}

void sp_report_probe(FILE *out, const sp_record *r)
{
    const sp_host_copies *const c = &r->probe.copies;
    const char *why;
    fprintf(out, "\n");
    if (r->probe.latency > 0)
        fprintf(out, "message    of 8 bytes between the first and the last rank %.2f us, and %.2f GB/s\n",
                1e6 * r->probe.latency, 1e-9 / r->probe.per_byte);
    if (r->probe.per_flop > 0)
        fprintf(out, "operation  of the serial product %.2f ns\n", 1e9 * r->probe.per_flop);
    if (c->within > 0) {
        fprintf(out, "copies     host to device %.2f GB/s from pinned memory, %.2f from pageable memory\n",
                c->to_pinned / 1e9, c->to_pageable / 1e9);
        fprintf(out, "           device to host %.2f GB/s to pinned memory, %.2f to pageable memory\n",
                c->from_pinned / 1e9, c->from_pageable / 1e9);
        fprintf(out, "           device to device %.2f GB/s, read and written\n", c->within / 1e9);
    } else {
        const int gpus = sp_device_count(&why);
        if (gpus > 0) why = r->run.binding->device == SPMM_CPU ? "the run is on cores" : "too little memory";
        fprintf(out, "copies     between host and device: not measured: %s\n", why);
    }
}

static void launch_line(FILE *out, const sp_launch_shape *s)
{
    fprintf(out, "         launch: %lld blocks of %d threads with %d registers", (long long)s->blocks,
            s->block, s->registers);
    if (s->subwarp > 0) fprintf(out, ", %d lanes a sub-warp", s->subwarp);
    fprintf(out,
            "; shared memory of a block %lld + %lld bytes; %d blocks resident on a multiprocessor,"
            " occupancy %.0f %%\n",
            (long long)s->static_shared, (long long)s->dynamic_shared, s->resident, 100 * s->occupancy);
}

/** Prints the kernels that the plan's was chosen from, if there were several. */
static void kernels_line(FILE *out, const sp_trial *trial)
{
    if (trial->count < 2) return;
    fprintf(out, "         kernels, tried in %.2f ms:", 1e3 * trial->took);
    for (int i = 0; i < trial->count; i++) {
        const sp_tried *const t = &trial->tried[i];
        fprintf(out, "%s %s ", i > 0 ? "," : "", t->name);
        if (isfinite(t->seconds))
            fprintf(out, "%.4f ms", 1e3 * t->seconds);
        else
            fprintf(out, isnan(t->seconds) ? "not timed" : "cannot be set up");
        if (i == trial->chosen) fprintf(out, " (taken)");
    }
    fprintf(out, "\n");
}

void sp_report_phases(FILE *out, const sp_record *r)
{
    const sp_seconds *s = &r->seconds;
    fprintf(out, "         seconds: convert %.4f, X %.4f, apply %.6f, gather %.4f, verify %.4f\n", s->convert,
            s->x, s->apply, s->gather, s->verify);
    fprintf(out, "         steps: %s\n", r->plan.steps);
    fprintf(out, "         a product: interior rows %.6f, boundary rows %.6f", s->interior, s->boundary);
    if (r->run.grid[1] > 1) fprintf(out, ", sum of Y by %s %.6f", r->run.reduce, s->reduce);
    if (r->moved.all_rows > 0)
        fprintf(out, "; exchange by %s %.6f alone, %.0f %% of it hidden%s", r->run.transport, s->exchange,
                100 * r->moved.hidden, r->run.overlap ? "" : " (--no-overlap)");
    fprintf(out, "\n");
    if (r->run.shape.block > 0) launch_line(out, &r->run.shape);
    kernels_line(out, &r->plan.kernels);
    if (r->dram_bound.copy_bandwidth > 0) {
        char bytes[32];
        fprintf(out, "         DRAM bound: %s at the %.1f GB/s of a copy: %.2f of the time\n",
                sp_bytes_text(bytes, sizeof bytes, r->dram_bound.bytes), r->dram_bound.copy_bandwidth / 1e9,
                r->dram_bound.share);
    }
}

static int by_k_and_time(const void *a, const void *b)
{
    const sp_record *r = a, *s = b;
    if (r->run.k != s->run.k) return r->run.k < s->run.k ? -1 : 1;
    return (r->apply.median > s->apply.median) - (r->apply.median < s->apply.median);
}

void sp_report_comparison(FILE *out, sp_record *runs, int count, int width)
{
    const sp_record *best = runs;
    if (count < 1) return;
    qsort(runs, (size_t)count, sizeof *runs, by_k_and_time);
    fprintf(
        out,
        "\n      K  %-*s  format     median ms  to best   GFLOP/s  bound   max rel err  bits    set-up ms\n",
        width, "fastest first");
    for (const sp_record *r = runs; r < runs + count; r++) {
        char bound[16] = "-";
        if (r->run.k != best->run.k) {
            best = r;
            fputc('\n', out);
        }
        if (r->dram_bound.copy_bandwidth > 0) snprintf(bound, sizeof bound, "%.3f", r->dram_bound.share);
        fprintf(out, "%7lld  %-*s  %-9s %11.4f %8.2f %9.2f  %5s", (long long)r->run.k, width, r->run.kernel,
                r->run.format, 1e3 * r->apply.median,
                best->apply.median > 0 ? r->apply.median / best->apply.median : 1, r->gflops, bound);
        if (r->mode == SP_VERIFY_NONE)
            fprintf(out, "             -  -     ");
        else
            fprintf(out, "      %8.2e  %-6s", r->error.max_relative, r->error.different ? "differ" : "same");
        fprintf(out, "  %9.2f%s\n", 1e3 * r->seconds.convert, r->library.version[0] ? "  theirs" : "");
    }
    if (runs->dram_bound.copy_bandwidth > 0)
        fprintf(out,
                "bound: the time of the least DRAM traffic, at the %.1f GB/s of a copy, over the median\n",
                runs->dram_bound.copy_bandwidth / 1e9);
}

void sp_report_launches(FILE *out, const sp_record *runs, int count, int width)
{
    int lines = 0;
    for (const sp_record *r = runs; r < runs + count; r++) {
        const sp_launch_shape *const s = &r->run.shape;
        char lanes[16] = "-";
        if (s->block == 0) continue;
        if (lines++ == 0)
            fprintf(out,
                    "\n      K  %-*s      blocks  threads  sub-warp  registers    static  + dynamic  resident"
                    "  occupancy\n",
                    width, "launch");
        if (s->subwarp > 0) snprintf(lanes, sizeof lanes, "%d", s->subwarp);
        fprintf(out, "%7lld  %-*s  %10lld %8d %9s %10d %9lld %10lld %9d %8.0f %%\n", (long long)r->run.k,
                width, r->run.kernel, (long long)s->blocks, s->block, lanes, s->registers,
                (long long)s->static_shared, (long long)s->dynamic_shared, s->resident, 100 * s->occupancy);
    }
    if (lines > 0)
        fprintf(out,
                "launch: of rank 0; threads, sub-warp: lanes, registers: of a thread, static + dynamic:"
                " bytes of shared memory of a block;\n"
                "resident: blocks that a multiprocessor has room for; occupancy: their threads of the most"
                " that it can have\n");
}

/** Prints relative errors beside the machine epsilon, and how many elements are beyond the bound of `wrong`. */
static void errors(FILE *out, const sp_record *r)
{
    const int f64 = strcmp(r->run.precision, "f64") == 0;
    const double epsilon = f64 ? DBL_EPSILON : (double)FLT_EPSILON;
    if (r->mode == SP_VERIFY_NONE) {
        fprintf(out, "\nerrors     not verified; machine epsilon of %s: %.17g\n", r->run.precision, epsilon);
        return;
    }
    fprintf(out,
            "\nerrors     against the plain serial product, last run; machine epsilon of %s: %.17g, unit"
            " round-off: half of it;\n"
            "           largest relative %.2e, %.3g times epsilon; mean %.2e, %.3g times;"
            " beyond the bound 2 gamma_n sum|a||x|:\n"
            "           %lld of %lld elements; `same` bits: identical\n",
            r->run.precision, epsilon, r->error.max_relative, r->error.max_relative / epsilon,
            r->error.mean_relative, r->error.mean_relative / epsilon, (long long)r->error.wrong,
            (long long)r->error.checked);
}

void sp_report_end(FILE *out, const sp_record *last, int runs, int failed)
{
    char root[32], rank[32], load[32];
    errors(out, last);
    fprintf(out, "memory     peak %s on rank 0 (%s after reading and scattering), at most %s on a rank\n",
            sp_bytes_text(root, sizeof root, (double)last->memory.root_peak_bytes),
            sp_bytes_text(load, sizeof load, (double)last->memory.load_peak_bytes),
            sp_bytes_text(rank, sizeof rank, (double)last->memory.rank_peak_bytes));
    fprintf(
        out,
        "seconds    read %.4f, partition %.4f, scatter %.4f; last run: convert %.4f, X %.4f, exchange %.6f,\n"
        "           kernel %.6f, apply %.6f, gather %.4f, verify %.4f; total %.4f\n",
        last->seconds.read, last->seconds.partition, last->seconds.scatter, last->seconds.convert,
        last->seconds.x, last->seconds.exchange, last->seconds.kernel, last->seconds.apply,
        last->seconds.gather, last->seconds.verify, last->seconds.total);
    if (last->moved.all_rows > 0 && last->moved.column_blocks > 1)
        fprintf(out, "exchange   by %s in %d column blocks, %.0f %% of its time hidden\n",
                last->run.transport, last->moved.column_blocks, 100 * last->moved.hidden);
    else if (last->moved.all_rows > 0 && last->moved.message_rows == 0)
        fprintf(out,
                "exchange   by %s: ranks of a node read each other's rows of X in place, and none is moved\n",
                last->run.transport);
    else if (last->moved.all_rows > 0)
        fprintf(
            out,
            "exchange   by %s, %.0f %% of its time hidden behind the %.0f %% of the rows that wait for no row of X\n",
            last->run.transport, 100 * last->moved.hidden, 100 * last->moved.interior);
    if (last->moved.message_rows > 0 && last->moved.message_rows < last->moved.all_rows)
        fprintf(out, "           %lld rows cross between nodes, of %lld that ranks need of one another\n",
                (long long)last->moved.message_rows, (long long)last->moved.all_rows);
    variants(out, last);
    tried(out, "reduce", &last->plan.reductions);
    fewer_ranks(out, last);
    if (failed) fprintf(out, "%d of %d runs failed\n", failed, runs);
}
