/** Times X^T Y, X^T X and X R on the rows of one rank, by this library and by BLAS libraries. They take
 *  turns, so that all are exposed to the same noise of the machine.
 *
 *      bench_dense TIMES ROWS K,K,.. [LIBRARY...]
 *
 *  LIBRARY is a shared object with CBLAS, e.g. libopenblas.so.0, libmkl_rt.so.
 *
 *  OMP_NUM_THREADS sets the number of threads, also in the libraries. Prints CSV, one row per operation,
 *  precision and K: the medians in ms, ours and the libraries', and the median over the rounds of (library /
 *  ours). In f32, a library sums X^T Y in f32, ours in f64. */
#include <dlfcn.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/stats.h"
#include "dense/dense.h"
#include "formats/multivector.h"

enum { MOST_LIBRARIES = 4, MOST_TIMES = 1000, WARMUP = 2 };
/* CBLAS's constants */
enum { ROW_MAJOR = 101, AS_IT_IS = 111, TRANSPOSED = 112, UPPER = 121 };

typedef void (*dgemm)(int, int, int, int, int, int, double, const double *, int, const double *, int, double,
                      double *, int);
typedef void (*sgemm)(int, int, int, int, int, int, float, const float *, int, const float *, int, float,
                      float *, int);
typedef void (*dsyrk)(int, int, int, int, int, double, const double *, int, double, double *, int);
typedef void (*ssyrk)(int, int, int, int, int, float, const float *, int, float, float *, int);

/** A BLAS library. An entry without a name stands for our own functions. */
typedef struct library {
    const char *name;
    dgemm dgemm;
    sgemm sgemm;
    dsyrk dsyrk;
    ssyrk ssyrk;
    double seconds[MOST_TIMES];
} library;

typedef enum operation { DOT, SELF_DOT, TIMES, OPERATIONS } operation;
static const char *const names[OPERATIONS] = {"X^T Y", "X^T X", "X R"};

typedef struct operands {
    spmm_multivector x, y, z;
    double *r, *g;
    float *r32, *g32;
} operands;

static void must(spmm_status status)
{
    if (status == SPMM_OK) return;
    fprintf(stderr, "bench_dense: %s\n", spmm_error_message());
    exit(1);
}

static void load(const char *name, library *l)
{
    void *const so = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!so) {
        fprintf(stderr, "bench_dense: %s\n", dlerror());
        exit(2);
    }
    const char *const slash = strrchr(name, '/');
    l->name = slash ? slash + 1 : name;
    l->dgemm = (dgemm)dlsym(so, "cblas_dgemm");
    l->sgemm = (sgemm)dlsym(so, "cblas_sgemm");
    l->dsyrk = (dsyrk)dlsym(so, "cblas_dsyrk");
    l->ssyrk = (ssyrk)dlsym(so, "cblas_ssyrk");
    if (l->dgemm && l->sgemm && l->dsyrk && l->ssyrk) return;
    fprintf(stderr, "bench_dense: %s has no CBLAS\n", name);
    exit(2);
}

static void run_ours(operation o, operands *a)
{
    if (o == TIMES)
        must(sp_times(sp_value_of(1, a->x.precision), &a->x, a->r, a->x.k, (sp_value){0}, &a->z));
    else
        must(sp_gram(&a->x, o == DOT ? &a->y : &a->x, a->g));
}

static void run_f64(const library *l, operation o, operands *a)
{
    const int n = (int)a->x.rows, k = (int)a->x.k, ld = (int)a->x.ld;
    const double *const x = a->x.data;
    if (o == TIMES)
        l->dgemm(ROW_MAJOR, AS_IT_IS, AS_IT_IS, n, k, k, 1, x, ld, a->r, k, 0, a->z.data, ld);
    else if (o == DOT)
        l->dgemm(ROW_MAJOR, TRANSPOSED, AS_IT_IS, k, k, n, 1, x, ld, a->y.data, ld, 0, a->g, k);
    else
        l->dsyrk(ROW_MAJOR, UPPER, TRANSPOSED, k, n, 1, x, ld, 0, a->g, k);
}

static void run_f32(const library *l, operation o, operands *a)
{
    const int n = (int)a->x.rows, k = (int)a->x.k, ld = (int)a->x.ld;
    const float *const x = a->x.data;
    if (o == TIMES)
        l->sgemm(ROW_MAJOR, AS_IT_IS, AS_IT_IS, n, k, k, 1, x, ld, a->r32, k, 0, a->z.data, ld);
    else if (o == DOT)
        l->sgemm(ROW_MAJOR, TRANSPOSED, AS_IT_IS, k, k, n, 1, x, ld, a->y.data, ld, 0, a->g32, k);
    else
        l->ssyrk(ROW_MAJOR, UPPER, TRANSPOSED, k, n, 1, x, ld, 0, a->g32, k);
}

/** Runs an operation once. \return seconds */
static double once(const library *l, operation o, operands *a)
{
    const double start = omp_get_wtime();
    if (!l->name)
        run_ours(o, a);
    else if (a->x.precision == SPMM_F64)
        run_f64(l, o, a);
    else
        run_f32(l, o, a);
    return omp_get_wtime() - start;
}

/** Returns a digest of an operation's result, to detect libraries that compute something else. */
static double digest(const library *l, operation o, const operands *a)
{
    const int64_t k = a->x.k;
    double sum = 0;
    if (o == TIMES)
        for (int64_t i = 0; i < a->z.rows; i += 97) sum += fabs(sp_multivector_get(&a->z, i, i % k));
    else
        for (int64_t j = 0; j < k; j++)
            sum += fabs(l->name && a->x.precision == SPMM_F32 ? (double)a->g32[j] : a->g[j]);
    return sum;
}

static void compare(library *list, int count, operation o, operands *a, int times)
{
    double ratio[MOST_TIMES], ms[MOST_TIMES], ours = 0;
    for (int n = -WARMUP; n < times; n++)
        for (int i = 0; i < count; i++) {
            const double seconds = once(&list[i], o, a);
            if (n >= 0) list[i].seconds[n] = seconds;
            if (n != -1) continue;
            const double found = digest(&list[i], o, a);
            if (i == 0) ours = found;
            if (!(fabs(found - ours) <= 1e-3 * fabs(ours))) {
                fprintf(stderr, "bench_dense: %s of %s differs\n", names[o], list[i].name);
                exit(1);
            }
        }
    printf("%s,%s,%lld,%lld,%d", names[o], a->x.precision == SPMM_F64 ? "f64" : "f32", (long long)a->x.rows,
           (long long)a->x.k, omp_get_max_threads());
    for (int i = 0; i < count; i++) {
        for (int n = 0; n < times; n++) {
            ms[n] = 1e3 * list[i].seconds[n];
            ratio[n] = list[i].seconds[n] / list[0].seconds[n];
        }
        printf(",%.3f", sp_stats_of(ms, times).median);
        if (i > 0) printf(",%.2f", sp_stats_of(ratio, times).median);
    }
    printf("\n");
    fflush(stdout);
}

static void run_case(library *list, int count, int64_t rows, int64_t k, spmm_precision precision, int times)
{
    operands a;
    spmm_multivector *const v[] = {&a.x, &a.y, &a.z};
    for (int i = 0; i < 3; i++) {
        must(spmm_multivector_create(rows, k, precision, SPMM_CPU, v[i]));
        sp_multivector_generate(v[i], SP_X_UNIFORM, (uint64_t)i, 0, omp_get_max_threads());
    }
    must(sp_alloc((void **)&a.r, 3 * k * k, sizeof *a.r, "small matrices"));
    a.g = a.r + k * k;
    a.r32 = (float *)(a.g + k * k);
    a.g32 = a.r32 + k * k;
    for (int64_t e = 0; e < k * k; e++) a.r32[e] = (float)(a.r[e] = sp_x_element(SP_X_UNIFORM, 5, e, 0));
    for (int o = 0; o < OPERATIONS; o++) compare(list, count, (operation)o, &a, times);
    for (int i = 0; i < 3; i++) spmm_multivector_destroy(v[i]);
    sp_free(a.r);
}

int main(int argc, char **argv)
{
    static library list[1 + MOST_LIBRARIES];
    const int times = argc > 3 ? atoi(argv[1]) : 0, count = argc - 3;
    const int64_t rows = argc > 3 ? atoll(argv[2]) : 0;
    if (times < 1 || times > MOST_TIMES || rows < 1 || rows > INT32_MAX || count > 1 + MOST_LIBRARIES) {
        fprintf(stderr, "usage: bench_dense TIMES ROWS K,K,.. [LIBRARY...]\n");
        return 2;
    }
    printf("operation,precision,rows,k,threads,ours_ms");
    for (int i = 1; i < count; i++) {
        load(argv[3 + i], &list[i]);
        printf(",%s_ms,ratio", list[i].name);
    }
    printf("\n");
    for (int p = 0; p < 2; p++)
        for (char *k = argv[3]; *k; k += *k == ',') {
            const long long columns = strtoll(k, &k, 10);
            if (columns < 1 || (*k && *k != ',')) return 2;
            run_case(list, count, rows, columns, (spmm_precision)p, times);
        }
    return 0;
}
