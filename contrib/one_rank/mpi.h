/** \file mpi.h
 *  MPI for a program of one process, where no MPI is installed (make MPI=0): the calls that this project
 *  makes, with the meaning that the MPI standard gives them on communicators of one rank.
 *
 *  - Every communicator has one rank, 0. Messages go from rank 0 to itself. A collective operation copies.
 *  - Any other rank is an error of class MPI_ERR_RANK, except MPI_PROC_NULL. Errors go to the error handler
 *    of the communicator: MPI_ERRORS_ARE_FATAL, the default, prints one line and ends the program.
 *  - A blocking receive without a message waits until another thread sends one.
 *  - All thread levels are provided, up to MPI_THREAD_MULTIPLE.
 *  - Before MPI_Init() and after MPI_Finalize() a call ends the program, except for MPI_Initialized(),
 *    MPI_Finalized(), MPI_Get_version(), MPI_Get_library_version(), MPI_Error_string() and MPI_Wtime().
 *
 *  The functions have their own symbols, spmm_one_rank_*, in libspmm. A program can therefore use them
 *  together with another library that is linked with a real MPI. */
#ifndef SPMM_ONE_RANK_MPI_H
#define SPMM_ONE_RANK_MPI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPI_VERSION 3
#define MPI_SUBVERSION 1

/** The symbol of libspmm that spmm.h makes a program refer to; for other mpi.h, spmm.h has a default. Only a
 *  libspmm of make MPI=0 defines this symbol, so a program that was compiled with this header cannot be
 *  linked with, or load, any other libspmm. The name serves as the linker's error message. */
#define SPMM_MPI_CHECK spmm_ERROR_program_compiled_without_MPI_but_libspmm_is_for_MPI__compile_it_with_mpicc

/** Sets the symbol of a function. */
#define SPMM_ONE_RANK(function) __asm__("spmm_one_rank_" #function)

/* --- handles --- */

typedef struct spmm_one_rank_comm *MPI_Comm;
typedef struct spmm_one_rank_group *MPI_Group;
typedef struct spmm_one_rank_request *MPI_Request;
typedef struct spmm_one_rank_win *MPI_Win;
typedef struct spmm_one_rank_file *MPI_File;
/** The value of a datatype is its size in bytes. */
typedef struct spmm_one_rank_datatype *MPI_Datatype;
typedef struct spmm_one_rank_op *MPI_Op;
typedef struct spmm_one_rank_info *MPI_Info;
typedef struct spmm_one_rank_errhandler *MPI_Errhandler;
typedef ptrdiff_t MPI_Aint;
typedef int64_t MPI_Offset;

/** The status of a received message. */
typedef struct MPI_Status {
    int MPI_SOURCE, MPI_TAG, MPI_ERROR;
    int64_t spmm_bytes;
} MPI_Status;

extern struct spmm_one_rank_comm spmm_one_rank_world, spmm_one_rank_self;
#define MPI_COMM_WORLD (&spmm_one_rank_world)
#define MPI_COMM_SELF (&spmm_one_rank_self)
#define MPI_COMM_NULL ((MPI_Comm)0)
#define MPI_GROUP_NULL ((MPI_Group)0)
#define MPI_REQUEST_NULL ((MPI_Request)0)
#define MPI_WIN_NULL ((MPI_Win)0)
#define MPI_FILE_NULL ((MPI_File)0)
#define MPI_INFO_NULL ((MPI_Info)0)

#define SPMM_ONE_RANK_TYPE(type) ((MPI_Datatype)sizeof(type))
#define MPI_DATATYPE_NULL ((MPI_Datatype)0)
#define MPI_BYTE SPMM_ONE_RANK_TYPE(char)
#define MPI_CHAR SPMM_ONE_RANK_TYPE(char)
#define MPI_SIGNED_CHAR SPMM_ONE_RANK_TYPE(char)
#define MPI_UNSIGNED_CHAR SPMM_ONE_RANK_TYPE(char)
#define MPI_SHORT SPMM_ONE_RANK_TYPE(short)
#define MPI_INT SPMM_ONE_RANK_TYPE(int)
#define MPI_UNSIGNED SPMM_ONE_RANK_TYPE(unsigned)
#define MPI_LONG SPMM_ONE_RANK_TYPE(long)
#define MPI_UNSIGNED_LONG SPMM_ONE_RANK_TYPE(unsigned long)
#define MPI_LONG_LONG SPMM_ONE_RANK_TYPE(long long)
#define MPI_LONG_LONG_INT MPI_LONG_LONG
#define MPI_UNSIGNED_LONG_LONG SPMM_ONE_RANK_TYPE(unsigned long long)
#define MPI_FLOAT SPMM_ONE_RANK_TYPE(float)
#define MPI_DOUBLE SPMM_ONE_RANK_TYPE(double)
#define MPI_INT8_T SPMM_ONE_RANK_TYPE(int8_t)
#define MPI_INT16_T SPMM_ONE_RANK_TYPE(int16_t)
#define MPI_INT32_T SPMM_ONE_RANK_TYPE(int32_t)
#define MPI_INT64_T SPMM_ONE_RANK_TYPE(int64_t)
#define MPI_UINT8_T SPMM_ONE_RANK_TYPE(uint8_t)
#define MPI_UINT16_T SPMM_ONE_RANK_TYPE(uint16_t)
#define MPI_UINT32_T SPMM_ONE_RANK_TYPE(uint32_t)
#define MPI_UINT64_T SPMM_ONE_RANK_TYPE(uint64_t)
#define MPI_2INT SPMM_ONE_RANK_TYPE(int[2])

/* names only: a reduction over one rank returns this rank's values */
#define MPI_OP_NULL ((MPI_Op)0)
#define MPI_MAX ((MPI_Op)1)
#define MPI_MIN ((MPI_Op)2)
#define MPI_SUM ((MPI_Op)3)
#define MPI_PROD ((MPI_Op)4)
#define MPI_LAND ((MPI_Op)5)
#define MPI_BAND ((MPI_Op)6)
#define MPI_LOR ((MPI_Op)7)
#define MPI_BOR ((MPI_Op)8)
#define MPI_LXOR ((MPI_Op)9)
#define MPI_BXOR ((MPI_Op)10)
#define MPI_MAXLOC ((MPI_Op)11)
#define MPI_MINLOC ((MPI_Op)12)

#define MPI_ERRHANDLER_NULL ((MPI_Errhandler)0)
#define MPI_ERRORS_ARE_FATAL ((MPI_Errhandler)1)
#define MPI_ERRORS_RETURN ((MPI_Errhandler)2)

#define MPI_IN_PLACE ((void *)-1)
#define MPI_STATUS_IGNORE ((MPI_Status *)0)
#define MPI_STATUSES_IGNORE ((MPI_Status *)0)

/* Macros instead of enumerators, because programs also compare them in #if. */
#define MPI_PROC_NULL (-2)
#define MPI_ANY_SOURCE (-1)
#define MPI_ANY_TAG (-1)
#define MPI_UNDEFINED (-32766)
#define MPI_KEYVAL_INVALID (-1)
#define MPI_MAX_ERROR_STRING 256
#define MPI_MAX_PROCESSOR_NAME 256
#define MPI_MAX_LIBRARY_VERSION_STRING 256

#define MPI_THREAD_SINGLE 0
#define MPI_THREAD_FUNNELED 1
#define MPI_THREAD_SERIALIZED 2
#define MPI_THREAD_MULTIPLE 3

#define MPI_IDENT 0
#define MPI_CONGRUENT 1
#define MPI_SIMILAR 2
#define MPI_UNEQUAL 3

#define MPI_COMM_TYPE_SHARED 1

#define MPI_MODE_CREATE 1
#define MPI_MODE_RDONLY 2
#define MPI_MODE_WRONLY 4
#define MPI_MODE_RDWR 8

#define MPI_SUCCESS 0
#define MPI_ERR_BUFFER 1
#define MPI_ERR_COUNT 2
#define MPI_ERR_TYPE 3
#define MPI_ERR_TAG 4
#define MPI_ERR_COMM 5
#define MPI_ERR_RANK 6
#define MPI_ERR_ROOT 7
#define MPI_ERR_GROUP 8
#define MPI_ERR_OP 9
#define MPI_ERR_TOPOLOGY 10
#define MPI_ERR_DIMS 11
#define MPI_ERR_ARG 12
#define MPI_ERR_TRUNCATE 13
#define MPI_ERR_REQUEST 14
#define MPI_ERR_KEYVAL 15
#define MPI_ERR_NO_MEM 16
#define MPI_ERR_WIN 17
#define MPI_ERR_FILE 18
#define MPI_ERR_IO 19
#define MPI_ERR_NO_SUCH_FILE 20
#define MPI_ERR_IN_STATUS 21
#define MPI_ERR_LASTCODE 21

typedef int MPI_Comm_copy_attr_function(MPI_Comm, int, void *, void *, void *, int *);
typedef int MPI_Comm_delete_attr_function(MPI_Comm, int, void *, void *);
#define MPI_COMM_NULL_COPY_FN ((MPI_Comm_copy_attr_function *)0)
#define MPI_COMM_NULL_DELETE_FN ((MPI_Comm_delete_attr_function *)0)

/* --- the process --- */

int MPI_Init(int *argc, char ***argv) SPMM_ONE_RANK(Init);
int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) SPMM_ONE_RANK(Init_thread);
int MPI_Initialized(int *flag) SPMM_ONE_RANK(Initialized);
int MPI_Finalize(void) SPMM_ONE_RANK(Finalize);
int MPI_Finalized(int *flag) SPMM_ONE_RANK(Finalized);
int MPI_Query_thread(int *provided) SPMM_ONE_RANK(Query_thread);
/** Ends the process, with that exit code. */
int MPI_Abort(MPI_Comm comm, int code) SPMM_ONE_RANK(Abort);
double MPI_Wtime(void) SPMM_ONE_RANK(Wtime);
int MPI_Get_version(int *version, int *subversion) SPMM_ONE_RANK(Get_version);
int MPI_Get_library_version(char *text, int *length) SPMM_ONE_RANK(Get_library_version);
int MPI_Get_processor_name(char *name, int *length) SPMM_ONE_RANK(Get_processor_name);
int MPI_Error_string(int code, char *text, int *length) SPMM_ONE_RANK(Error_string);

/* --- communicators --- */

int MPI_Comm_rank(MPI_Comm comm, int *rank) SPMM_ONE_RANK(Comm_rank);
int MPI_Comm_size(MPI_Comm comm, int *size) SPMM_ONE_RANK(Comm_size);
int MPI_Comm_test_inter(MPI_Comm comm, int *flag) SPMM_ONE_RANK(Comm_test_inter);
int MPI_Comm_compare(MPI_Comm a, MPI_Comm b, int *result) SPMM_ONE_RANK(Comm_compare);
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *copy) SPMM_ONE_RANK(Comm_dup);
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *part) SPMM_ONE_RANK(Comm_split);
int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *part)
    SPMM_ONE_RANK(Comm_split_type);
/** MPI_Comm_split_type() under another name, for programs that define MPI_Comm_split_type() themselves. */
int PMPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *part)
    SPMM_ONE_RANK(P_Comm_split_type);
int MPI_Comm_free(MPI_Comm *comm) SPMM_ONE_RANK(Comm_free);
/** Always fails: an inter-communicator needs two groups, and there is only one rank. */
int MPI_Intercomm_create(MPI_Comm local, int leader, MPI_Comm peer, int remote, int tag, MPI_Comm *inter)
    SPMM_ONE_RANK(Intercomm_create);
int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler) SPMM_ONE_RANK(Comm_set_errhandler);
int MPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler *handler) SPMM_ONE_RANK(Comm_get_errhandler);
int MPI_Errhandler_free(MPI_Errhandler *handler) SPMM_ONE_RANK(Errhandler_free);

int MPI_Comm_create_keyval(MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *destroy,
                           int *keyval, void *extra) SPMM_ONE_RANK(Comm_create_keyval);
int MPI_Comm_set_attr(MPI_Comm comm, int keyval, void *value) SPMM_ONE_RANK(Comm_set_attr);
int MPI_Comm_get_attr(MPI_Comm comm, int keyval, void *value, int *flag) SPMM_ONE_RANK(Comm_get_attr);
int MPI_Comm_delete_attr(MPI_Comm comm, int keyval) SPMM_ONE_RANK(Comm_delete_attr);

int MPI_Comm_group(MPI_Comm comm, MPI_Group *group) SPMM_ONE_RANK(Comm_group);
int MPI_Group_translate_ranks(MPI_Group from, int n, const int *ranks, MPI_Group to, int *result)
    SPMM_ONE_RANK(Group_translate_ranks);
int MPI_Group_free(MPI_Group *group) SPMM_ONE_RANK(Group_free);

int MPI_Cart_create(MPI_Comm comm, int n, const int *dims, const int *periods, int reorder, MPI_Comm *cart)
    SPMM_ONE_RANK(Cart_create);
int MPI_Cart_sub(MPI_Comm cart, const int *remain, MPI_Comm *part) SPMM_ONE_RANK(Cart_sub);
int MPI_Cart_coords(MPI_Comm cart, int rank, int n, int *coords) SPMM_ONE_RANK(Cart_coords);
int MPI_Cart_get(MPI_Comm cart, int n, int *dims, int *periods, int *coords) SPMM_ONE_RANK(Cart_get);
int MPI_Cart_shift(MPI_Comm cart, int direction, int steps, int *from, int *to) SPMM_ONE_RANK(Cart_shift);

/* --- datatypes --- */

int MPI_Type_contiguous(int count, MPI_Datatype of, MPI_Datatype *type) SPMM_ONE_RANK(Type_contiguous);
int MPI_Type_commit(MPI_Datatype *type) SPMM_ONE_RANK(Type_commit);
int MPI_Type_free(MPI_Datatype *type) SPMM_ONE_RANK(Type_free);

/* --- messages --- */

/** Returns without waiting for a receive, because the message is copied. */
int MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
    SPMM_ONE_RANK(Send);
int MPI_Recv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status)
    SPMM_ONE_RANK(Recv);
int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request) SPMM_ONE_RANK(Isend);
int MPI_Irecv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request *request) SPMM_ONE_RANK(Irecv);
int MPI_Sendrecv(const void *out, int out_count, MPI_Datatype out_type, int to, int out_tag, void *in,
                 int in_count, MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm, MPI_Status *status)
    SPMM_ONE_RANK(Sendrecv);
int MPI_Iprobe(int from, int tag, MPI_Comm comm, int *flag, MPI_Status *status) SPMM_ONE_RANK(Iprobe);
int MPI_Wait(MPI_Request *request, MPI_Status *status) SPMM_ONE_RANK(Wait);
int MPI_Waitall(int n, MPI_Request *request, MPI_Status *status) SPMM_ONE_RANK(Waitall);
int MPI_Waitsome(int n, MPI_Request *request, int *count, int *which, MPI_Status *status)
    SPMM_ONE_RANK(Waitsome);
int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) SPMM_ONE_RANK(Test);
int MPI_Testsome(int n, MPI_Request *request, int *count, int *which, MPI_Status *status)
    SPMM_ONE_RANK(Testsome);
int MPI_Get_count(const MPI_Status *status, MPI_Datatype type, int *count) SPMM_ONE_RANK(Get_count);

/* --- collective operations --- */

int MPI_Barrier(MPI_Comm comm) SPMM_ONE_RANK(Barrier);
int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm) SPMM_ONE_RANK(Bcast);
int MPI_Reduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm)
    SPMM_ONE_RANK(Reduce);
int MPI_Allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
    SPMM_ONE_RANK(Allreduce);
int MPI_Exscan(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
    SPMM_ONE_RANK(Exscan);
int MPI_Gather(const void *in, int in_count, MPI_Datatype in_type, void *out, int out_count,
               MPI_Datatype out_type, int root, MPI_Comm comm) SPMM_ONE_RANK(Gather);
int MPI_Scatter(const void *in, int in_count, MPI_Datatype in_type, void *out, int out_count,
                MPI_Datatype out_type, int root, MPI_Comm comm) SPMM_ONE_RANK(Scatter);
int MPI_Allgather(const void *in, int in_count, MPI_Datatype in_type, void *out, int out_count,
                  MPI_Datatype out_type, MPI_Comm comm) SPMM_ONE_RANK(Allgather);
int MPI_Allgatherv(const void *in, int in_count, MPI_Datatype in_type, void *out, const int *out_counts,
                   const int *at, MPI_Datatype out_type, MPI_Comm comm) SPMM_ONE_RANK(Allgatherv);
int MPI_Alltoall(const void *in, int in_count, MPI_Datatype in_type, void *out, int out_count,
                 MPI_Datatype out_type, MPI_Comm comm) SPMM_ONE_RANK(Alltoall);
int MPI_Alltoallv(const void *in, const int *in_counts, const int *in_at, MPI_Datatype in_type, void *out,
                  const int *out_counts, const int *out_at, MPI_Datatype out_type, MPI_Comm comm)
    SPMM_ONE_RANK(Alltoallv);

/* --- memory of a node's ranks, and files --- */

int MPI_Win_allocate_shared(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win)
    SPMM_ONE_RANK(Win_allocate_shared);
int MPI_Win_shared_query(MPI_Win win, int rank, MPI_Aint *bytes, int *unit, void *base)
    SPMM_ONE_RANK(Win_shared_query);
int MPI_Win_free(MPI_Win *win) SPMM_ONE_RANK(Win_free);

/** Errors of files are returned; they do not end the program. */
int MPI_File_open(MPI_Comm comm, const char *path, int mode, MPI_Info info, MPI_File *file)
    SPMM_ONE_RANK(File_open);
int MPI_File_set_size(MPI_File file, MPI_Offset bytes) SPMM_ONE_RANK(File_set_size);
int MPI_File_write_at(MPI_File file, MPI_Offset at, const void *data, int count, MPI_Datatype type,
                      MPI_Status *status) SPMM_ONE_RANK(File_write_at);
int MPI_File_close(MPI_File *file) SPMM_ONE_RANK(File_close);

#ifdef __cplusplus
}
#endif

#endif
