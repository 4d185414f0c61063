/** One of the runs that job_multiply.c makes, and what they have in common. */
#ifndef SP_SPMM_MPI_JOB_RUN_H
#define SP_SPMM_MPI_JOB_RUN_H

#include "spmm_mpi/job.h"

/** What the runs have in common. */
typedef struct sp_session {
    const sp_job *job;
    spmm_transport transport; /* that of --transport; if that is auto, the choice of the first plan */
    int64_t touched;          /* number of nonempty columns of the block; set with copy_bandwidth */
    double copy_bandwidth;    /* from sp_copy_bandwidth(), bytes per second; 0: not measured */
    int64_t peak_bytes;       /* peak resident set before --probe and measure_dram_bound(), which resets it */
    sp_record record;         /* the last run's; before the first run what is known by then */
    sp_tuning tuning;
    char why[SP_MAX_COLUMNS]
            [SP_WHY_BYTES + 64]; /* of each run, if there is one for each K: its kernel, and why */
    int runs, failed;            /* runs: runs made; failed: runs whose verification failed */
    int noisy;                   /* runs whose times spread */
    int unusable[SP_MOST_ADDED]; /* of the kernels added to the registry, 1: its library is not here */
} sp_session;

/** Makes a run with K = k by the kernel, verifies and reports it, and adds it to *s. Collective over the
 *  job's grid.
 *  \param [in] kernel  NULL: the plan chooses
 *  \return the same status on every rank: SPMM_OK also where the verification failed, which s->failed
 *          counts */
spmm_status sp_job_run(sp_session *s, const sp_kernel *kernel, int64_t k);

/** Returns the width of the column of kernel names in the tables. Local. */
int sp_job_name_width(const sp_job *job);

#endif
