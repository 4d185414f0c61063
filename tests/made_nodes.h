/** Made-up nodes: this MPI_Comm_split_type(), which the linker uses for the whole program, splits the ranks
 *  of one machine into nodes of `node_size` ranks. */
#ifndef SP_MADE_NODES_H
#define SP_MADE_NODES_H

#include <mpi.h>

/** Ranks per made-up node; 0: the machine's nodes; -1: two nodes, of the even and the odd ranks. */
static int node_size;

/** Returns the node of a rank of a communicator. */
static int node_of(int rank) { return node_size > 0 ? rank / node_size : rank % 2; }

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *part)
{
    int rank;
    if (node_size == 0) return PMPI_Comm_split_type(comm, type, key, info, part);
    MPI_Comm_rank(comm, &rank);
    return MPI_Comm_split(comm, node_of(rank), key, part);
}

#endif
