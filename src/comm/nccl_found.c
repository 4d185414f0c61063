/** sp_nccl.h by NCCL. */
#include <nccl.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "comm/nccl.h"
#include "device/device.h"

struct sp_nccl {
    ncclComm_t comm;
};

const char *sp_nccl_missing(void) { return NULL; }

static spmm_status check(ncclResult_t result, const char *what)
{
    if (result == ncclSuccess || result == ncclInProgress) return SPMM_OK;
    const char *const last = ncclGetLastError(NULL);
    return sp_fail(SPMM_ERR_DEVICE, "NCCL: %s: %s%s%.200s", what, ncclGetErrorString(result),
                   last && *last ? ": " : "", last ? last : "");
}

/** NCCL refuses, or waits for ever in older versions, where two of its ranks are on one GPU. */
static spmm_status check_gpus(MPI_Comm comm)
{
    sp_device_info gpu;
    char pci[32];
    int place = 0, sharers = 1, alone;
    spmm_status status = sp_device_current(&gpu);
    snprintf(pci, sizeof pci, "%s", gpu.pci);
    TRY(sp_agree(comm, "nccl", status));
    TRY(sp_node_sharers(comm, pci, &place, &sharers));
    TRY(sp_all(comm, sharers == 1, &alone));
    return alone ? SPMM_OK : sp_fail(SPMM_ERR_DEVICE, "NCCL: ranks share a GPU");
}

static spmm_status connect(MPI_Comm comm, sp_nccl **nccl)
{
    ncclUniqueId id;
    int rank, size;
    memset(&id, 0, sizeof id);
    TRY(SP_MPI(MPI_Comm_rank(comm, &rank)));
    TRY(SP_MPI(MPI_Comm_size(comm, &size)));
    TRY(check_gpus(comm));
    spmm_status status = sp_alloc_zero((void **)nccl, 1, sizeof **nccl, "NCCL's communicator");
    if (status == SPMM_OK && rank == 0) status = check(ncclGetUniqueId(&id), "cannot start");
    TRY(sp_agree(comm, "nccl", status));
    TRY(sp_bcast(comm, 0, &id, sizeof id));
    (void)sp_device_queue(SP_QUEUE_MAIN); /* makes the GPU this thread's */
    return sp_agree(comm, "nccl", check(ncclCommInitRank(&(*nccl)->comm, size, id, rank), "cannot connect"));
}

spmm_status sp_nccl_of(const sp_grid *grid, sp_along along, const sp_nccl **nccl)
{
    sp_nccl **const kept = &grid->links->nccl[along];
    *nccl = NULL;
    /* agreed over all: another process row may have failed */
    spmm_status status = *kept ? SPMM_OK
                               : connect(along == SP_ALONG_ROW ? grid->row_comm : grid->col_comm, kept);
    status = sp_agree(grid->comm, "nccl", status);
    if (status != SPMM_OK) {
        sp_nccl_destroy(*kept);
        *kept = NULL;
        return status;
    }
    *nccl = *kept;
    return SPMM_OK;
}

void sp_nccl_destroy(sp_nccl *nccl)
{
    if (!nccl) return;
    if (nccl->comm) (void)ncclCommDestroy(nccl->comm);
    sp_free(nccl);
}

spmm_status sp_nccl_begin(void) { return check(ncclGroupStart(), "group"); }

spmm_status sp_nccl_send(const sp_nccl *nccl, int to, const void *data, int64_t bytes, void *stream)
{
    return check(ncclSend(data, (size_t)bytes, ncclInt8, to, nccl->comm, (cudaStream_t)stream), "send");
}

spmm_status sp_nccl_recv(const sp_nccl *nccl, int from, void *data, int64_t bytes, void *stream)
{
    return check(ncclRecv(data, (size_t)bytes, ncclInt8, from, nccl->comm, (cudaStream_t)stream), "receive");
}

spmm_status sp_nccl_end(void) { return check(ncclGroupEnd(), "group"); }

spmm_status sp_nccl_sum(const sp_nccl *nccl, void *y, int64_t elements, spmm_precision precision,
                        void *stream)
{
    const ncclDataType_t type = precision == SPMM_F64 ? ncclFloat64 : ncclFloat32;
    if (elements == 0) return SPMM_OK;
    return check(ncclReduce(y, y, (size_t)elements, type, ncclSum, 0, nccl->comm, (cudaStream_t)stream),
                 "reduce");
}
