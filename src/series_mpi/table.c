/** Prints the table of steps of series_mpi. */
#include "series_mpi/table.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

void sp_series_table_head(FILE *out)
{
    fprintf(out, "\n%-10s %-24s %10s %21s %9s %6s %9s %11s %9s %9s  %s\n", "step", "kernel", "median ms",
            "mean +- deviation", "GB/s", "share", "GFLOP/s", "serial ms", "speed-up", "/ fastest", "check");
}

/** Formats a value with four significant digits, but large values without an exponent. */
static const char *number(char *text, size_t room, double value)
{
    snprintf(text, room, fabs(value) >= 999.5 ? "%.0f" : "%.4g", value);
    return text;
}

/** Formats a time of the sequential program in ms, with a star if it is extrapolated; "-" if it is NaN. */
static const char *serial_text(char *text, size_t room, double seconds, int extrapolated)
{
    if (!isfinite(seconds)) return "-";
    number(text, room - 1, 1e3 * seconds);
    return extrapolated ? strcat(text, "*") : text;
}

static void verdict(FILE *out, const sp_series_record *r)
{
    if (!r->check.done)
        fprintf(out, "not checked\n");
    else if (r->check.wrong == 0)
        fprintf(out, "ok\n");
    else
        fprintf(out, "%lld of %lld wrong, series %lld: %.9g instead of %.9g\n", (long long)r->check.wrong,
                (long long)r->check.checked, (long long)r->check.row, r->check.found, r->check.expected);
}

/** Prints the times of the parts of a pass, and the bytes that a rank received in it. */
static void print_parts(FILE *out, const sp_series_record *r)
{
    char text[32];
    for (int p = 0; p < SP_PEARSON_PARTS; p++)
        fprintf(out, "%-10s - %-22s %10s\n", "", sp_pearson_part_words[p],
                number(text, sizeof text, 1e3 * r->pearson.seconds[p]));
    if (r->run.ranks > 1)
        fprintf(out, "           a rank received %s at most, by %s\n",
                sp_bytes_text(text, sizeof text, r->pearson.received_bytes), r->pearson.transport);
}

/** Prints the row of a record.
 *  \param [in] fastest  seconds of the fastest kernel of the step; NaN: there is none */
static void print_row(FILE *out, const sp_series_record *r, double fastest)
{
    const double s = r->seconds.median, share = sp_series_share(r);
    char of_copy[16] = "-", of_fastest[16] = "-", spread[48], text[6][32], kernel[64];
    if (isfinite(share)) snprintf(of_copy, sizeof of_copy, "%.2f", share);
    if (s / fastest >= 0 && isfinite(s / fastest))
        snprintf(of_fastest, sizeof of_fastest, "%.2f", s / fastest);
    snprintf(spread, sizeof spread, "%s +- %.2g", number(text[0], sizeof text[0], 1e3 * r->seconds.mean),
             1e3 * r->seconds.stddev);
    snprintf(kernel, sizeof kernel, r->run.parts ? "%s /%d" : "%s", r->kernel, r->run.parts);
    fprintf(out, "%-10s %-24s %10s %21s %9s %6s %9s %11s %9s %9s  ",
            r->step == SP_MEAN && r->run.op != SP_SUM ? sp_operator_word(r->run.op) : sp_step_word(r->step),
            kernel, number(text[1], sizeof text[1], 1e3 * s), spread,
            number(text[2], sizeof text[2], r->bytes / s / 1e9), of_copy,
            number(text[3], sizeof text[3], r->flops / s / 1e9),
            serial_text(text[4], sizeof text[4], r->sequential, r->measured < 1),
            isfinite(r->sequential) ? number(text[5], sizeof text[5], r->sequential / s) : "-", of_fastest);
    verdict(out, r);
    if (r->step == SP_PEARSON) print_parts(out, r);
}

spmm_status sp_series_table_add(sp_series_table *t, sp_series_record *r)
{
    r->total = t->seconds + r->seconds.median;
    if (t->count == t->room) {
        sp_series_record *more;
        const int room = t->room ? 2 * t->room : 4;
        TRY(sp_alloc((void **)&more, room, sizeof *more, "rows of the table"));
        if (t->count > 0) memcpy(more, t->row, (size_t)t->count * sizeof *more);
        sp_free(t->row);
        t->row = more;
        t->room = room;
    }
    t->row[t->count++] = *r;
    return SPMM_OK;
}

/** Returns the row with the least median time among the rows without a wrong result; NULL if there is
 *  none. */
static const sp_series_record *fastest_of(const sp_series_table *t)
{
    const sp_series_record *best = NULL;
    for (int i = 0; i < t->count; i++)
        if (t->row[i].check.wrong == 0 && (!best || t->row[i].seconds.median < best->seconds.median))
            best = &t->row[i];
    return best;
}

void sp_series_table_end_step(sp_series_table *t, FILE *out)
{
    const sp_series_record *const best = fastest_of(t);
    for (int i = 0; out && i < t->count; i++) print_row(out, &t->row[i], best ? best->seconds.median : NAN);
    if (out) fflush(out);
    if (t->count > 0) {
        const sp_series_record *const r = best ? best : t->row;
        t->steps++;
        t->seconds += r->seconds.median;
        t->sequential += r->sequential;
        t->extrapolated |= r->measured < 1;
    }
    t->count = 0;
}

void sp_series_table_total(const sp_series_table *t, FILE *out)
{
    char text[3][32];
    if (!out || t->steps < 2) return;
    fprintf(out, "%-10s %-24s %10s %21s %9s %6s %9s %11s %9s\n", "total", "fastest of each step",
            number(text[0], sizeof text[0], 1e3 * t->seconds), "", "", "", "",
            serial_text(text[1], sizeof text[1], t->sequential, t->extrapolated),
            isfinite(t->sequential) ? number(text[2], sizeof text[2], t->sequential / t->seconds) : "-");
    fflush(out);
}

void sp_series_table_destroy(sp_series_table *t)
{
    sp_free(t->row);
    memset(t, 0, sizeof *t);
}
