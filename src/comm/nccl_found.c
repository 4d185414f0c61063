/** Implements nccl.h with NCCL. */
#include <nccl.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/value_type.h"
#include "comm/nccl.h"
#include "device/device.h"

struct sp_nccl {
    ncclComm_t comm;
};

const char *sp_nccl_missing(void) { return NULL; }

static spmm_status nccl_found_check(ncclResult_t result, const char *what)
{
    if (result == ncclSuccess || result == ncclInProgress) return SPMM_OK;
    const char *const last = ncclGetLastError(NULL);
    return sp_fail(SPMM_ERR_DEVICE, "NCCL: %s: %s%s%.200s", what, ncclGetErrorString(result),
                   last && *last ? ": " : "", last ? last : "");
}

/** Checks that no two ranks share a GPU: NCCL would fail, and older versions of NCCL would hang. Collective
 *  over comm. */
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
    return alone ? SPMM_OK : sp_fail(SPMM_ERR_DEVICE, "NCCL: ranks share a GPU, expected one GPU per rank");
}

/* Key of the attribute with which an MPI communicator refers to its NCCL communicator. The NCCL communicator
 * is destroyed with the MPI communicator, so other files need not destroy it. */
static int attribute = MPI_KEYVAL_INVALID;

/** The delete callback of the attribute: MPI calls it when the MPI communicator is freed or the attribute is
 *  deleted. */
static int nccl_found_destroy(MPI_Comm comm, int key, void *value, void *extra)
{
    sp_nccl *const nccl = value;
    (void)comm, (void)key, (void)extra;
    if (nccl->comm) (void)ncclCommDestroy(nccl->comm);
    sp_free(nccl);
    return MPI_SUCCESS;
}

/** Looks up the NCCL communicator of the MPI communicator comm. Local.
 *  \param [out] nccl  NULL if comm has none yet */
static spmm_status nccl_found_find(MPI_Comm comm, sp_nccl **nccl)
{
    int there = 0;
    void *value = NULL;
    *nccl = NULL;
    if (attribute == MPI_KEYVAL_INVALID)
        TRY(SP_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, nccl_found_destroy, &attribute, NULL)));
    TRY(SP_MPI(MPI_Comm_get_attr(comm, attribute, &value, &there)));
    if (there) *nccl = value;
    return SPMM_OK;
}

/** Allocates an NCCL communicator, not connected yet, and stores it as an attribute of comm. Local. */
static spmm_status attach(MPI_Comm comm, sp_nccl **nccl)
{
    TRY(sp_alloc_zero((void **)nccl, 1, sizeof **nccl, "NCCL's communicator"));
    const spmm_status status = SP_MPI(MPI_Comm_set_attr(comm, attribute, *nccl));
    if (status != SPMM_OK) {
        sp_free(*nccl);
        *nccl = NULL;
    }
    return status;
}

/** Creates and connects the NCCL communicator for the ranks of comm. Collective over comm. */
static spmm_status nccl_found_connect(MPI_Comm comm, sp_nccl **nccl)
{
    ncclUniqueId id;
    int rank, size;
    memset(&id, 0, sizeof id);
    TRY(SP_MPI(MPI_Comm_rank(comm, &rank)));
    TRY(SP_MPI(MPI_Comm_size(comm, &size)));
    TRY(check_gpus(comm));
    spmm_status status = attach(comm, nccl);
    if (status == SPMM_OK && rank == 0) status = nccl_found_check(ncclGetUniqueId(&id), "cannot start");
    TRY(sp_agree(comm, "nccl", status));
    TRY(sp_bcast(comm, 0, &id, sizeof id));
    (void)sp_device_stream(SP_STREAM_MAIN); /* makes the GPU this thread's current device */
    return sp_agree(comm, "nccl",
                    nccl_found_check(ncclCommInitRank(&(*nccl)->comm, size, id, rank), "cannot connect"));
}

spmm_status sp_nccl_of(const sp_grid *grid, sp_along along, const sp_nccl **nccl)
{
    MPI_Comm comm = along == SP_ALONG_ROW ? grid->row_comm : grid->col_comm;
    sp_nccl *kept;
    *nccl = NULL;
    TRY(sp_agree(grid->comm, "nccl", nccl_found_find(comm, &kept)));
    /* all ranks of the grid agree, because another process row or column may have failed */
    const spmm_status status = sp_agree(grid->comm, "nccl", kept ? SPMM_OK : nccl_found_connect(comm, &kept));
    if (status == SPMM_OK)
        *nccl = kept;
    else if (kept)
        (void)MPI_Comm_delete_attr(comm, attribute);
    return status;
}

spmm_status sp_nccl_begin(void) { return nccl_found_check(ncclGroupStart(), "group"); }

spmm_status sp_nccl_send(const sp_nccl *nccl, int to, const void *data, int64_t bytes, void *stream)
{
    return nccl_found_check(ncclSend(data, (size_t)bytes, ncclInt8, to, nccl->comm, (cudaStream_t)stream),
                            "send");
}

spmm_status sp_nccl_recv(const sp_nccl *nccl, int from, void *data, int64_t bytes, void *stream)
{
    return nccl_found_check(ncclRecv(data, (size_t)bytes, ncclInt8, from, nccl->comm, (cudaStream_t)stream),
                            "receive");
}

spmm_status sp_nccl_end(void) { return nccl_found_check(ncclGroupEnd(), "group"); }

spmm_status sp_nccl_sum(const sp_nccl *nccl, void *y, int64_t elements, spmm_precision precision,
                        void *stream)
{
#define TYPE(argument, word, id, T, R, parts, digits, numpy, mpi, nccl, LIMIT) [id] = nccl,
    static const ncclDataType_t type[] = {SP_VALUE_TYPES(TYPE, )};
#undef TYPE
    if (elements == 0) return SPMM_OK;
    return nccl_found_check(
        ncclReduce(y, y, (size_t)elements, type[precision], ncclSum, 0, nccl->comm, (cudaStream_t)stream),
        "reduce");
}
