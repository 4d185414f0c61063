/** Cuts the rows of a square matrix into parts, with or without renumbering, and chooses a cut by the number
 *  of rows of X that each candidate moves. Uses no MPI. */
#ifndef SP_RENUMBERING_H
#define SP_RENUMBERING_H

#include "order/partition.h"

/** The reason that is given for a cut by entries if memory is short. */
#define SP_NO_MEMORY_TO_RENUMBER "auto: by entries, as there is no memory to renumber"

/** The setting for which a cut is made. */
typedef struct sp_cut_setting {
    int parts;       /**< number of parts, >= 1 */
    int per_part;    /**< number of consecutive parts that share X in memory, >= 1: a row is moved once to
                          each such group */
    int together;    /**< >= 1: consecutive parts that a layout keeps together, e.g. of a node */
    int threads;     /**< OpenMP threads, >= 1 */
    double products; /**< expected number of products */
    double second;   /**< seconds that a part needs to receive a row of X */
} sp_cut_setting;

/** A cut, and the rows of X that it moves. */
typedef struct sp_renumbering {
    sp_partition by;
    int64_t *perm;     /**< [rows] new number of each row; NULL: the rows keep their numbers */
    int64_t *begin;    /**< [parts + 1] boundaries of the parts among the new rows */
    int64_t all, most; /**< rows of X received: by all groups; by the group that receives the most */
    double spent;      /**< seconds that it took to make the cut */
} sp_renumbering;

/** Frees the arrays and zeroes *r; accepts zeroed objects. Local. */
void sp_renumbering_destroy(sp_renumbering *r);

/** Makes a cut, and counts the rows of X that it moves.
 *
 *  Local.
 *  \param [in]  a      square
 *  \param [in]  by     not SP_PARTITION_AUTO
 *  \param [out] r      the caller destroys it, also after a failure
 *  \param [out] edges  SP_PARTITION_GRAPH: number of edges of the graph between parts; else not set; may be
 *                      NULL
 *  \return SPMM_OK, SPMM_ERR_USAGE (not square; SP_PARTITION_GRAPH in a build without METIS), _LIMIT,
 *          _MEMORY, _INTERNAL */
spmm_status sp_renumbering_make(const spmm_csr *a, const sp_cut_setting *s, sp_partition by,
                                sp_renumbering *r, int64_t *edges);

/** Chooses a cut: the cut by entries, unless a cut by a layout or by METIS moves clearly fewer rows. Such a
 *  candidate is made only if the time that it may save in the expected products exceeds the estimate of the
 *  time that it takes. Too little memory for other cuts is not an error; neither is a failure of METIS.
 *
 *  Local.
 *  \param [in]  a         square
 *  \param [out] r         the caller destroys it, also after a failure
 *  \param [out] nnz_rows  number of rows of X that all groups receive with the cut by entries
 *  \param [out] why       [n] a text: the number of rows that each cut moves, and which cut is chosen
 *  \return SPMM_OK, SPMM_ERR_LIMIT, _MEMORY, _INTERNAL */
spmm_status sp_renumbering_choose(const spmm_csr *a, const sp_cut_setting *s, sp_renumbering *r,
                                  int64_t *nnz_rows, char *why, size_t n);

#endif
