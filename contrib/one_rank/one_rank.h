/** Internal types and functions of this MPI for one process. */
#ifndef SP_ONE_RANK_H
#define SP_ONE_RANK_H

#include <mpi.h>
#include <stdlib.h>

enum { SP_ONE_RANK_DIMS = 8 }; /**< maximum number of dimensions of a Cartesian communicator */

/** An attribute of a communicator, in a list. */
typedef struct sp_one_rank_attribute {
    int keyval;
    void *value;
    struct sp_one_rank_attribute *next;
} sp_one_rank_attribute;

/** An element of one of two lists of a communicator: messages that were sent but not received yet, or
 *  receives that wait for a message. Both lists are ordered, oldest first. */
typedef struct sp_one_rank_message {
    int tag;
    int64_t bytes;
    void *data;          /**< of a sent message: a copy of the data, owned */
    MPI_Request receive; /**< of a receive: its request, not owned */
    struct sp_one_rank_message *next;
} sp_one_rank_message;

struct spmm_one_rank_comm {
    MPI_Errhandler handler;
    int cart_dims; /**< -1: it is not Cartesian */
    int period[SP_ONE_RANK_DIMS];
    sp_one_rank_attribute *attributes;
    sp_one_rank_message *sent, *awaited; /**< protected by the lock of messages.c */
};

struct spmm_one_rank_request {
    MPI_Comm comm;
    int done, error; /**< protected by the lock of messages.c */
    int64_t bytes;   /**< of a receive: size of the buffer, then of the received message */
    void *data;
    MPI_Status status;
};

/** Ends the program with an error message, unless MPI_Init() has been called and MPI_Finalize() has not.
 *  Local. */
void sp_one_rank_must_run(const char *call);

/** Records that MPI_Finalize() has been called. Local. */
void sp_one_rank_end(void);

/** Passes an error of a call to the error handler of comm, or of MPI_COMM_WORLD if comm is NULL. Returns the
 *  code or ends the program, as the handler requires. Local. */
int sp_one_rank_fail(MPI_Comm comm, int code, const char *call);

/** Calls sp_one_rank_must_run(), and checks that comm is not MPI_COMM_NULL. Returns MPI_SUCCESS or the result
 *  of sp_one_rank_fail(). Local. */
int sp_one_rank_check(MPI_Comm comm, const char *call);

/** Returns the size of `count` elements in bytes. Local. */
static inline int64_t sp_one_rank_bytes(int64_t count, MPI_Datatype type)
{
    return count * (int64_t)(intptr_t)type;
}

/** Checks the count and the datatype of a buffer. Returns MPI_SUCCESS or an error code. Local. */
static inline int sp_one_rank_buffer(int count, MPI_Datatype type)
{
    if (count < 0) return MPI_ERR_COUNT;
    return type == MPI_DATATYPE_NULL ? MPI_ERR_TYPE : MPI_SUCCESS;
}

/** Calls the delete functions of a communicator's attributes, and frees them. Local. */
void sp_one_rank_delete_attributes(MPI_Comm comm);

/** Empties both lists of a communicator: frees the messages that were not received, and the list elements of
 *  receives that wait for a message. Local. */
void sp_one_rank_drop_messages(MPI_Comm comm);

#endif
