/** Binds a rank to what it computes on: its cores or a GPU. */
#ifndef SP_BINDING_H
#define SP_BINDING_H

#include <stdio.h>

#include "comm/comm.h"
#include "device/device.h"

/** What --device asks for; AUTO: GPUs where every rank sees one. */
typedef enum sp_device_choice { SP_DEVICE_AUTO, SP_DEVICE_CPU, SP_DEVICE_CUDA } sp_device_choice;

/** One rank's binding; plain data without pointers, so that rank 0 can collect those of all ranks. */
typedef struct sp_binding {
    char host[64];
    int cores;        /**< cores that this rank may use at a time, shared by `core_sharers` ranks */
    int core_sharers; /**< ranks of this node bound to the same cores, at least 1 */
    int threads;      /**< OpenMP threads */
    spmm_device device;
    sp_device_info gpu; /**< set only where device is SPMM_CUDA */
    int gpu_sharers;    /**< ranks of this node on the same GPU, at least 1; 0: SPMM_CPU */
} sp_binding;

/** Chooses the device and the number of threads of each rank, and opens the GPU.
 *
 *  Collective over comm. With SP_DEVICE_AUTO, GPUs are used when every rank sees one. A rank opens the visible GPU
 *  whose number is the node-local rank modulo the number of visible GPUs; CUDA_VISIBLE_DEVICES and a batch system's
 *  binding decide which ones are visible. The default number of threads is OMP_NUM_THREADS where it is set; else the
 *  cores of the rank's affinity mask, or the cores' worth of time that its control group grants where that is less,
 *  divided by the number of ranks of the node with the same mask.
 *  \param [in]  threads  OpenMP threads; 0: the default
 *  \param [out] binding  this rank's binding
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (more threads than threads.h allows, or an
 *          environment variable that environment.h refuses), SPMM_ERR_NO_DEVICE (SP_DEVICE_CUDA without a GPU; the
 *          message says why), SPMM_ERR_DEVICE, SPMM_ERR_MEMORY, SPMM_ERR_MPI */
spmm_status sp_bind_rank(MPI_Comm comm, sp_device_choice choice, int threads, sp_binding *binding);

/** Prints the line "device" of a report: the GPU, or the threads and cores, and how many ranks share them. Local. */
void sp_binding_print(FILE *out, const sp_binding *binding);

#endif
