/* Times products on several GPUs, one rank per GPU, by libspmm and by what a user would write with NCCL and
 * cuSPARSE. Checks every result. See bench_multigpu --help, bench/README.md. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/enum_words.h"
#include "comm/binding.h"
#include "plan/plan.h"
#include "pair.h"

/* bars: bench/README.md */
static const double MEAN = 4.0, LEAST = 1.3;
/* PARTS: timings of a part of a product. The others are numbers of our contenders: the default (AUTO),
 * without overlap, in any order of summation; from OURS on, with --verbose, one for each transport. With
 * --pair there are two, AUTO and one whose products are queued in a stream */
enum {
    PARTS = 9,
    TRANSPORTS = SPMM_TRANSPORT_PEER,
    AUTO = 0,
    NO_OVERLAP,
    ANY_ORDER,
    OURS,
    QUEUED = 1,
    PAIRS
};
static contender *ours; /* the first of our contenders */
static int our_count;

static sp_binding binding;
static own_form forms[OURS + TRANSPORTS];

/** Adds our contenders. */
static spmm_status add_own(run *r)
{
    const int pair = r->settings.pair;
    const peer_adaptor *adaptor = &own_peer;
    void *stream = NULL;
    if (pair) TRY(pair_open(&stream, &adaptor));
    library *const own = run_add_library(r, adaptor);
    our_count = pair ? PAIRS : r->settings.verbose ? OURS + TRANSPORTS : r->settings.scaling ? 1 : OURS;
    ours = &r->contender[r->contenders];
    for (int i = 0; i < our_count; i++) {
        forms[i] = (own_form){{"ours", PEER_ROW, 1, 1, 1, 1},
                              {.device = SPMM_CUDA, .format = SPMM_FORMAT_AUTO, .threads = binding.threads},
                              i >= OURS};
        forms[i].options.stream = i == QUEUED ? stream : NULL;
        forms[i].options.no_overlap = i == NO_OVERLAP && !pair;
        forms[i].options.any_order = i == ANY_ORDER;
        forms[i].options.transport = i < OURS ? SPMM_TRANSPORT_AUTO : (spmm_transport)(i - OURS + 1);
        run_add(r, own, &forms[i].shown,
                pair             ? i == QUEUED ? "ours pair queued" : "ours pair"
                : i == ANY_ORDER ? "any order"
                                 : "ours");
    }
    return SPMM_OK;
}

static spmm_status open_multigpu(run *r)
{
    char version[LINE];
    const int pair = r->settings.pair;
    TRY(sp_bind_rank(MPI_COMM_WORLD, SP_DEVICE_CUDA, 0, &binding));
    omp_set_num_threads(binding.threads);
    const char *const line = agree(spmm_peer.open(1, "", version, sizeof version));
    if (line) return sp_fail(SPMM_ERR_DEVICE, "%s", line);
    library *const peer = run_add_library(r, &spmm_peer);
    if (!r->settings.no_peers) run_add_forms(r, peer, 1);
    TRY(add_own(r));
    if (r->rank > 0) return SPMM_OK;
    printf("%d ranks, %s on %s, %d threads each; theirs: %s, %s; commit %s, %s\n", r->ranks, binding.gpu.name,
           binding.host, binding.threads, version,
           pair ? "products with A and with the stored A^T, ncclAllReduce" : "ncclAllGather of X and SpMM",
           *r->settings.commit ? r->settings.commit : "-", r->date);
    printf("ms of the slowest rank, barrier to barrier, median; ratio: theirs over ours; %s\n",
           pair ? "Y := A X, then Z := A^T Y; every Y and Z is checked" : "every Y is checked");
    printf("%-30s %-3s %4s  %8s = %8s + %8s  %-11s  ", "matrix", "", "K", "theirs",
           pair ? "reduce" : "gather", pair ? "products" : "product", "form");
    if (pair)
        printf("%8s = %8s + %8s  %-17s %8s  %6s\n", "ours", "A X", "A^T Y", "by", "queued", "ratio");
    else
        printf("%8s  %-17s %8s  %6s  %8s  %8s  %6s\n", "ours", "by", "exchange", "hidden", "no ovlap",
               "any ordr", "ratio");
    return SPMM_OK;
}

static void adjust_multigpu(settings *s)
{
    if (s->column_count > 0) return;
    if (s->pair) s->columns[s->column_count++] = 1, s->columns[s->column_count++] = 8;
    if (s->scaling && !s->pair) s->columns[s->column_count++] = 64;
}

static spmm_status load_multigpu(run *r)
{
    const bench_matrix *const m = &r->matrix;
    if (r->rank == 0)
        printf("%s: %lld x %lld, %lld entries, made and scattered in %.1f s\n", m->name,
               (long long)m->block.rows, (long long)m->block.cols, (long long)m->nnz, m->seconds);
    return r->settings.pair ? pair_load(&m->block.csr) : SPMM_OK;
}

static int is_own(const contender *c) { return c->library->peer != &spmm_peer; }

/* ---- parts of a product: theirs by the GPU's clock; ours: exchange alone, product without it ---- */

static const char *exchange(void *of)
{
    own_product *const q = of;
    return failed(sp_plan_exchange(q->plan, &q->x));
}

static const char *no_exchange(void *of)
{
    own_product *const q = of;
    return failed(sp_plan_apply_local(q->plan, &q->x, &q->y));
}

static const char *parts(run *r, contender *c)
{
    double seconds[2], all[2][PARTS];
    const char *line = NULL;
    const int pair = r->settings.pair;
    if (pair && is_own(c))
        line = pair_check(r, c, &((const own_pair *)c->product)->z, r->matrix.block.x_begin);
    else if (pair)
        line = pair_check(r, c, theirs_z(c->product), 0);
    if (line) return line;
    if (is_own(c)) {
        line = time_calls(pair ? pair_forward : exchange, c->product, PARTS, &c->part[0]);
        return line ? line : time_calls(pair ? pair_back : no_exchange, c->product, 2 * PARTS, &c->part[1]);
    }
    for (int i = 0; i < PARTS; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        const char *const one = gpu_seconds(c->library->peer->part, 2, c->product, 1, seconds);
        if (one) line = one;
        all[0][i] = seconds[0];
        all[1][i] = seconds[1];
    }
    MPI_Allreduce(MPI_IN_PLACE, all, 2 * PARTS, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++) c->part[i] = sp_stats_of(all[i], PARTS).median;
    return line;
}

/* ---- the report ---- */

static const char *transport_of(const contender *c)
{
    sp_plan_facts facts;
    if (!is_own(c)) return "nccl";
    sp_plan_facts_of(((const own_product *)c->product)->plan, &facts);
    return facts.transport == SPMM_TRANSPORT_AUTO ? "none" : sp_transport_word(facts.transport);
}

/** Names the backend of the exchange and the variant that the plan chose, and lists all variants. */
static const char *variants_of(const contender *c, char *text, size_t bytes)
{
    char list[SP_MOST_VARIANTS * SP_TRIED_NAME_BYTES * 2];
    sp_plan_facts facts;
    text[0] = '\0';
    if (!is_own(c)) return text;
    sp_plan_facts_of(((const own_product *)c->product)->plan, &facts);
    const sp_decision *const variant = &facts.decisions->row[SP_DECIDES_VARIANT];
    sp_trial_list(&variant->trial, list, sizeof list);
    snprintf(text, bytes, "%s: %s of %s", facts.backend, variant->taken, list);
    return text;
}

static const char *way_of(const contender *c) { return is_own(c) ? contender_way(c) : c->name; }

static void write_row(const run *r, const contender *c)
{
    const int own = is_own(c), pair = r->settings.pair;
    const double ms[2] = {c->part[0] * 1e3, c->part[1] * 1e3};
    char variants[512];
    if (!r->csv) return;
    fprintf(r->csv, "%s,%s,%s,%s,%d,\"%s\",%lld,%lld,%s,%lld,", r->date, r->settings.commit, binding.host,
            binding.gpu.name, r->ranks, r->matrix.name, (long long)r->matrix.block.rows,
            (long long)r->matrix.nnz, sp_precision_word(r->matrix.precision), (long long)r->k);
    fprintf(r->csv, "%s,%s,%s,%d,%.6f,%.6f,%.6f,%d,%.6f,%.6f,%.6f,%.6f,%.3f,%d,%s\n",
            own    ? c->name
            : pair ? "theirs pair"
                   : "theirs",
            way_of(c), transport_of(c), own && (pair || c != &ours[NO_OVERLAP]), c->time.median * 1e3,
            c->time.min * 1e3, c->time.max * 1e3, c->count, own ? 0 : ms[0], own ? 0 : ms[1],
            own && !pair ? ms[0] : 0, own && !pair ? ms[1] : 0, c->set_up, c->ok,
            variants_of(c, variants, sizeof variants));
    fflush(r->csv); /* keeps the results if the run is interrupted */
}

static void print_case(const run *r, const contender *theirs)
{
    char by[64], hidden[16] = "-", second[16] = "-", any[16] = "-", ratio[16] = "-";
    /* share of the time of an exchange alone for which the product did not wait */
    const double share = 1 - (ours->time.median - ours->part[1]) / ours->part[0];
    snprintf(by, sizeof by, "%s %s", contender_way(ours), transport_of(ours));
    if (ours->part[0] > 0) snprintf(hidden, sizeof hidden, "%.0f%%", 100 * fmin(1, fmax(0, share)));
    if (our_count > 1) snprintf(second, sizeof second, "%.3f", ours[1].time.median * 1e3);
    if (our_count > ANY_ORDER) snprintf(any, sizeof any, "%.3f", ours[ANY_ORDER].time.median * 1e3);
    if (theirs->time.n) snprintf(ratio, sizeof ratio, "%.2f", over(theirs->time.median, ours->time.median));
    printf("%-30.30s %-3s %4lld  %8.3f = %8.3f + %8.3f  %-11s  %8.3f", r->matrix.name,
           sp_precision_word(r->matrix.precision), (long long)r->k, theirs->time.median * 1e3,
           theirs->part[0] * 1e3, theirs->part[1] * 1e3, theirs->time.n ? way_of(theirs) : "-",
           ours->time.median * 1e3);
    if (r->settings.pair)
        printf(" = %8.3f + %8.3f  %-17s %8s  %6s\n", ours->part[0] * 1e3, ours->part[1] * 1e3, by, second,
               ratio);
    else
        printf("  %-17s %8.3f  %6s  %8s  %8s  %6s\n", by, ours->part[0] * 1e3, hidden, second, any, ratio);
}

/** Reports a case: all of our contenders, but only the fastest form of NCCL with cuSPARSE ("theirs"). */
static void report_multigpu(run *r)
{
    static const contender nobody = {.name = "-"};
    const contender *theirs = ours > r->contender ? r->contender : &nobody;
    for (const contender *c = r->contender; c < ours; c++)
        if (c->ok && (!theirs->ok || c->time.median < theirs->time.median)) theirs = c;
    if (theirs->time.n) write_row(r, theirs);
    for (int i = 0; i < our_count; i++)
        if (ours[i].time.n) write_row(r, &ours[i]);
    if (ours->time.n) print_case(r, theirs);
    for (int i = OURS; i < our_count; i++)
        if (ours[i].time.n)
            printf("%-30s %3s %4s  ours, %s: %.3f, exchange %.3f, product without it %.3f\n", "", "", "",
                   transport_of(&ours[i]), ours[i].time.median * 1e3, ours[i].part[0] * 1e3,
                   ours[i].part[1] * 1e3);
    fflush(stdout);
    if (theirs->ok && ours->ok) result_add(r)->value[0] = over(theirs->time.median, ours->time.median);
}

static void summary_multigpu(run *r)
{
    const result *worst;
    double mean;
    const int n = results_mean(&(selection){-1, 0, INT64_MAX, NULL, 0}, 0, &mean, &worst);
    if (r->wrong > 0) printf("%d results were WRONG\n", r->wrong);
    if (n > 0 && r->settings.pair)
        printf("%d ranks, %d cases: geometric mean of the ratio %.2f, least %.2f at %s K = %lld\n", r->ranks,
               n, mean, worst->value[0], worst->matrix, (long long)worst->k);
    else if (n > 0)
        printf(
            "%d ranks, %d cases: geometric mean of the ratio %.2f (bar %.1f: %s), least %.2f at %s K = %lld (bar %.1f: "
            "%s)\n",
            r->ranks, n, mean, MEAN, mean >= MEAN ? "reached" : "missed", worst->value[0], worst->matrix,
            (long long)worst->k, LEAST, worst->value[0] >= LEAST ? "reached" : "missed");
    printf("%.0f s\n", MPI_Wtime() - r->start);
}

static const bench multigpu = {
    .name = "bench_multigpu",
    .usage = "mpirun -np GPUS bench_multigpu [OPTIONS] [MATRIX...]",
    .csv =
        "date,commit,host,gpu,ranks,matrix,rows,nnz,precision,k,contender,way,transport,overlap,median_ms,min_ms,max_ms,"
        "repeats,gather_ms,product_ms,exchange_ms,no_exchange_ms,set_up_s,ok,variants",
    .program = OF_MULTIGPU,
    .failure = 4,
    .defaults = {.matrix = {"lap3d7:200", "lap3d27:128", "fem3:80", "band:2000000,16,4000",
                            "uniform:2000000,16", "rmat:21,12", "longrows:2000000,5,4,1000000"},
                 .matrices = 7,
                 .columns = {32, 64, 128},
                 .column_count = 3},
    .method = {.rounds = 3, .least = 3, .most = 20, .seconds = 0.1},
    .adjust = adjust_multigpu,
    .open = open_multigpu,
    .close = spmm_device_close,
    .load = load_multigpu,
    .unload = pair_unload,
    .parts = parts,
    .report = report_multigpu,
    .summary = summary_multigpu,
};

int main(int argc, char **argv) { return bench_main(&multigpu, argc, argv); }
