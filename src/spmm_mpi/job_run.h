/** One of the runs that job_multiply.c makes, and the data that all runs share. */
#ifndef SP_SPMM_MPI_JOB_RUN_H
#define SP_SPMM_MPI_JOB_RUN_H

#include "spmm_mpi/job.h"

/** Data that all runs share. */
typedef struct sp_session {
    const sp_job *job;
    /* the transport of --transport; if that is auto, the choice of the first plan */
    spmm_transport transport;
    int64_t touched;       /* number of nonempty columns of the block; set with copy_bandwidth */
    double copy_bandwidth; /* from sp_copy_bandwidth(), bytes per second; 0: not measured */
    int64_t peak_bytes;    /* peak resident set before --probe and measure_dram_bound(), which resets it */
    sp_record record;      /* record of the last run; before the first run, the data known so far */
    /* for each run, if there is one run per K: its kernel and the reason for the choice */
    char why[SP_MAX_COLUMNS][SP_DECISION_BYTES];
    int runs, failed;            /* runs: runs made; failed: runs whose verification failed */
    int noisy;                   /* number of runs with noisy times */
    int unusable[SP_MOST_ADDED]; /* for each kernel added to the registry, 1: its library is not available */
} sp_session;

/** Makes a run with K = k and the given kernel, verifies and reports it, and counts it in *s. Collective over
 *  the job's grid.
 *  \param [in] kernel  NULL: the plan chooses
 *  \return the same status on every rank: SPMM_OK, also if the verification failed, which is counted in
 *          s->failed */
spmm_status sp_job_run(sp_session *s, const sp_kernel *kernel, int64_t k);

/** Returns the width of the column of kernel names in the tables. Local. */
int sp_job_name_width(const sp_job *job);

#endif
