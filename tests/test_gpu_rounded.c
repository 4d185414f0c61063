/* Ghost rows of X that travel as f32, on GPUs: by every available transport, and by each backend of the peer
 * transport.
 * MPI: 1 2 3
 * limit: 300 */
#define TEST_TRAPS 0 /* values that overflow in f32 */
#include "rounded_cases.h"

#include "gpu_main.h"

static const char *const transports[] = {"auto", "mpi", "staged", "cuda-aware", "nccl", "peer"};

/** Checks the transport, or skips it with the library's message if it is not available. */
static void check_if_there(spmm_transport transport, const char *backend)
{
    const spmm_plan_options options = {
        .device = SPMM_CUDA, .transport = transport, .exchange_precision = SPMM_F32};
    spmm_block block;
    spmm_plan *plan;
    if (*backend) setenv("SPMM_EXCHANGE_BACKEND", backend, 1);
    scattered("lap2d5:20", SPMM_F64, 0, 0, &block);
    const spmm_status status = spmm_plan_create(MPI_COMM_WORLD, &block, 4, &options, &plan);
    const char *const sentence = test_name("by %s %s, Y is the serial product with rounded ghost rows",
                                           transports[transport], backend);
    spmm_plan_destroy(plan);
    if (status != SPMM_OK)
        SKIP(sentence, spmm_error_message());
    else
        TEST(sentence) check_transport(transport);
    spmm_block_destroy(&block);
    unsetenv("SPMM_EXCHANGE_BACKEND");
}

static void skip(const char *why) { SKIP("ghost rows travel as f32 between GPUs", why); }

static void all(void)
{
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    device = SPMM_CUDA;
    for (int t = SPMM_TRANSPORT_AUTO; t <= SPMM_TRANSPORT_PEER; t++) check_if_there((spmm_transport)t, "");
    check_if_there(SPMM_TRANSPORT_PEER, "peer");
    check_if_there(SPMM_TRANSPORT_PEER, "peer_stream");
    test_what_stays();
}

int main(int argc, char **argv) { return gpu_main(argc, argv, skip, all); }
