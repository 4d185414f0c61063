/** The bits of Y: each line of tests/digests.txt is a product, or several by one plan, and the digest of the
 *  results. The head of that file describes lines, and how to write new digests. The test uses the library
 *  only through spmm.h and spmm_extended.h, so changes inside the library do not keep it from compiling.
 *
 *      mpirun -np N build/cpu/tests/test_digests [--cuda] [--write]
 *
 *  runs the lines for N ranks. --cuda: on GPUs, only lines with the same bits there, each with one of the
 *  kernels that keep the order of summation. --write: writes the digests of this run into the file.
 *
 *  MPI: 1 2 3 4 6
 *  limit: 120 */
#define TEST_TRAPS 0 /* values that overflow in f32 */
#include <stddef.h>

#include "differential_operands.h"
#include "differential_plans.h"
#include "made_nodes.h"
#include "test_mpi.h"

static const char file_name[] = "tests/digests.txt";

/** One line of the file. */
typedef struct digest_case {
    char text[256]; /* the line without its digest */
    uint64_t digest;
    int p, q;
    int64_t k;
    spmm_precision precision;
    char matrix[64], kernel[32], steps[96];
    spmm_plan_options options;
    spmm_plan_study study;
    operand_kind x, y;
    diff_values values;
    double alpha, beta;
    int cuts, nodes; /* 0: the library's cuts, the machine's nodes */
} digest_case;

/* ---- reading a line ---- */

/** Words of a line and what they set. */
static const struct {
    const char *text;
    size_t member;
    int value;
} words[] = {
#define WORD(text, member, value)                  \
    {                                              \
        text, offsetof(digest_case, member), value \
    }
    WORD("exchange=halo", options.exchange, SPMM_EXCHANGE_HALO),
    WORD("exchange=bcast", options.exchange, SPMM_EXCHANGE_BCAST),
    WORD("exchange=joint", options.exchange, SPMM_EXCHANGE_JOINT),
    WORD("transport=mpi", options.transport, SPMM_TRANSPORT_MPI),
    WORD("transport=shared", options.transport, SPMM_TRANSPORT_SHARED),
    WORD("reduce=linear", options.reduce, SPMM_REDUCE_LINEAR),
    WORD("reduce=tree", options.reduce, SPMM_REDUCE_TREE),
    WORD("reduce=butterfly", options.reduce, SPMM_REDUCE_BUTTERFLY),
    WORD("reduce=mpi", options.reduce, SPMM_REDUCE_MPI),
    WORD("format=auto", options.format, SPMM_FORMAT_AUTO),
    WORD("format=ell", options.format, SPMM_ELL),
    WORD("format=ell-nopad", options.format, SPMM_ELL_NOPAD),
    WORD("plan=timed", study.quick_plan, 0),
    WORD("overlap=no", options.no_overlap, 1),
    WORD("x=created", x, OPERAND_CREATED),
    WORD("x=rows", x, OPERAND_ROWS),
    WORD("x=columns", x, OPERAND_COLUMNS),
    WORD("y=created", y, OPERAND_CREATED),
    WORD("y=rows", y, OPERAND_ROWS),
    WORD("y=columns", y, OPERAND_COLUMNS),
    WORD("y=like-x", y, OPERAND_X_OF_PLAN),
    WORD("values=integers", values, VALUES_INTEGERS),
    WORD("values=zeros", values, VALUES_ZEROS),
    WORD("values=wide", values, VALUES_WIDE),
#undef WORD
};

/** Reads a word. Returns 0 if the word is unknown. */
static int read_word(const char *word, digest_case *c)
{
    for (size_t n = 0; n < sizeof words / sizeof *words; n++)
        if (strcmp(word, words[n].text) == 0) {
            memcpy((char *)c + words[n].member, &words[n].value, sizeof words[n].value);
            return 1;
        }
    return sscanf(word, "kernel=%31s", c->kernel) == 1 || sscanf(word, "steps=%95s", c->steps) == 1 ||
           sscanf(word, "alpha=%lf", &c->alpha) == 1 || sscanf(word, "beta=%lf", &c->beta) == 1 ||
           sscanf(word, "blocks=%d", &c->options.column_blocks) == 1 ||
           sscanf(word, "threads=%d", &c->options.threads) == 1 || sscanf(word, "cuts=%d", &c->cuts) == 1 ||
           sscanf(word, "nodes=%d", &c->nodes) == 1;
}

/** Reads a line. Returns 0 if it is not a case. */
static int read_case(const char *line, digest_case *c)
{
    char precision[8], rest[256], *place = NULL;
    int at = 0;
    const char *const last = strrchr(line, ' ');
    const int length = last ? (int)(last - line) : 0;
    *c = (digest_case){.x = OPERAND_X_OF_PLAN, .y = OPERAND_Y_OF_PLAN, .steps = "apply", .alpha = 1};
    c->options = (spmm_plan_options){.threads = 2};
    c->study = (spmm_plan_study){.quick_plan = 1, .ell_limit = 1e3};
    if (length >= (int)sizeof c->text) return 0;
    snprintf(c->text, sizeof c->text, "%.*s", length, line);
    long long k = 0;
    if (sscanf(c->text, "%dx%d %63s %lld %7s%n", &c->p, &c->q, c->matrix, &k, precision, &at) != 5) return 0;
    c->k = k;
    c->precision = strcmp(precision, "f32") == 0 ? SPMM_F32 : SPMM_F64;
    if (c->precision == SPMM_F64 && strcmp(precision, "f64") != 0) return 0;
    snprintf(rest, sizeof rest, "%s", c->text + at);
    for (const char *w = strtok_r(rest, " ", &place); w; w = strtok_r(NULL, " ", &place))
        if (!read_word(w, c)) return 0;
    char *end;
    c->digest = strtoull(last + 1, &end, 16);
    return strcmp(last + 1, "-\n") == 0 || (end == last + 17 && *end == '\n');
}

/* ---- on a GPU ---- */

/** Returns the format that a case asks for. */
static spmm_format format_of(const digest_case *c)
{
    return c->kernel[0] ? sp_kernel_find(c->kernel)->format : c->options.format;
}

/** Returns 1 if a kernel computes a case's bits on a GPU. Padded ELLPACK, which a few long rows make large,
 *  is only for cases that ask for it. */
static int suits(const sp_kernel *kernel, const digest_case *c)
{
    return kernel->device == SPMM_CUDA && sp_kernel_is_exact(kernel, c->precision, INT64_MAX) &&
           (kernel->format == SPMM_ELL) == (format_of(c) == SPMM_ELL);
}

/** Turns a case into a case with the same digest on GPUs, with the suitable kernel number n (cyclically).
 *  Returns 0 if there is none: on a GPU alpha A X + beta Y has one rounding less, the kernel that the library
 *  chooses for the transpose may sum f32 in f64, and transport peer needs a single node. */
static int for_gpu(digest_case *c, int n)
{
    int count;
    const sp_kernel *const kernels = sp_kernels(&count);
    if (c->nodes) return 0;
    if (c->values != VALUES_INTEGERS &&
        (c->beta != 0 || (c->precision == SPMM_F32 && strstr(c->steps, "transposed"))))
        return 0;
    int at = 0;
    for (int left = n % count; !suits(&kernels[at], c) || left-- > 0;) at = (at + 1) % count;
    snprintf(c->kernel, sizeof c->kernel, "%s", kernels[at].id);
    c->options.device = SPMM_CUDA;
    if (c->options.transport == SPMM_TRANSPORT_SHARED) c->options.transport = SPMM_TRANSPORT_PEER;
    if (c->options.reduce == SPMM_REDUCE_AUTO)
        c->options.reduce = SPMM_REDUCE_TREE; /* as on CPUs; NCCL sums in another order */
    return 1;
}

/* ---- products ---- */

/** The objects of a running case. */
typedef struct digest_run {
    const digest_case *c;
    whole matrix;
    spmm_block block;
    spmm_plan *plan;
    operand x, y;
    int version; /* of the matrix's values */
    uint64_t digest;
} digest_run;

/** Makes the pattern of the matrix, whole on every rank. triplets:M,N,COUNT: COUNT entries at random places,
 *  some of which are the same. */
static int make_pattern(const digest_case *c, spmm_csr *a)
{
    long long m, n, count;
    if (strncmp(c->matrix, "matrices/", 9) == 0)
        return went_well(spmm_csr_read(c->matrix, c->precision, a), "spmm_csr_read()");
    if (sscanf(c->matrix, "triplets:%lld,%lld,%lld", &m, &n, &count) != 3)
        return went_well(spmm_csr_generate(c->matrix, c->precision, a), "spmm_csr_generate()");
    triplets t = {0};
    for (int64_t e = 0; e < count; e++)
        triplets_add(&t, (int64_t)(diff_hash(1, e, 0) % (uint64_t)m),
                     (int64_t)(diff_hash(1, e, 1) % (uint64_t)n));
    const spmm_status status = spmm_csr_from_triplets(m, n, t.count, t.row, t.col, NULL, c->precision, a);
    free(t.row);
    free(t.col);
    return went_well(status, "spmm_csr_from_triplets()");
}

/** Sets the values of the whole matrix and the block to those of a version. */
static void set_values(digest_run *r)
{
    const spmm_csr *const a = &r->matrix.a;
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t e = a->irp[i]; e < a->irp[i + 1]; e++)
            r->matrix.values[e] = diff_element(r->c->values, 10 + (uint64_t)r->version, i, a->ja[e],
                                               a->precision);
    block_take_values(&r->matrix, &r->block);
}

static int make_matrix(digest_run *r)
{
    const digest_case *const c = r->c;
    if (!make_pattern(c, &r->matrix.a)) return 0;
    r->matrix.values = diff_malloc((size_t)r->matrix.a.nnz * sizeof *r->matrix.values);
    diff_.drawn = (uint64_t)c->cuts;
    if (c->cuts)
        draw_own_block(&r->matrix, c->p, c->q, &r->block);
    else if (!went_well(spmm_csr_scatter(diff_.comm, 0, &r->matrix.a, c->p, c->q, &r->block),
                        "spmm_csr_scatter()"))
        return 0;
    set_values(r);
    return 1;
}

/** Makes the plan and fills X and Y; a Y that is not read gets NaNs. */
static int make_plan(digest_run *r)
{
    enum { PAD = 3 };
    const digest_case *const c = r->c;
    const spmm_block *const b = &r->block;
    spmm_plan_options o = c->options;
    spmm_multivector y;
    if (c->kernel[0]) {
        o.kernel = c->kernel;
        o.format = SPMM_FORMAT_AUTO;
    }
    spmm_status status = spmm_plan_create_extended(diff_.comm, b, c->k, &o, &c->study, &r->plan);
    if (status == SPMM_ERR_LIMIT && strcmp(c->kernel, "panel_staged") == 0) { /* it refuses this K or GPU */
        o.kernel = "csr_rows";
        status = spmm_plan_create_extended(diff_.comm, b, c->k, &o, &c->study, &r->plan);
    }
    went_well(status, "spmm_plan_create()");
    if (same_status(status, "spmm_plan_create()") != SPMM_OK) return 0;
    if (!went_well(spmm_plan_y_create(r->plan, &y), "spmm_plan_y_create()")) return 0;
    operand_make(&r->x, c->x, r->plan, b->x_rows, c->k, c->precision, PAD);
    operand_make(&r->y, c->y, r->plan, y.rows, c->k, c->precision, PAD);
    spmm_multivector_destroy(&y);
    operand_fill(&r->x, b->x_begin, c->values, 2);
    operand_fill(&r->y, b->row_begin, c->values, 3);
    if (c->beta == 0 && strncmp(c->steps, "transposed", 10) != 0) operand_fill_nan(&r->y);
    return 1;
}

static void destroy_run(digest_run *r)
{
    spmm_plan_destroy(r->plan);
    operand_destroy(&r->x);
    operand_destroy(&r->y);
    if (r->c->cuts)
        own_block_destroy(&r->block);
    else
        spmm_block_destroy(&r->block);
    whole_destroy(&r->matrix);
}

/** Returns the sum, over this rank's elements, of a hash of their bits and global places. The total over the
 *  ranks does not depend on how the rows are distributed. */
static uint64_t hash_elements(operand *o)
{
    uint64_t sum = 0;
    operand_fetch(o);
    for (int64_t i = 0; i < o->view.rows; i++)
        for (int64_t j = 0; j < o->view.k; j++) {
            const double v = element(o, i, j); /* an f32 element has the same bits in f64 on all machines */
            uint64_t bits;
            memcpy(&bits, &v, sizeof bits);
            sum += diff_hash(bits, o->first + i, j);
        }
    return sum;
}

/** Adds a result to the digest. Where all ranks of a process row have Y, their Y must be the same. Collective
 *  over diff_.comm. */
static void add_result(digest_run *r, operand *result, int is_x)
{
    const digest_case *const c = r->c;
    const int64_t rows = is_x ? r->matrix.a.cols : r->matrix.a.rows;
    const int mine = is_x || diff_.rank % c->q == 0;
    const uint64_t hash = hash_elements(result), found = (uint64_t)result->view.rows;
    /* the sums of hash and found over the ranks with `mine`, and over all ranks */
    uint64_t sums[4] = {mine ? hash : 0, mine ? found : 0, hash, found};
    padding_stands(&r->x, 0, "X");
    padding_stands(&r->y, 0, "Y");
    MPI_Allreduce(MPI_IN_PLACE, sums, 4, MPI_UINT64_T, MPI_SUM, diff_.comm);
    if (sums[1] != (uint64_t)rows)
        differs("the result has %llu rows, expected %lld", (unsigned long long)sums[1], (long long)rows);
    if (sums[1] > 0 && sums[2] != sums[0] * (sums[3] / sums[1]))
        differs("Y is not the same on all ranks of a process row");
    r->digest = diff_mix(r->digest ^ sums[0]);
}

/** Does a step of a case. */
static void do_step(digest_run *r, const char *step)
{
    const double alpha = r->c->alpha, beta = r->c->beta;
    diff_step("%s", step);
    if (strcmp(step, "apply") == 0) {
        went_well(spmm_apply(r->plan, alpha, &r->x.view, beta, &r->y.view), step);
        add_result(r, &r->y, 0);
    } else if (strcmp(step, "begin") == 0) {
        went_well(spmm_apply_begin(r->plan, alpha, &r->x.view, beta, &r->y.view), step);
        went_well(spmm_apply_end(r->plan), "end");
        add_result(r, &r->y, 0);
    } else if (strcmp(step, "transposed") == 0) {
        went_well(spmm_apply_transposed(r->plan, alpha, &r->y.view, beta, &r->x.view), step);
        add_result(r, &r->x, 1);
    } else if (strcmp(step, "update") == 0) {
        r->version++;
        set_values(r);
        went_well(spmm_plan_update_values(r->plan), step);
    } else if (strcmp(step, "swap") == 0) {
        const operand x = r->x;
        r->x = r->y;
        r->y = x;
    } else {
        differs("there is no such step");
    }
}

/** Runs a case. Returns its digest, the same on all ranks. Collective over diff_.comm. */
static uint64_t run_case(const digest_case *c, int64_t line)
{
    digest_run r = {.c = c};
    char steps[sizeof c->steps], *place = NULL;
    diff_.number = (uint64_t)line;
    diff_.differences = 0;
    snprintf(diff_.plan, sizeof diff_.plan, "%s", c->text);
    diff_step("making the plan");
    memcpy(steps, c->steps, sizeof steps);
    node_size = c->nodes;
    if (make_matrix(&r) && make_plan(&r))
        for (const char *s = strtok_r(steps, ",", &place); s; s = strtok_r(NULL, ",", &place)) do_step(&r, s);
    destroy_run(&r);
    CHECK_INT(diff_.differences, 0);
    return r.digest;
}

/* ---- the file ---- */

typedef struct settings {
    int cuda, write;
} settings;

/** Runs the case of a line if it is for this number of ranks. Returns 1 if it was run.
 *  \param [in,out] line  gets the digest that was found */
static int run_line(const settings *s, int64_t number, char *line, size_t room)
{
    digest_case c;
    if (line[0] == '#' || line[0] == '\n') return 0;
    if (!read_case(line, &c)) {
        if (diff_.rank == 0) printf("  %s:%lld is not a case: %s", file_name, (long long)number, line);
        CHECK(0);
        return 0;
    }
    if (c.p * c.q != diff_.ranks || (s->cuda && !for_gpu(&c, (int)number))) return 0;
    const uint64_t found = run_case(&c, number);
    CHECK(diff_.rank > 0 || s->write || found == c.digest);
    if (!s->write && found != c.digest && diff_.rank == 0)
        printf("  %s:%lld: %s%s%s: the digest of Y is %016llx, expected %016llx\n", file_name,
               (long long)number, c.text, s->cuda ? ", on GPUs by " : "", s->cuda ? c.kernel : "",
               (unsigned long long)found, (unsigned long long)c.digest);
    snprintf(line, room, "%s %016llx\n", c.text, (unsigned long long)found);
    return 1;
}

/** Runs all cases of the file for this number of ranks. */
static void run_file(const settings *s)
{
    static char text[1 << 17], line[512];
    int64_t number = 0;
    int cases = 0;
    size_t n = 0;
    FILE *const f = fopen(file_name, "r");
    CHECK(f != NULL);
    while (f && fgets(line, sizeof line, f)) {
        cases += run_line(s, ++number, line, sizeof line);
        n += (size_t)snprintf(text + n, sizeof text - n, "%s", line);
        if (n >= sizeof text) MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (f) fclose(f);
    CHECK(cases > 0);
    const int failed = test_any_(test_.failed); /* from here on all ranks have read the file */
    if (!s->write || failed || diff_.rank > 0) return;
    FILE *const out = fopen(file_name, "w");
    CHECK(out != NULL && fwrite(text, 1, n, out) == n);
    if (out) fclose(out);
}

/** Checks that the digest depends on each bit and its place, and not on the leading dimension. */
static void test_hash(void)
{
    operand o, same;
    operand_make(&o, OPERAND_ROWS, NULL, 4, 3, SPMM_F64, 2);
    operand_make(&same, OPERAND_COLUMNS, NULL, 4, 3, SPMM_F64, 0);
    operand_fill(&o, 7, VALUES_UNIFORM, 1);
    operand_fill(&same, 7, VALUES_UNIFORM, 1);
    const uint64_t all = hash_elements(&o);
    const double a = element(&o, 1, 2), b = element(&o, 2, 1);
    CHECK(hash_elements(&same) == all);
    element_set(&o, 1, 2, b);
    element_set(&o, 2, 1, a);
    operand_send(&o);
    CHECK(hash_elements(&o) != all);
    element_set(&o, 1, 2, a);
    element_set(&o, 2, 1, nextafter(b, 2));
    operand_send(&o);
    CHECK(hash_elements(&o) != all);
    operand_destroy(&o);
    operand_destroy(&same);
}

int main(int argc, char **argv)
{
    settings s = {0};
    for (int n = 1; n < argc; n++) {
        s.cuda |= strcmp(argv[n], "--cuda") == 0;
        s.write |= strcmp(argv[n], "--write") == 0;
    }
    test_mpi_begin(&argc, &argv, &diff_.ranks);
    diff_.comm = MPI_COMM_WORLD;
    diff_.rank = diff_.world_rank = test_.rank;
    diff_.device = s.cuda ? SPMM_CUDA : SPMM_CPU;
    if (s.cuda && spmm_device_open(MPI_COMM_WORLD) != SPMM_OK) {
        SKIP("Y has the bits that tests/digests.txt has of it", spmm_error_message());
        return test_mpi_end();
    }
    TEST("a digest is that of all bits and their places") test_hash();
    TEST("Y has the bits that tests/digests.txt has of it") run_file(&s);
    if (s.cuda) spmm_device_close();
    return test_mpi_end();
}
