/** Measures how fast this machine multiplies the blocks of a planned job, so that the cost model need not assume it. */
#ifndef SP_SPMM_MPI_KERNEL_RATE_H
#define SP_SPMM_MPI_KERNEL_RATE_H

#include "comm/binding.h"
#include "comm/grid.h"
#include "spmm_mpi/grid_cost.h"

/** What products of a planned job are timed with. */
typedef struct sp_kernel_clock {
    const sp_machine *machine;
    const sp_binding *binding; /**< of this rank: its device and threads */
    spmm_plan_options options; /**< kernel, format and shape of the products */
    sp_grid self;              /**< a grid of this rank alone; sp_kernel_clock_destroy() frees it */
    int here;                  /**< 1: this rank's processor is that of the machine file */
    double copy_rate;          /**< of `copy_threads` threads here; 0: not measured */
    int copy_threads;
} sp_kernel_clock;

/** Copies the name of what a rank multiplies on to text [n]: sp_cpu_name(), or the name of its GPU; returns text. Local. */
const char *sp_processor_name(const sp_binding *binding, char *text, size_t n);

/** Prepares timings. Local, but calls MPI.
 *  \param [in]  options  as for the products of a run
 *  \param [out] clock    sp_kernel_clock_destroy() frees it
 *  \return SPMM_OK, SPMM_ERR_MPI; SPMM_ERR_USAGE if the machine file says no efficiency and its device is not the one of
 *          this rank, so that nothing can be timed */
spmm_status sp_kernel_clock_create(const sp_machine *machine, const sp_binding *binding,
                                   const spmm_plan_options *options, sp_kernel_clock *clock);

/** Frees the grid of the clock; accepts a zeroed one. */
void sp_kernel_clock_destroy(sp_kernel_clock *clock);

/** Returns the rate of a kernel by the efficiency that the machine file says, in a product of `ranks` ranks: bytes of the
 *  DRAM bound per second of one rank; 0 if the file says none. Local. */
double sp_stated_rate(const sp_machine *machine, int64_t ranks);

/** Determines the bytes of the DRAM bound that a rank multiplies per second while the ranks of its node do so too: by the
 *  efficiency of the machine file, or, if the file says none, by multiplying row blocks of some ranks here, the heaviest
 *  among them, as many at a time as a node has, or as this process has threads for, and taking the median time.
 *
 *  Where this processor has the name that the file says, that is the rate; if there are more ranks on a node than could
 *  be timed at once, they are taken to share the cores. Of another processor, the rate is scaled by the copy rates of
 *  both, for as many ranks; beyond that number the ranks of a node share what the node copies, if this is less.
 *
 *  Local, but calls MPI. Takes some tenths of a second, or three products if they last longer; of blocks that are too
 *  large for that, or for a quarter of the free memory, only the first rows are multiplied.
 *  \param [in] ranges  of a P x 1 grid
 *  \param [in] counts  [P] of this grid
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_LIMIT (the kernel refuses the matrix), _DEVICE, _NO_DEVICE, _MPI */
spmm_status sp_kernel_rate(sp_kernel_clock *clock, const spmm_csr *a, const sp_ranges *ranges,
                           const sp_rank_count *counts, int64_t k, double *rate);

#endif
