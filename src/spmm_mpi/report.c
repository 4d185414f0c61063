/** Prints spmm_mpi's report as text: preamble, table of runs, comparison of kernels, summary. */
#include "spmm_mpi/report.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/enum_words.h"
#include "base/memory.h"
#include "base/words.h"
#include "kernels/kernel.h"

/* NOISY: standard deviation in percent of the mean above which times are reported as noisy */
enum { NOISY = 10 };

static double report_share(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

/** Ends the line of the scatter. Before that, prints the format of the blocks and the times of the scatter's
 *  parts. If rank 0 sent CSR blocks directly to all ranks, prints only the format, and only with -v. */
static void scatter_parts(FILE *out, const sp_options *o, const sp_record *r)
{
    if (r->seconds.bands > 0)
        fprintf(out, ", of which sending bands to the first process column %.3f s", r->seconds.bands);
    if (o->scatter_padded)
        fprintf(out, ", as ELLPACK (conversion to ELLPACK %.3f s, back to CSR %.3f s)", r->seconds.pad,
                r->seconds.unpad);
    else if (o->verbosity > 0 && !o->io_parallel && r->run.ranks > 1)
        fprintf(out, ", as CSR (as ELLPACK: --format ell --scatter-format ell)");
    fprintf(out, "\n");
}

static void x_line(FILE *out, const sp_options *o, const sp_record *r)
{
    fprintf(out, "X          ");
    if (o->x_file)
        fprintf(out, "from %s", SHOWN_WHOLE(o->x_file));
    else if (o->x_kind == SP_X_UNIFORM)
        fprintf(out, "random, seed %llu", (unsigned long long)o->x_seed);
    else
        fprintf(out, o->x_kind == SP_X_ONES ? "all 1" : "1 + (row + column) mod 1000");
    fprintf(out, "; %s%s\n", r->run.precision,
            sp_is_complex(o->precision) ? ", 8 operations per entry and column" : "");
}

void sp_report_head(FILE *out) { fprintf(out, "spmm_mpi %s: Y := A X\n", SPMM_VERSION); }

void sp_report_preamble(FILE *out, const sp_options *o, const sp_record *r)
{
    const sp_matrix_facts *const m = &r->matrix;
    static const char *const how[][2] = {{"nnz", "balanced by entries"},
                                         {"rows", "in even blocks"},
                                         {"graph", "by a cut graph"},
                                         {"layout", "by layout"}};
    int by = 0;
    char text[32];
    fprintf(out, "matrix     %s, %lld x %lld, %lld entries (%s%s %s", SHOWN_WHOLE(m->source),
            (long long)m->rows, (long long)m->cols, (long long)m->nnz, m->field,
            strcmp(m->field, "pattern") == 0 ? ", values 1," : "", m->symmetry);
    if (m->stored != m->nnz) fprintf(out, ", %lld stored", (long long)m->stored);
    fprintf(out, ")\n           entries per row: mean %.1f, longest %lld; empty rows: %lld\n",
            report_share(m->nnz, m->rows), (long long)m->longest, (long long)m->empty);
    if (m->duplicates)
        fprintf(out, "           %lld duplicate entries were summed\n", (long long)m->duplicates);
    if (o->round_values && sp_rounds(o->precision, SPMM_F32))
        fprintf(out, "           values were rounded to f32 (--values f32)\n");
    while (strcmp(how[by][0], r->run.partition) != 0) by++;
    fprintf(out, "ranks      %d as a %d x %d grid, rows %s, imbalance %.3f\n", r->run.ranks, r->run.grid[0],
            r->run.grid[1], how[by][1], r->imbalance);
    if (r->cut[0] && (o->verbosity > 0 || r->moved.nnz_rows >= 0)) sp_report_line(out, "partition", r->cut);
    sp_binding_print(out, r->run.binding);
    x_line(out, o, r);
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
    fprintf(out, "   K  %-*s  format     median ms        min  stddev   GFLOP/s   error  result\n", width,
            "kernel");
}

/** Returns the bound of the verification, in words. */
static const char *bound_text(const sp_record *r)
{
    return r->run.rounded ? "2 gamma_n sum|a||x| + 2^-24 sum|a||x| of entries in columns of other ranks"
                          : "2 gamma_n sum|a||x|";
}

/** Returns the standard deviation of a product's times in percent of their mean. */
static double spread(const sp_record *r)
{
    return r->apply.mean > 0 ? 100 * r->apply.stddev / r->apply.mean : 0;
}

/** Writes the largest relative error; "0" means that Y has the bits of the serial product. */
static const char *error_text(const sp_record *r, char *text, size_t n)
{
    if (r->mode == SP_VERIFY_NONE) return "-";
    if (!r->error.different) return "0";
    snprintf(text, n, "%.1e", r->error.max_relative);
    return text;
}

/** If rows of X traveled as f32, prints that and the bound on the error of Y. */
static void rounded_line(FILE *out, const sp_record *r)
{
    if (!r->run.rounded) return;
    fprintf(out, "      rows of X traveled as f32: ");
    if (r->mode == SP_VERIFY_NONE)
        fprintf(out, "the error of Y may be\n      %s\n", bound_text(r));
    else
        fprintf(out, "the error of Y is at most %.2g of its bound,\n      %s (at most %.1e)\n",
                r->error.of_bound, bound_text(r), r->error.rounding);
    if (r->error.wrong > 0 && !sp_is_finite(r->error.found) && sp_is_finite(r->error.expected))
        fprintf(out, "      elements of X beyond %.1e travel as infinity: omit --exchange-precision\n",
                (double)FLT_MAX);
}

/** Writes a value, with its imaginary part unless that is 0. */
static const char *value_text(char *text, size_t n, sp_c128 v)
{
    const int used = snprintf(text, n, "%.17g", __real__ v);
    if (__imag__ v != 0) snprintf(text + used, n - (size_t)used, "%+.17gi", __imag__ v);
    return text;
}

static const char *result_text(const sp_record *r)
{
    return r->mode == SP_VERIFY_NONE ? "not verified" : r->passed ? "PASS" : "FAIL";
}

/** Prints the lines below a run's row: the rounding, and what is wrong with Y. */
static void below_row(FILE *out, const sp_record *r)
{
    char found[64], expected[64];
    rounded_line(out, r);
    if (r->passed || r->mode == SP_VERIFY_NONE) return;
    fprintf(out, "      wrong: %lld of %lld elements", (long long)r->error.wrong,
            (long long)r->error.checked);
    if (!r->error.wrong)
        fprintf(out, "; %lld do not have the serial product's bits", (long long)r->error.different);
    else
        fprintf(out, "; first wrong: Y(%lld,%lld) = %s,\n      the serial product has %s (bound %.2e)",
                (long long)r->error.row + 1, (long long)r->error.column + 1,
                value_text(found, sizeof found, r->error.found),
                value_text(expected, sizeof expected, r->error.expected), r->error.bound);
    fprintf(out, "\n");
}

void sp_report_run(FILE *out, const sp_record *r, int width)
{
    char error[32];
    fprintf(out, "%4lld  %-*s  %-9s %10.4f %10.4f %6.1f%% %9.2f %7s  %s\n", (long long)r->run.k, width,
            r->run.kernel, r->run.format, 1e3 * r->apply.median, 1e3 * r->apply.min, spread(r), r->gflops,
            error_text(r, error, sizeof error), result_text(r));
    if (r->library.version[0])
        fprintf(out, "      theirs: %s: %s; set-up %.4f s\n", r->library.version, r->library.way,
                r->seconds.convert);
    below_row(out, r);
}

/** Prints a note if fewer ranks would be faster. */
static void fewer_ranks(FILE *out, const sp_record *r)
{
    const int moves = r->moved.all_rows > 0;
    /* the time of kernels in two streams contains the wait for the exchange between them */
    const double most_kernels = moves ? r->run.ranks * r->seconds.no_exchange : INFINITY;
    const sp_parts_seconds measured = {.kernels = fmin(r->plan.one_rank, most_kernels),
                                       .local = moves ? r->seconds.no_exchange : r->apply.min,
                                       .exchange = moves ? r->seconds.exchange : 0,
                                       .product = r->apply.min};
    double seconds;
    /* a grid with fewer process columns exchanges other rows and adds other partial sums: only one rank is
     * considered */
    const int most = r->plan.one_rank <= 0 ? 0
                     : r->run.grid[1] > 1  ? 1
                                           : r->run.ranks,
              fewer = sp_fewer_ranks(&measured, r->run.ranks, most, &seconds);
    if (fewer > 0)
        fprintf(out, "fewer      %d rank%s would take about %.4f ms or less at K = %lld: try -np %d\n", fewer,
                fewer == 1 ? "" : "s", 1e3 * seconds, (long long)r->run.k, fewer);
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

void sp_report_phases(FILE *out, const sp_record *r)
{
    const sp_seconds *s = &r->seconds;
    fprintf(out,
            "         seconds: convert %.4f, X %.4f, apply %.6f, kernel %.6f, gather %.4f, verify %.4f\n",
            s->convert, s->x, s->apply, s->kernel, s->gather, s->verify);
    fprintf(out, "         %d products, from %.4f to %.4f ms\n", r->run.repeat, 1e3 * r->apply.min,
            1e3 * r->apply.max);
    fprintf(out, "         steps: %s\n", r->plan.steps);
    fprintf(out, "         a product: interior rows %.6f, boundary rows %.6f", s->interior, s->boundary);
    if (r->run.grid[1] > 1) fprintf(out, ", sum of Y by %s %.6f", r->run.reduce, s->reduce);
    if (r->moved.all_rows > 0)
        fprintf(out,
                "; exchange by %s %.6f alone, %.0f %% of it hidden%s; %.0f %% of the rows computed during it",
                r->run.transport, s->exchange, 100 * r->moved.hidden, r->run.overlap ? "" : " (--no-overlap)",
                100 * r->moved.interior);
    fprintf(out, "\n");
    if (r->moved.all_rows > 0 && r->run.grid[1] == 1) {
        const double limit = fmax(s->exchange, s->no_exchange);
        fprintf(out,
                "         limit: %.6f, the longer of the exchange alone and the product without it: %.2f of "
                "the time\n",
                limit, limit / r->apply.median);
    }
    if (r->run.shape.block > 0) launch_line(out, &r->run.shape);
    sp_decisions_print(&r->plan.decisions, 0, "         decided: ", out);
    const double repaid = sp_decisions_repaid(&r->plan.decisions, r->seconds.convert);
    if (isfinite(repaid))
        fprintf(out, "         set-up: %.4f s, repaid after %.0f products\n", r->seconds.convert, repaid);
    if (r->dram_bound.copy_bandwidth > 0) {
        char bytes[32];
        fprintf(out, "         DRAM bound: %s at the %.1f GB/s of a copy: %.2f of the time\n",
                sp_bytes_text(bytes, sizeof bytes, r->dram_bound.bytes), r->dram_bound.copy_bandwidth / 1e9,
                r->dram_bound.share);
    }
}

static int by_time(const void *a, const void *b)
{
    const sp_record *r = a, *s = b;
    return (r->apply.median > s->apply.median) - (r->apply.median < s->apply.median);
}

void sp_report_comparison(FILE *out, sp_record *runs, int count, int width)
{
    char slow[1024] = "", error[32], bound[16];
    const sp_record *best = NULL;
    size_t used = 0;
    qsort(runs, (size_t)count, sizeof *runs, by_time);
    fprintf(out, "   K  %-*s  format     median ms to best  stddev  GFLOP/s bound   error   set-up  result\n",
            width, "fastest first");
    for (const sp_record *r = runs; r < runs + count; r++) {
        if (r->passed && sp_kernel_is_baseline(r->run.kernel)) {
            sp_text_add(slow, sizeof slow, &used, "%s%s %.4f", used > 0 ? ", " : "median ms: ", r->run.kernel,
                        1e3 * r->apply.median);
            continue;
        }
        if (!best) best = r;
        snprintf(bound, sizeof bound, r->dram_bound.copy_bandwidth > 0 ? "%.3f" : "-", r->dram_bound.share);
        fprintf(out, "%4lld  %-*s  %-9s %10.4f %7.2f %6.1f%% %8.2f %5s %7s %8.2f  %s%s%s\n",
                (long long)r->run.k, width, r->run.kernel, r->run.format, 1e3 * r->apply.median,
                best->apply.median > 0 ? r->apply.median / best->apply.median : 1, spread(r), r->gflops,
                bound, error_text(r, error, sizeof error), 1e3 * r->seconds.convert, result_text(r),
                r->library.version[0] ? "  theirs: " : "", r->library.way);
        below_row(out, r);
    }
    if (used > 0) sp_report_line(out, "baseline", slow);
}

void sp_report_bound(FILE *out, const sp_record *r)
{
    if (r->dram_bound.copy_bandwidth > 0)
        fprintf(out,
                "bound: the time of the least DRAM traffic, at the %.1f GB/s of a copy, over the median;"
                " set-up in ms\n",
                r->dram_bound.copy_bandwidth / 1e9);
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
                "resident: blocks that run on a multiprocessor at a time; occupancy: their threads over the "
                "maximum\n");
}

/** Prints relative errors, the machine epsilon, and the number of elements beyond the bound of the
 *  verification. */
static void errors(FILE *out, const sp_record *r)
{
    const int f64 = strcmp(r->run.precision, "f64") == 0;
    const double epsilon = f64 ? DBL_EPSILON : (double)FLT_EPSILON;
    if (r->mode == SP_VERIFY_NONE) {
        fprintf(out, "errors     not verified; machine epsilon of %s: %.17g\n", r->run.precision, epsilon);
        return;
    }
    fprintf(
        out,
        "errors     against the serial product; machine epsilon of %s: %.17g, unit round-off: half of it\n"
        "           largest relative %.2e, %.3g times epsilon; mean %.2e, %.3g times\n"
        "           beyond the bound %s: %lld of %lld elements; bits: %s\n",
        r->run.precision, epsilon, r->error.max_relative, r->error.max_relative / epsilon,
        r->error.mean_relative, r->error.mean_relative / epsilon, bound_text(r), (long long)r->error.wrong,
        (long long)r->error.checked, r->error.different ? "differ" : "the same");
}

/** Appends the transport of the exchanged rows to the text of exchange_text(). */
static void transport_text(const sp_record *r, char *text, size_t n, size_t *used)
{
    sp_text_add(text, n, used, "; transport %s%s", r->run.transport,
                r->run.rounded ? ", rows of X as f32" : "");
    if (r->moved.column_blocks > 1)
        sp_text_add(text, n, used, " in %d column blocks, %.0f %% of its time hidden", r->moved.column_blocks,
                    100 * r->moved.hidden);
    else if (r->moved.message_rows == 0)
        sp_text_add(text, n, used, ": read in place, not sent");
    else
        sp_text_add(text, n, used, ", %.0f %% of its time hidden", 100 * r->moved.hidden);
    if (r->moved.message_rows > 0 && r->moved.message_rows < r->moved.all_rows)
        sp_text_add(text, n, used, "; %lld rows are sent as messages", (long long)r->moved.message_rows);
}

/** Writes the communication of a product and, if known, its transport. */
static void exchange_text(const sp_record *r, char *text, size_t n)
{
    size_t used = 0;
    sp_text_add(text, n, &used,
                "%s: a rank needs at most %lld rows of X%s of %d other rank%s; %lld rows in all",
                r->run.exchange, (long long)r->moved.rows, r->moved.partial_rows > 0 ? " and partial Y" : "",
                r->moved.neighbors, r->moved.neighbors == 1 ? "" : "s", (long long)r->moved.all_rows);
    if (r->moved.partial_rows > 0)
        sp_text_add(text, n, &used, " (%lld of Y)", (long long)r->moved.partial_rows);
    if (r->moved.all_rows < r->moved.bcast_rows)
        sp_text_add(text, n, &used, ", %.3g %% of the rows of a broadcast of X",
                    100 * report_share(r->moved.all_rows, r->moved.bcast_rows));
    if (r->run.transport) transport_text(r, text, n, &used);
}

void sp_report_line(FILE *out, const char *label, const char *text)
{
    enum { MARGIN = 11, WIDTH = 100 - MARGIN };
    while (strlen(text) > WIDTH) {
        int n = WIDTH;
        while (n > 0 && text[n] != ' ') n--;
        if (n == 0) break;
        fprintf(out, "%-*s%.*s\n", MARGIN, label, n, text);
        text += n + 1;
        label = "";
    }
    fprintf(out, "%-*s%s\n", MARGIN, label, text);
}

void sp_report_exchange(FILE *out, const sp_record *r)
{
    char text[512] = "none: every rank owns the rows of X that it needs";
    if (r->run.ranks == 1) return;
    if (r->moved.all_rows > 0) exchange_text(r, text, sizeof text);
    sp_report_line(out, "exchange", text);
}

int sp_report_is_noisy(const sp_record *r) { return spread(r) > NOISY; }

void sp_report_noise(FILE *out, int noisy, int runs)
{
    const double load = sp_program_load();
    if (noisy == 0) return;
    fprintf(out, "noise      stddev above %d %% in %d of %d run%s", NOISY, noisy, runs, runs == 1 ? "" : "s");
    if (load >= 0) fprintf(out, " (load %.1f on %ld cores)", load, sysconf(_SC_NPROCESSORS_ONLN));
    fprintf(out, ": repeat on an idle machine\n");
}

/** Prints how the program's time is divided. After a single run, the time outside the timed parts counts as
 *  products. After several runs, prints only the timed parts, of the last run. */
static void seconds(FILE *out, const sp_record *r, int runs)
{
    char text[160];
    const double input = r->seconds.read + r->seconds.scatter;
    const double timed = input + r->seconds.convert + r->seconds.gather + r->seconds.verify;
    size_t used = 0;
    sp_text_add(text, sizeof text, &used, "total %.3f: input %.3f, ", r->seconds.total, input);
    if (runs > 1) sp_text_add(text, sizeof text, &used, "of the last row ");
    sp_text_add(text, sizeof text, &used, "set-up %.3f, ", r->seconds.convert);
    if (runs == 1)
        sp_text_add(text, sizeof text, &used, "products %.3f, ", fmax(0, r->seconds.total - timed));
    sp_text_add(text, sizeof text, &used, "gather %.3f, verify %.3f", r->seconds.gather, r->seconds.verify);
    sp_report_line(out, "seconds", text);
}

void sp_report_end(FILE *out, const sp_record *last, int verbose, int runs, int failed)
{
    char root[32], rank[32], load[32];
    sp_report_exchange(out, last);
    if (verbose) errors(out, last);
    fprintf(out, "memory     peak %s on rank 0 (%s after reading and scattering), at most %s on a rank\n",
            sp_bytes_text(root, sizeof root, (double)last->memory.root_peak_bytes),
            sp_bytes_text(load, sizeof load, (double)last->memory.load_peak_bytes),
            sp_bytes_text(rank, sizeof rank, (double)last->memory.rank_peak_bytes));
    seconds(out, last, runs);
    fewer_ranks(out, last);
    if (failed) fprintf(out, "%d of %d runs failed\n", failed, runs);
}
