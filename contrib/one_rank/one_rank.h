/** What the files of this MPI for one process share. */
#ifndef SP_ONE_RANK_H
#define SP_ONE_RANK_H

#include <mpi.h>
#include <stdlib.h>

enum { SP_ONE_RANK_DIMS = 8 }; /**< most dimensions of a Cartesian communicator */

/** An attribute of a communicator, in a list. */
typedef struct sp_one_rank_attribute {
    int keyval;
    void *value;
    struct sp_one_rank_attribute *next;
} sp_one_rank_attribute;

/** A message that was sent and not yet received, or a receive that waits for one: in lists, in order. */
typedef struct sp_one_rank_message {
    int tag;
    int64_t bytes;
    void *data;          /**< of a sent one: a copy, freed with it */
    MPI_Request receive; /**< of a receive: where it is told that the message came */
    struct sp_one_rank_message *next;
} sp_one_rank_message;

struct spmm_one_rank_comm {
    MPI_Errhandler handler;
    int cart_dims; /**< -1: it is not Cartesian */
    int period[SP_ONE_RANK_DIMS];
    sp_one_rank_attribute *attributes;
    sp_one_rank_message *sent, *awaited; /**< under the lock of messages.c */
};

struct spmm_one_rank_request {
    MPI_Comm comm;
    int done, error; /**< under the lock of messages.c */
    int64_t bytes;   /**< of a receive: what there is room for, then what came */
    void *data;
    MPI_Status status;
};

/** Ends the program unless it is between MPI_Init() and MPI_Finalize(), as an MPI does. Local. */
void sp_one_rank_must_run(const char *call);

/** Hands an error of a call to the communicator's handler: returns the code, or ends the program. comm: NULL
 *  for an error without a communicator, which is that of the world. Local. */
int sp_one_rank_fail(MPI_Comm comm, int code, const char *call);

/** Returns MPI_SUCCESS, or the result of sp_one_rank_fail(), for a call with a communicator. Local. */
int sp_one_rank_check(MPI_Comm comm, const char *call);

/** Returns the bytes of count elements. Local. */
static inline int64_t sp_one_rank_bytes(int64_t count, MPI_Datatype type)
{
    return count * (int64_t)(intptr_t)type;
}

/** Returns the error in a count and a datatype of a buffer, or MPI_SUCCESS. Local. */
static inline int sp_one_rank_buffer(int count, MPI_Datatype type)
{
    if (count < 0) return MPI_ERR_COUNT;
    return type == MPI_DATATYPE_NULL ? MPI_ERR_TYPE : MPI_SUCCESS;
}

/** Calls the delete functions of a communicator's attributes, and frees them. Local. */
void sp_one_rank_delete_attributes(MPI_Comm comm);

/** Frees messages of a communicator that nobody received. Local. */
void sp_one_rank_drop_messages(MPI_Comm comm);

#endif
