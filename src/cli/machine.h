/** Machine files: small texts that say how fast a machine computes and communicates, to predict the time of a
 *  product there. No MPI.
 *
 *  A line is `key = value`; # begins a comment. docs/OUTPUT.md has the table of keys, of which machine.c's is
 *  the origin. Rates are in bytes per second, times in seconds. */
#ifndef SP_MACHINE_H
#define SP_MACHINE_H

#include <stdio.h>

#include "base/status.h"

/** What a machine file says. A text is "", and a number 0, where the file does not say it. */
typedef struct sp_machine {
    char name[128];      /**< what reports call the machine */
    char processor[128]; /**< sp_cpu_name() of the node, or the name of its GPUs */
    int device;          /**< spmm_device on which the ranks multiply */
    int nodes;
    int ranks_per_node; /**< GPUs of a node, or the ranks that share the cores of a node */
    int threads;        /**< OpenMP threads of a rank */
    double copy_rate;   /**< bytes read plus bytes written per second by a copy that one rank makes alone */
    double node_copy_rate; /**< the same of all ranks of a node together, while all of them copy */
    double inside_rate;    /**< bytes per second that a rank receives from its node, while all ranks of the
                                 node receive and send */
    double inside_latency; /**< time of a message of no length between two ranks of a node */
    double between_rate;   /**< bytes per second that all ranks of a node together receive from other nodes */
    double between_latency; /**< time of a message of no length between two nodes */
    double
        efficiency; /**< DRAM bound of a kernel over its time while all ranks of the node multiply: 1 for one
                            that is as fast as a copy. 0: to be measured */
    double
        overlap; /**< share of an exchange, less its latencies, that goes on while the rank computes: 0 to 1 */
} sp_machine;

/** Reads a machine file.
 *
 *  Local.
 *  \param [out] machine  complete and within the limits of the table of keys; undefined on failure
 *  \return SPMM_OK; SPMM_ERR_OPEN; SPMM_ERR_SYNTAX with file and line: an unknown key, one that comes twice, a
 *          value that is missing, not a number or beyond its limits; a key that is missing; a file that is too
 *          large or has bytes that are no text */
spmm_status sp_machine_read(const char *path, sp_machine *machine);

/** Writes a machine to a file that sp_machine_read() accepts; keys whose value is 0 or "" are left out.
 *
 *  Local.
 *  \param [in] comment  lines that begin with #, newline included, which come first; may be ""
 *  \return SPMM_OK, SPMM_ERR_OUTPUT */
spmm_status sp_machine_write(const char *path, const sp_machine *machine, const char *comment);

/** Returns the number of ranks that the machine has. Local. */
static inline int64_t sp_machine_ranks(const sp_machine *m) { return (int64_t)m->nodes * m->ranks_per_node; }

/** Returns bytes read plus written per second by a copy of one rank, while `active` ranks of its node copy: what it
 *  has alone, or its share of what the node has. Local. */
static inline double sp_machine_copy_rate(const sp_machine *m, int64_t active)
{
    const double share = m->node_copy_rate / (double)active;
    return share < m->copy_rate ? share : m->copy_rate;
}

#endif
