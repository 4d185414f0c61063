/** Where a rank computes: its cores or its GPU. */
#ifndef SP_BINDING_H
#define SP_BINDING_H

#include <stdio.h>

#include "comm/comm.h"
#include "device/device.h"

typedef enum sp_device_choice { SP_DEVICE_AUTO, SP_DEVICE_CPU, SP_DEVICE_CUDA } sp_device_choice;

/** One rank's binding; plain data, so that rank 0 can collect them. */
typedef struct sp_binding {
    char host[64];
    int cores; /**< cores this rank may run on at a time, shared by `core_sharers` ranks */
    int core_sharers;
    int threads; /**< OpenMP threads */
    spmm_device device;
    sp_device_info gpu; /**< SPMM_CUDA only */
    int gpu_sharers;    /**< ranks of this node on the same GPU, at least 1 */
} sp_binding;

/** Chooses threads and device, and opens the GPU.
 *
 *  Collective over comm. auto takes GPUs when every rank sees one. GPUs go by node-local rank modulo
 *  the visible ones (CUDA_VISIBLE_DEVICES and a batch system's binding are obeyed, since they decide
 *  what is visible). Threads, unless given: OMP_NUM_THREADS, else the cores that the rank is bound
 *  to, or that its control group grants it the time of, divided by the node's ranks bound to the same ones.
 *  \param [in] threads  0: the default
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (more threads than threads.h allows, an
 *          environment variable that environment.h refuses), SPMM_ERR_NO_DEVICE (cuda without a GPU; says why),
 *          SPMM_ERR_DEVICE */
spmm_status sp_bind_rank(MPI_Comm comm, sp_device_choice choice, int threads, sp_binding *binding);

/** Prints the line "device" of a report: the GPU, or threads and cores, and how many ranks share them. */
void sp_binding_print(FILE *out, const sp_binding *binding);

#endif
