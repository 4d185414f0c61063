/* MPI: 1 2 3 4 limit: 300 Products on GPUs by begin and end, in the caller's stream, and captured in CUDA
 * graphs. Work that must wait is held up by a flag that the host sets, not by delays. */
#include "spmm.h"

#include "gpu_main.h"

static void skip_all(const char *why)
{
    SKIP("products that are begun and ended apart on GPUs", why);
    SKIP("products in the caller's stream", why);
    SKIP("products captured in a CUDA graph", why);
    SKIP("products of a CSR in GPU memory", why);
    SKIP("column-major X and Y on GPUs", why);
}

#ifdef TEST_CUDA
#include <cuda_runtime.h>

#include "apply_cases.h"
#include "device/device.h"
#include "formats/multivector.h"
#include "kernels/kernel.h"
#include "plan/plan_struct.h"

enum { K = 4 };
/* the strictest mode, except with several ranks, where MPI may have threads that call CUDA */
#define MODE (size == 1 ? cudaStreamCaptureModeGlobal : cudaStreamCaptureModeThreadLocal)
#define CUDA_OK(call) CHECK_INT(call, cudaSuccess)

static cudaStream_t stream;

/* ---- holding up a stream ---- */

static uint32_t *flag; /* in GPU memory */

/** Makes all work that is queued in the stream from now on wait for release(). */
static void hold_up(uint32_t number)
{
    const sp_flag_op op = {flag, number, 1};
    CHECK_INT(sp_device_take_stream(stream), SPMM_OK);
    CHECK_INT(sp_stream_flags(&op, 1, SP_STREAM_MAIN), SPMM_OK);
    CHECK_INT(sp_device_return_stream(), SPMM_OK);
}

static void release(uint32_t number) { CHECK_INT(sp_flag_set(flag, number), SPMM_OK); }

/* ---- X and Y in pinned memory ---- */

/** Fills rows in pinned memory as fill() does. */
static void refill(const spmm_multivector *v, int64_t first)
{
    for (int64_t i = 0; i < v->rows * K; i++)
        sample_set(v->data, v->precision, i, x_of(first + i / K, i % K));
}

/** Rows of X or Y as fill() makes them, in pinned memory. */
static spmm_multivector pinned(int64_t rows, spmm_precision precision, int64_t first)
{
    spmm_multivector v = {.rows = rows, .k = K, .ld = K, .precision = precision};
    CUDA_OK(cudaHostAlloc(&v.data, (size_t)(rows * K * sp_value_size(precision) + 1), cudaHostAllocDefault));
    refill(&v, first);
    return v;
}

/** Queues a copy of the elements in the stream. */
static void queue_copy(const spmm_multivector *from, const spmm_multivector *to)
{
    const size_t bytes = (size_t)sp_value_size(from->precision);
    if (from->rows == 0) return;
    CUDA_OK(cudaMemcpy2DAsync(to->data, (size_t)to->ld * bytes, from->data, (size_t)from->ld * bytes,
                              K * bytes, (size_t)from->rows, cudaMemcpyDefault, stream));
}

/** A plan in the caller's stream, and copies of X and Y in pinned memory. */
typedef struct streamed {
    distributed d;
    planned p;
    spmm_multivector x, y;
} streamed;

static void streamed_create(const char *spec, spmm_precision precision, int q, spmm_plan_options options,
                            streamed *s)
{
    options.device = SPMM_CUDA;
    options.stream = size == 1 ? NULL : stream; /* one rank may set the stream later */
    distributed_create(spec, precision, q, &s->d);
    planned_create(&s->d, K, &options, &s->p);
    if (size == 1) CHECK_INT(spmm_plan_set_stream(s->p.plan, stream), SPMM_OK);
    s->x = pinned(s->p.x.rows, precision, s->d.block.x_begin);
    s->y = pinned(s->p.y.rows, precision, s->d.block.row_begin);
}

static void streamed_destroy(streamed *s)
{
    CUDA_OK(cudaStreamSynchronize(stream));
    CUDA_OK(cudaFreeHost(s->x.data));
    CUDA_OK(cudaFreeHost(s->y.data));
    planned_destroy(&s->p);
    distributed_destroy(&s->d);
}

static void spoil(const spmm_multivector *v)
{
    CHECK_INT(sp_device_nan(v->data, sp_multivector_bytes(v)), SPMM_OK);
    CHECK_INT(sp_device_sync(), SPMM_OK);
}

/* ---- order ---- */

/** Queues in the stream a copy of X to the GPU, a product, and a copy of Y back: if the product is queued as
 *  a whole, none of this runs until the stream is released. */
static void follow(streamed *s, int transposed, double alpha, double beta, uint32_t number)
{
    const spmm_multivector *const from = transposed ? &s->y : &s->x, *const to = transposed ? &s->x : &s->y;
    spmm_multivector *const x = transposed ? &s->p.y : &s->p.x, *const y = transposed ? &s->p.x : &s->p.y;
    spmm_plan *const plan = s->p.plan;
    const sp_product *const of = transposed ? sp_transposed_product(plan->transposed) : plan->forward;
    const int q = s->d.block.q, held = sp_product_queues(of) && (q == 1 || !transposed);
    spoil(x);
    spoil(y);
    if (held) hold_up(number);
    queue_copy(from, x);
    queue_copy(to, y);
    CHECK_INT((transposed ? spmm_apply_transposed : spmm_apply)(plan, alpha, x, beta, y), SPMM_OK);
    queue_copy(y, to);
    if (held) CHECK_INT(cudaStreamQuery(stream), cudaErrorNotReady);
    if (held) release(number);
    CUDA_OK(cudaStreamSynchronize(stream));
    check_rows(&s->d.a, transposed, alpha, beta, to, transposed ? s->d.block.x_begin : s->d.block.row_begin);
    refill(to, transposed ? s->d.block.x_begin : s->d.block.row_begin);
}

static void test_stream_order(void)
{
    static const char sentence[] =
        "products come after what the stream was given before, and before what it gets afterwards";
    if (sp_flags_missing()) {
        SKIP(sentence, sp_flags_missing());
        return;
    }
    TEST(sentence) {
        uint32_t number = 0;
        for (int q = 1; q <= size; q = next_divisor(size, q))
            for (int t = SPMM_TRANSPORT_AUTO; t <= SPMM_TRANSPORT_MPI; t++) {
                streamed s;
                streamed_create(t ? "uniform:60,4" : "lap3d7:5", t ? SPMM_F32 : SPMM_F64, q,
                                (spmm_plan_options){.transport = (spmm_transport)t, .products = 1}, &s);
                /* the first products allocate memory, and therefore wait */
                CHECK_INT(spmm_apply(s.p.plan, 2, &s.p.x, -3, &s.p.y), SPMM_OK);
                CHECK_INT(spmm_apply_transposed(s.p.plan, 2, &s.p.y, -3, &s.p.x), SPMM_OK);
                for (int transposed = 0; transposed < 2; transposed++) {
                    follow(&s, transposed, 1, 0, ++number);
                    follow(&s, transposed, 2, -3, ++number);
                    follow(&s, transposed, 1, 0, ++number);
                }
                streamed_destroy(&s);
            }
    }
    TEST("a product of a stream is begun without waiting for it, and complete at the end") {
        streamed s;
        streamed_create("lap3d7:5", SPMM_F64, 1, (spmm_plan_options){.products = 1}, &s);
        CHECK_INT(spmm_apply(s.p.plan, 1, &s.p.x, 0, &s.p.y), SPMM_OK);
        spoil(&s.p.x);
        const int held = sp_product_queues(s.p.plan->forward);
        if (held) hold_up(1000);
        queue_copy(&s.x, &s.p.x);
        CHECK_INT(spmm_apply_begin(s.p.plan, 1, &s.p.x, 0, &s.p.y), SPMM_OK);
        if (held) release(1000);
        CHECK_INT(spmm_apply_end(s.p.plan), SPMM_OK);
        CHECK_INT(cudaStreamQuery(stream), cudaSuccess);
        check_rows(&s.d.a, 0, 1, 0, &s.p.y, s.d.block.row_begin);
        streamed_destroy(&s);
    }
    TEST("new values and multivector operations come after products that are queued") {
        streamed s;
        streamed_create("lap3d7:5", SPMM_F64, 1, (spmm_plan_options){.products = 1}, &s);
        for (int version = 0; version < 3; version++) {
            set_values(&s.d.a, version);
            for (int64_t e = 0; e < s.d.block.csr.nnz; e++) /* on one rank the block is the matrix */
                if (size == 1) sample_set(s.d.block.csr.as, SPMM_F64, e, value_of(e, version));
            if (size > 1) set_values(&s.d.a, 0);
            CHECK_INT(spmm_plan_update_values(s.p.plan), SPMM_OK);
            CHECK_INT(spmm_apply(s.p.plan, 1, &s.p.x, 0, &s.p.y), SPMM_OK);
            CHECK_INT(spmm_multivector_axpby(1, &s.p.y, 1, &s.p.y), SPMM_OK);
            check_rows(&s.d.a, 0, 2, 0, &s.p.y, s.d.block.row_begin);
        }
        streamed_destroy(&s);
    }
}

static void test_wrong_streams(void)
{
    TEST("a stream of a plan on CPUs, on some ranks only, or under capture is an error on every rank") {
        distributed d;
        spmm_plan *plan, *refused;
        cudaGraph_t graph;
        spmm_plan_options options = {.device = SPMM_CPU, .stream = stream};
        distributed_create("uniform:60,4", SPMM_F64, 1, &d);
        CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &d.block, K, &options, &plan), SPMM_ERR_USAGE);
        CHECK(says("spmm_plan_create: options.stream is given, expected NULL with options.device SPMM_CPU"));
        options.device = SPMM_CUDA;
        if (size > 1) {
            options.stream = test_.rank == 0 ? stream : NULL;
            CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &d.block, K, &options, &plan), SPMM_ERR_USAGE);
            CHECK(says("options.stream"));
        }
        options.stream = NULL;
        CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &d.block, K, &options, &plan), SPMM_OK);
        options.stream = stream;
        CUDA_OK(cudaStreamBeginCapture(stream, MODE));
        CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &d.block, K, &options, &refused), SPMM_ERR_USAGE);
        CHECK(says("spmm_plan_create: options.stream: the stream is being captured in a CUDA graph"));
        CHECK_INT(spmm_plan_set_stream(plan, stream), SPMM_ERR_USAGE);
        CHECK(says(size > 1 ? "expected one rank on a GPU" : "the stream is being captured in a CUDA graph"));
        CUDA_OK(cudaStreamEndCapture(stream, &graph));
        CUDA_OK(cudaGraphDestroy(graph));
        spmm_plan_destroy(plan);
        distributed_destroy(&d);
    }
    TEST("a view says what the stream means, and counts products that were queued") {
        streamed s;
        char *text;
        streamed_create("lap2d5:20", SPMM_F64, 1, (spmm_plan_options){.products = 1}, &s);
        for (int times = 0; times < 3; times++)
            CHECK_INT(spmm_apply(s.p.plan, 1, &s.p.x, 0, &s.p.y), SPMM_OK);
        CHECK_INT(spmm_plan_view_text(s.p.plan, &text), SPMM_OK);
        const int queued = sp_product_queues(s.p.plan->forward);
        if (test_.rank == 0)
            CHECK_TEXT(text, queued ? "the caller's: products are queued" : "products wait for the GPU");
        if (test_.rank == 0) CHECK_TEXT(text, queued ? "queued      3 products" : "products    3: mean");
        free(text);
        streamed_destroy(&s);
    }
}

/* ---- graphs ---- */

/** Captures a graph: copies of X and Y to the GPU, `steps` products, and a copy of Y back. */
static cudaGraphExec_t captured(streamed *s, int steps, double alpha, double beta)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec = NULL;
    CUDA_OK(cudaStreamBeginCapture(stream, MODE));
    queue_copy(&s->x, &s->p.x);
    queue_copy(&s->y, &s->p.y);
    for (int step = 0; step < steps; step++)
        CHECK_INT(spmm_apply(s->p.plan, alpha, &s->p.x, beta, &s->p.y), SPMM_OK);
    queue_copy(&s->p.y, &s->y);
    CUDA_OK(cudaStreamEndCapture(stream, &graph));
    CUDA_OK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    CUDA_OK(cudaGraphDestroy(graph));
    return exec;
}

static void replay(const char *spec, int q, spmm_plan_options options, double alpha, double beta)
{
    streamed s;
    options.products = 1;
    streamed_create(spec, SPMM_F64, q, options, &s);
    CHECK_INT(spmm_apply(s.p.plan, alpha, &s.p.x, beta, &s.p.y), SPMM_OK);
    if (sp_product_queues(s.p.plan->forward)) {
        cudaGraphExec_t const one = captured(&s, 1, alpha, beta),
                              two = captured(&s, beta == 0 ? 3 : 1, alpha, beta);
        for (int times = 0; times < 30; times++) {
            refill(&s.y, s.d.block.row_begin);
            spoil(&s.p.x);
            MPI_Barrier(MPI_COMM_WORLD);
            CUDA_OK(cudaGraphLaunch(times % 3 ? one : two, stream));
            CUDA_OK(cudaStreamSynchronize(stream));
            check_rows(&s.d.a, 0, alpha, beta, &s.y, s.d.block.row_begin);
            if (times % 4) continue;
            /* products without a graph still work */
            CHECK_INT(spmm_apply(s.p.plan, 1, &s.p.x, 0, &s.p.y), SPMM_OK);
            check_rows(&s.d.a, 0, 1, 0, &s.p.y, s.d.block.row_begin);
        }
        CUDA_OK(cudaGraphExecDestroy(one));
        CUDA_OK(cudaGraphExecDestroy(two));
    }
    streamed_destroy(&s);
}

/** Tells whether products of several ranks can be queued. */
static int ranks_queue(void)
{
    streamed s;
    streamed_create("lap2d5:20", SPMM_F64, 1, (spmm_plan_options){.products = 1}, &s);
    const int queued = sp_product_queues(s.p.plan->forward);
    streamed_destroy(&s);
    return queued;
}

static void test_replays(void)
{
    static const char sentence[] =
        "products captured in a CUDA graph are the products each time that it is launched";
    if (!ranks_queue()) {
        SKIP(sentence, "hosts have a part in what these ranks exchange");
        return;
    }
    TEST(sentence) {
        replay("lap2d5:20", 1, (spmm_plan_options){.exchange = SPMM_EXCHANGE_AUTO}, 1, 0);
        replay("lap3d7:6", 1, (spmm_plan_options){.exchange = SPMM_EXCHANGE_AUTO}, 2, -1);
        replay("uniform:90,6", 1, (spmm_plan_options){.exchange = SPMM_EXCHANGE_HALO}, 1, 0);
        replay("uniform:90,6", 1, (spmm_plan_options){.exchange = SPMM_EXCHANGE_BCAST}, -1, 0);
        replay("longrows:300,3,2,290", 1, (spmm_plan_options){.exchange = SPMM_EXCHANGE_AUTO}, 1, 0);
        replay("rmat:7,6", 1, (spmm_plan_options){.exchange = SPMM_EXCHANGE_JOINT}, 1, 0);
        replay("uniform:90,6", 1, (spmm_plan_options){.exchange_precision = SPMM_F32}, 1, 0);
        replay("lap2d5:20", 1, (spmm_plan_options){.exchange_precision = SPMM_F32}, 2, -1);
        if (size > 1) /* sums by NCCL, if it is available */
            replay("lap2d5:20", size, (spmm_plan_options){.exchange = SPMM_EXCHANGE_AUTO}, 1, 0);
    }
}

/** Begins a capture and calls a product, which must be refused; the capture stays valid. */
static void refused(streamed *s, int transposed, spmm_multivector *x, spmm_multivector *y, const char *why)
{
    cudaGraph_t graph = NULL;
    CUDA_OK(cudaStreamBeginCapture(stream, MODE));
    CHECK_ERROR((transposed ? spmm_apply_transposed : spmm_apply)(s->p.plan, 1, x, 0, y), SPMM_ERR_USAGE,
                why);
    CUDA_OK(cudaStreamEndCapture(stream, &graph));
    CUDA_OK(cudaGraphDestroy(graph));
}

static void test_refused_captures(void)
{
    TEST("what cannot be captured is an error that leaves the capture sound") {
        streamed s;
        spmm_multivector other, wide;
        cudaGraph_t graph;
        streamed_create("lap2d5:20", SPMM_F64, 1, (spmm_plan_options){.products = 1}, &s);
        const int queues = sp_product_queues(s.p.plan->forward);
        const char *const host = "needs the host";
        refused(&s, 0, &s.p.x, &s.p.y, queues ? "expected a product of the plan before the capture" : host);
        CHECK_INT(spmm_apply(s.p.plan, 1, &s.p.x, 0, &s.p.y), SPMM_OK);
        refused(&s, 1, &s.p.y, &s.p.x, "expected a product with the transpose before the capture");
        CHECK_INT(spmm_multivector_create(s.p.x.rows, K, SPMM_F64, SPMM_CUDA, &other), SPMM_OK);
        CHECK_INT(spmm_multivector_create(s.p.x.rows, K + 1, SPMM_F64, SPMM_CUDA, &wide), SPMM_OK);
        if (queues && size > 1 && s.d.block.x_rows < 400)
            refused(&s, 0, &other, &s.p.y, "must allocate a copy");
        if (queues) refused(&s, 0, &wide, &s.p.y, "spmm_apply: x is ");
        if (queues) refused(&s, 0, &s.p.x, NULL, "spmm_apply: y is NULL");
        CUDA_OK(cudaStreamBeginCapture(stream, MODE));
        CHECK_INT(spmm_apply_begin(s.p.plan, 1, &s.p.x, 0, &s.p.y), SPMM_ERR_USAGE);
        CHECK(says(
            "spmm_apply_begin: the stream is being captured in a CUDA graph: call spmm_apply() instead"));
        CHECK_INT(spmm_apply_end(s.p.plan), SPMM_ERR_USAGE);
        CUDA_OK(cudaStreamEndCapture(stream, &graph));
        CUDA_OK(cudaGraphDestroy(graph));
        CHECK_INT(spmm_apply(s.p.plan, 1, &s.p.x, 0, &s.p.y), SPMM_OK);
        check_rows(&s.d.a, 0, 1, 0, &s.p.y, s.d.block.row_begin);
        spmm_multivector_destroy(&other);
        spmm_multivector_destroy(&wide);
        streamed_destroy(&s);
        if (size > 1) {
            streamed_create("lap2d5:20", SPMM_F64, 1, (spmm_plan_options){.transport = SPMM_TRANSPORT_STAGED},
                            &s);
            refused(&s, 0, &s.p.x, &s.p.y, "transport staged needs the host");
            CHECK_INT(spmm_apply(s.p.plan, 1, &s.p.x, 0, &s.p.y), SPMM_OK);
            refused(&s, 0, &s.p.x, &s.p.y, "transport staged needs the host");
            CHECK_INT(spmm_apply(s.p.plan, 1, &s.p.x, 0, &s.p.y), SPMM_OK);
            check_rows(&s.d.a, 0, 1, 0, &s.p.y, s.d.block.row_begin);
            streamed_destroy(&s);
        }
    }
}

/** One rank captures a product, the others compute it: all get an error. */
static void test_lone_capture(void)
{
    static const char sentence[] =
        "a product that one rank captures and another computes is an error of both";
    if (size != 2 || !ranks_queue()) {
        SKIP(sentence, "for two ranks whose products are queued by the peer transport");
        return;
    }
    TEST(sentence) {
        streamed s;
        cudaGraph_t graph;
        streamed_create("lap2d5:20", SPMM_F64, 1,
                        (spmm_plan_options){.products = 1, .transport = SPMM_TRANSPORT_PEER}, &s);
        CHECK_INT(spmm_apply(s.p.plan, 1, &s.p.x, 0, &s.p.y), SPMM_OK);
        CUDA_OK(cudaStreamSynchronize(stream)); /* (an emulated GPU works only while its host waits for it) */
        MPI_Barrier(MPI_COMM_WORLD);
        if (test_.rank == 0) CUDA_OK(cudaStreamBeginCapture(stream, MODE));
        CHECK_INT(spmm_apply(s.p.plan, 1, &s.p.x, 0, &s.p.y), SPMM_ERR_MPI);
        CHECK(says("only one of the two ranks captured the exchange in a CUDA graph"));
        if (test_.rank == 0 && cudaStreamEndCapture(stream, &graph) == cudaSuccess)
            CUDA_OK(cudaGraphDestroy(graph));
        CHECK_INT(spmm_apply(s.p.plan, 1, &s.p.x, 0, &s.p.y), SPMM_OK);
        check_rows(&s.d.a, 0, 1, 0, &s.p.y, s.d.block.row_begin);
        streamed_destroy(&s);
    }
}

/* ---- a CSR in GPU memory ---- */

static void *on_gpu(const void *host, int64_t bytes)
{
    void *memory = NULL;
    CUDA_OK(cudaMalloc(&memory, (size_t)bytes + 1));
    if (bytes > 0) CUDA_OK(cudaMemcpyAsync(memory, host, (size_t)bytes, cudaMemcpyHostToDevice, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
    return memory;
}

/** Returns the block with its arrays in GPU memory. */
static spmm_block upload_block(const spmm_block *b)
{
    spmm_block gpu = *b;
    const int64_t bytes = sp_value_size(b->csr.precision);
    gpu.csr.irp = on_gpu(b->csr.irp, (b->csr.rows + 1) * 8);
    gpu.csr.ja = on_gpu(b->csr.ja, b->csr.nnz * 4);
    gpu.csr.as = on_gpu(b->csr.as, b->csr.nnz * bytes);
    return gpu;
}

static void free_block(const spmm_block *gpu)
{
    CUDA_OK(cudaFree(gpu->csr.irp));
    CUDA_OK(cudaFree(gpu->csr.ja));
    CUDA_OK(cudaFree(gpu->csr.as));
}

/** Changes the values of this rank's CSR in GPU memory, in the stream. */
static void change_on_gpu(distributed *d, const spmm_block *gpu, int64_t version)
{
    const int64_t bytes = d->block.csr.nnz * sp_value_size(d->block.csr.precision);
    change_values(d, version);
    if (bytes > 0)
        CUDA_OK(cudaMemcpyAsync(gpu->csr.as, d->block.csr.as, (size_t)bytes, cudaMemcpyHostToDevice, stream));
}

/** Checks products and new values of a CSR in GPU memory.
 *  \param [in] transposed  number of updates before the first product with the transpose */
static void check_csr_on_gpu(const char *spec, spmm_precision precision, int q, spmm_plan_options options,
                             int transposed)
{
    distributed d;
    planned p;
    options.device = SPMM_CUDA;
    options.products = 1;
    distributed_create(spec, precision, q, &d);
    const spmm_block gpu = upload_block(&d.block);
    distributed moved = {d.a, gpu};
    planned_create(&moved, K, &options, &p);
    for (int version = 0; version < 4; version++) {
        if (version > 0) {
            change_on_gpu(&d, &gpu, version);
            if (!options.stream) CUDA_OK(cudaStreamSynchronize(stream));
            CHECK_INT(spmm_plan_update_values(p.plan), SPMM_OK);
        }
        fill(&p.x, d.block.x_begin);
        CHECK_INT(spmm_apply(p.plan, 1, &p.x, 0, &p.y), SPMM_OK);
        check_rows(&d.a, 0, 1, 0, &p.y, d.block.row_begin);
        if (version < transposed) continue;
        fill(&p.y, d.block.row_begin);
        CHECK_INT(spmm_apply_transposed(p.plan, 1, &p.y, 0, &p.x), SPMM_OK);
        check_rows(&d.a, 1, 1, 0, &p.x, d.block.x_begin);
    }
    CUDA_OK(cudaStreamSynchronize(stream));
    planned_destroy(&p);
    free_block(&gpu);
    distributed_destroy(&d);
}

static void test_csr_on_gpu(void)
{
    TEST("a CSR in GPU memory is multiplied, and its new values are taken over, by each kernel") {
        int count;
        const sp_kernel *const kernels = sp_kernels(&count);
        for (const sp_kernel *k = kernels; k < kernels + count; k++) {
            if (k->device != SPMM_CUDA || k->format == SPMM_ELL) continue;
            check_csr_on_gpu("lap2d5:20", SPMM_F64, 1,
                             (spmm_plan_options){.kernel = k->id, .format = k->format}, 9);
            check_csr_on_gpu("rmat:6,8", SPMM_F32, 1,
                             (spmm_plan_options){.kernel = k->id, .format = k->format, .stream = stream}, 9);
        }
    }
    TEST(
        "and on every grid and exchange, with products of the transpose from the first, second or third update on") {
        for (int q = 1; q <= size; q = next_divisor(size, q))
            for (int e = SPMM_EXCHANGE_AUTO; e <= SPMM_EXCHANGE_JOINT; e++) {
                check_csr_on_gpu("uniform:70,5", SPMM_F64, q,
                                 (spmm_plan_options){.exchange = (spmm_exchange)e}, e);
                check_csr_on_gpu("lap3d7:5", SPMM_F32, q,
                                 (spmm_plan_options){.exchange = (spmm_exchange)e, .stream = stream}, e);
            }
    }
    TEST("a CSR in mixed memory, or in GPU memory where it cannot be, is an error on every rank") {
        distributed d;
        spmm_plan *plan;
        spmm_block block;
        spmm_plan_options options = {.device = SPMM_CUDA};
        distributed_create("uniform:60,4", SPMM_F64, 1, &d);
        const spmm_block gpu = upload_block(&d.block);
        const int bad = test_.rank == size - 1;
        spmm_block mixed = gpu;
        mixed.csr.ja = d.block.csr.ja;
        CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, bad ? &mixed : &gpu, K, &options, &plan), SPMM_ERR_USAGE);
        CHECK(says("csr.irp is in GPU memory, but csr.ja is not: expected all arrays in the same memory"));
        mixed = d.block;
        mixed.csr.as = gpu.csr.as;
        CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, bad ? &mixed : &d.block, K, &options, &plan),
                  SPMM_ERR_USAGE);
        CHECK(says("csr.as is in GPU memory, but csr.irp is not"));
        options.device = SPMM_CPU;
        CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, bad ? &gpu : &d.block, K, &options, &plan),
                  SPMM_ERR_USAGE);
        CHECK(says("spmm_plan_create: ") && says("block.csr is in GPU memory, expected host memory"));
        CHECK_INT(spmm_csr_scatter(MPI_COMM_WORLD, 0, &gpu.csr, size, 1, &block), SPMM_ERR_USAGE);
        CHECK(says("spmm_csr_scatter: a is in GPU memory, expected host memory"));
        free_block(&gpu);
        distributed_destroy(&d);
    }
}

static void test_all(void)
{
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    device = SPMM_CUDA;
    CUDA_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    /* memory of a pool does not support stream memory operations */
    CHECK_INT(sp_device_alloc_exchanged((void **)&flag, 64, "a flag"), SPMM_OK);
    CHECK_INT(sp_device_zero(flag, 64), SPMM_OK);
    CHECK_INT(sp_device_sync(), SPMM_OK);
    test_begin_and_end();
    test_order_of_calls();
    test_wrong_begin();
    test_zero();
    test_layouts();
    test_stream_order();
    test_wrong_streams();
    test_replays();
    test_refused_captures();
    test_lone_capture();
    test_csr_on_gpu();
    sp_device_free(flag);
    CUDA_OK(cudaStreamDestroy(stream));
}
#else
static void test_all(void) { skip_all("a build without CUDA"); }
#endif

int main(int argc, char **argv) { return gpu_main(argc, argv, skip_all, test_all); }
