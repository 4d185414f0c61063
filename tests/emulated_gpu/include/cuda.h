/** The part of the CUDA driver's header that this project uses, on an emulated GPU: stream memory operations.
 *  Names and values are those of the CUDA Toolkit. */
#ifndef SP_EMULATED_CUDA_H
#define SP_EMULATED_CUDA_H

#include <stdint.h>

typedef enum cudaError_enum { CUDA_SUCCESS = 0 } CUresult;
typedef uint64_t CUdeviceptr;
typedef struct emulated_stream *CUstream;

enum {
    CU_STREAM_WAIT_VALUE_GEQ = 0,
    CU_STREAM_WAIT_VALUE_FLUSH = 1 << 30,
    CU_STREAM_WRITE_VALUE_DEFAULT = 0
};

typedef enum CUstreamBatchMemOpType_enum {
    CU_STREAM_MEM_OP_WAIT_VALUE_32 = 1,
    CU_STREAM_MEM_OP_WRITE_VALUE_32 = 2
} CUstreamBatchMemOpType;

/** Members that both operations have are at the same offsets. */
typedef union CUstreamBatchMemOpParams_union {
    CUstreamBatchMemOpType operation;
    struct {
        CUstreamBatchMemOpType operation;
        CUdeviceptr address;
        uint32_t value;
        unsigned flags;
    } waitValue, writeValue;
    uint64_t pad[6];
} CUstreamBatchMemOpParams;

#endif
