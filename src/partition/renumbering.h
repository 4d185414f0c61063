/** Cuts the rows of a square matrix into parts, renumbered or not, and chooses a cut by what each moves. Pure
 *  functions. */
#ifndef SP_RENUMBERING_H
#define SP_RENUMBERING_H

#include "partition/partition.h"

/** Why a cut is by entries, if memory is short. */
#define SP_NO_MEMORY_TO_RENUMBER "auto: by entries, as there is no memory to renumber"

/** What a cut is for. */
typedef struct sp_cut_setting {
    int parts;       /**< number of parts, >= 1 */
    int per_part;    /**< number of consecutive parts that share X in memory, >= 1: rows cross between such
                          groups once */
    int together;    /**< >= 1: consecutive parts that a layout keeps together, e.g. of a node */
    int threads;     /**< OpenMP threads, >= 1 */
    double products; /**< expected number of products */
    double second;   /**< seconds in which a part receives a row of X */
} sp_cut_setting;

/** A cut and what it moves. */
typedef struct sp_renumbering {
    sp_partition by;
    int64_t *perm;     /**< [rows] new number of each row; NULL: the rows keep their numbers */
    int64_t *begin;    /**< [parts + 1] boundaries of the parts among the new rows */
    int64_t all, most; /**< rows of X received: by all groups together, by the one that receives most */
    double spent;      /**< seconds that it took to make */
} sp_renumbering;

/** Frees the arrays and zeroes *r; accepts zeroed objects. Local. */
void sp_renumbering_destroy(sp_renumbering *r);

/** Makes a cut and counts what it moves.
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

/** Chooses a cut: by entries unless a cut by a layout or by METIS moves clearly less, and what it saves in the
 *  expected products repays its making. What need not be tried is not made. Too little memory for other cuts
 *  is no error, nor is any failure of METIS.
 *
 *  Local.
 *  \param [in]  a         square
 *  \param [out] r         the caller destroys it, also after a failure
 *  \param [out] nnz_rows  rows of X that all groups receive by the cut by entries
 *  \param [out] why       [n] what each cut moves, and which is taken
 *  \return SPMM_OK, SPMM_ERR_LIMIT, _MEMORY, _INTERNAL */
spmm_status sp_renumbering_choose(const spmm_csr *a, const sp_cut_setting *s, sp_renumbering *r,
                                  int64_t *nnz_rows, char *why, size_t n);

#endif
