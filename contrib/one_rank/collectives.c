/** Collective operations of one rank: what it sends is what it receives. */
#include <string.h>

#include "contrib/one_rank/one_rank.h"

/** A buffer of a collective operation; the elements to send or receive begin at element `at`. */
typedef struct {
    const void *data;
    int count;
    MPI_Datatype type;
    int at;
} elements;

/** Checks communicator and root. */
static int check_root(MPI_Comm comm, int root, const char *call)
{
    const int error = sp_one_rank_check(comm, call);
    if (error) return error;
    return root == 0 ? MPI_SUCCESS : sp_one_rank_fail(comm, MPI_ERR_ROOT, call);
}

/** Copies the sent elements to the receive buffer; does nothing if either buffer is MPI_IN_PLACE. */
static int copy(MPI_Comm comm, elements in, void *out, elements room, const char *call)
{
    if (in.data == MPI_IN_PLACE || out == MPI_IN_PLACE) return MPI_SUCCESS;
    int error = sp_one_rank_buffer(in.count, in.type);
    if (!error) error = sp_one_rank_buffer(room.count, room.type);
    if (error) return sp_one_rank_fail(comm, error, call);
    const int64_t bytes = sp_one_rank_bytes(in.count, in.type);
    if (bytes > sp_one_rank_bytes(room.count, room.type))
        return sp_one_rank_fail(comm, MPI_ERR_TRUNCATE, call);
    if (bytes > 0)
        memmove((char *)out + sp_one_rank_bytes(room.at, room.type),
                (const char *)in.data + sp_one_rank_bytes(in.at, in.type), (size_t)bytes);
    return MPI_SUCCESS;
}

/** Implements reductions: the values of the only rank are the result. */
static int reduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,
                  const char *call)
{
    const int error = check_root(comm, root, call);
    if (error) return error;
    if (op == MPI_OP_NULL) return sp_one_rank_fail(comm, MPI_ERR_OP, call);
    return copy(comm, (elements){in, count, type, 0}, out, (elements){out, count, type, 0}, call);
}

int MPI_Barrier(MPI_Comm comm) { return sp_one_rank_check(comm, "MPI_Barrier"); }

int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    (void)data;
    int error = check_root(comm, root, "MPI_Bcast");
    if (error) return error;
    error = sp_one_rank_buffer(count, type);
    return error ? sp_one_rank_fail(comm, error, "MPI_Bcast") : MPI_SUCCESS;
}

int MPI_Reduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm)
{
    return reduce(in, out, count, type, op, root, comm, "MPI_Reduce");
}

int MPI_Allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    return reduce(in, out, count, type, op, 0, comm, "MPI_Allreduce");
}

int MPI_Exscan(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    (void)in; /* on rank 0 the standard leaves the result undefined: it stays as it was */
    return reduce(MPI_IN_PLACE, out, count, type, op, 0, comm, "MPI_Exscan");
}

int MPI_Gather(const void *in, int in_count, MPI_Datatype in_type, void *out, int out_count,
               MPI_Datatype out_type, int root, MPI_Comm comm)
{
    const int error = check_root(comm, root, "MPI_Gather");
    return error ? error
                 : copy(comm, (elements){in, in_count, in_type, 0}, out,
                        (elements){out, out_count, out_type, 0}, "MPI_Gather");
}

int MPI_Scatter(const void *in, int in_count, MPI_Datatype in_type, void *out, int out_count,
                MPI_Datatype out_type, int root, MPI_Comm comm)
{
    const int error = check_root(comm, root, "MPI_Scatter");
    return error ? error
                 : copy(comm, (elements){in, in_count, in_type, 0}, out,
                        (elements){out, out_count, out_type, 0}, "MPI_Scatter");
}

int MPI_Allgather(const void *in, int in_count, MPI_Datatype in_type, void *out, int out_count,
                  MPI_Datatype out_type, MPI_Comm comm)
{
    return MPI_Gather(in, in_count, in_type, out, out_count, out_type, 0, comm);
}

int MPI_Allgatherv(const void *in, int in_count, MPI_Datatype in_type, void *out, const int *out_counts,
                   const int *at, MPI_Datatype out_type, MPI_Comm comm)
{
    const int error = sp_one_rank_check(comm, "MPI_Allgatherv");
    return error ? error
                 : copy(comm, (elements){in, in_count, in_type, 0}, out,
                        (elements){out, out_counts[0], out_type, at[0]}, "MPI_Allgatherv");
}

int MPI_Alltoall(const void *in, int in_count, MPI_Datatype in_type, void *out, int out_count,
                 MPI_Datatype out_type, MPI_Comm comm)
{
    const int error = sp_one_rank_check(comm, "MPI_Alltoall");
    return error ? error
                 : copy(comm, (elements){in, in_count, in_type, 0}, out,
                        (elements){out, out_count, out_type, 0}, "MPI_Alltoall");
}

int MPI_Alltoallv(const void *in, const int *in_counts, const int *in_at, MPI_Datatype in_type, void *out,
                  const int *out_counts, const int *out_at, MPI_Datatype out_type, MPI_Comm comm)
{
    const int error = sp_one_rank_check(comm, "MPI_Alltoallv");
    if (error || in == MPI_IN_PLACE) return error;
    return copy(comm, (elements){in, in_counts[0], in_type, in_at[0]}, out,
                (elements){out, out_counts[0], out_type, out_at[0]}, "MPI_Alltoallv");
}
