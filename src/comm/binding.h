/** Binds ranks to hardware: chooses the device of each rank, its number of OpenMP threads, and its GPU. */
#ifndef SP_BINDING_H
#define SP_BINDING_H

#include <stdio.h>

#include "comm/comm.h"
#include "device/device.h"
#include "device/topology.h"

/** The value of --device: an spmm_device, or SP_DEVICE_AUTO, which selects GPUs if every rank sees one, else
 *  CPUs. */
typedef enum sp_device_choice {
    SP_DEVICE_AUTO = -1,
    SP_DEVICE_CPU = SPMM_CPU,
    SP_DEVICE_CUDA = SPMM_CUDA
} sp_device_choice;

/** The ranks whose cores are all far from their GPU. */
typedef struct sp_far_ranks {
    int count, of;    /**< count: number of these ranks; of: number of all ranks. The members below are set
                           only if count > 0 */
    int first;        /**< the lowest of these ranks */
    sp_nearness near; /**< data of that rank */
} sp_far_ranks;

/** The binding of one rank. The struct has no pointers, so that rank 0 can gather the bindings of all
 *  ranks. */
typedef struct sp_binding {
    char host[64];
    int cores;        /**< number of cores, or of hardware threads if cores have several, that this rank may
                           use concurrently; `core_sharers` ranks share them */
    int core_sharers; /**< number of ranks of this node bound to the same cores, this rank included */
    int threads;      /**< number of OpenMP threads of this rank */
    spmm_device device;
    sp_device_info gpu; /**< the GPU of this rank; set only if device is SPMM_CUDA */
    int gpu_sharers;    /**< number of ranks of this node on the same GPU, this rank included; 0 if device is
                             SPMM_CPU */
    sp_far_ranks far;   /**< set by sp_find_far_ranks() */
    int spanning;       /**< number of ranks whose threads run on cores of several NUMA nodes; set by
                             sp_find_spanning_ranks() */
} sp_binding;

/** Chooses the device and the number of threads of each rank, and opens the GPU.
 *
 *  Collective over comm. With SP_DEVICE_AUTO, GPUs are used if every rank sees one. A rank opens the visible
 *  GPU whose number is the node-local rank modulo the number of visible GPUs; CUDA_VISIBLE_DEVICES and the
 *  batch system's binding decide which GPUs are visible. The default number of threads is OMP_NUM_THREADS if
 *  that is set. Otherwise it is the number of cores in the rank's affinity mask or the CPU quota of its
 *  control group, whichever is less, divided by the number of ranks of the node with the same mask.
 *  \param [in]  threads  number of OpenMP threads; 0: the default
 *  \param [out] binding  this rank's binding
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_USAGE (more threads than threads.h allows, or an
 *          invalid environment variable, see environment.h), SPMM_ERR_NO_DEVICE (SP_DEVICE_CUDA without a
 *          GPU; the message says why), SPMM_ERR_DEVICE, SPMM_ERR_MEMORY, SPMM_ERR_MPI */
spmm_status sp_bind_rank(MPI_Comm comm, sp_device_choice choice, int threads, sp_binding *binding);

/** Determines the ranks whose cores are all far from their GPU, if sp_topology_near() can determine that.
 *
 *  Collective over comm; does nothing without GPUs.
 *  \param [in,out] binding  from sp_bind_rank()
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_find_far_ranks(MPI_Comm comm, sp_binding *binding);

/** Counts the ranks that have several threads on cores of several NUMA nodes, if sp_topology_numa_nodes() can
 *  determine that. Such a rank's threads read each other's memory over the slower link between nodes.
 *
 *  Collective over comm; does nothing with GPUs.
 *  \param [in,out] binding  from sp_bind_rank()
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_find_spanning_ranks(MPI_Comm comm, sp_binding *binding);

/** Writes the number of cores of the binding with a unit, e.g. "8 cores", or "16 hardware threads of 8
 *  cores". Must be called on the rank that the binding describes. Local.
 *  \param [out] text  [n] the result
 *  \return text */
const char *sp_cores_text(char *text, size_t n, const sp_binding *binding);

/** Prints the line "device" of a report: the GPU, with another line if ranks are far from their GPUs; or the
 *  numbers of threads and cores and of the ranks that share them, with another line if ranks span NUMA nodes.
 *  Local. */
void sp_binding_print(FILE *out, const sp_binding *binding);

#endif
