/** Messages from rank 0 to itself. A send delivers the message to a waiting receive, or else keeps a copy. */
#include <pthread.h>
#include <string.h>

#include "contrib/one_rank/one_rank.h"

/* protects all lists of messages and the states of all requests */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;

enum { TO_OTHERS = 0, FROM_OTHERS = 1 };

/** Checks the arguments of a message. If `receives` is 1, MPI_ANY_SOURCE and MPI_ANY_TAG are valid. */
static int check_message(MPI_Comm comm, int count, MPI_Datatype type, int rank, int tag, int receives,
                         const char *call)
{
    int error = sp_one_rank_check(comm, call);
    if (error) return error;
    error = sp_one_rank_buffer(count, type);
    if (!error && rank != 0 && rank != MPI_PROC_NULL && !(receives && rank == MPI_ANY_SOURCE))
        error = MPI_ERR_RANK;
    if (!error && tag < 0 && !(receives && tag == MPI_ANY_TAG)) error = MPI_ERR_TAG;
    return error ? sp_one_rank_fail(comm, error, call) : MPI_SUCCESS;
}

static int messages_fits(int wanted, int tag) { return wanted == MPI_ANY_TAG || wanted == tag; }

/** Copies a message into the buffer of a receive, which is then done. The caller holds the lock. */
static void deliver(MPI_Request receive, int tag, const void *data, int64_t bytes)
{
    const int64_t room = receive->bytes;
    receive->error = bytes > room ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
    receive->bytes = bytes > room ? room : bytes;
    if (receive->bytes > 0) memcpy(receive->data, data, (size_t)receive->bytes);
    receive->status = (MPI_Status){0, tag, receive->error, receive->bytes};
    receive->done = 1;
}

static void messages_append(sp_one_rank_message **list, sp_one_rank_message *message)
{
    while (*list) list = &(*list)->next;
    *list = message;
}

/** Creates a list element, with a copy of the data if data is not NULL. Returns NULL if memory is lacking. */
static sp_one_rank_message *make_message(int tag, const void *data, int64_t bytes, MPI_Request receive)
{
    sp_one_rank_message *const m = calloc(1, sizeof *m);
    void *const copy = data && bytes > 0 ? malloc((size_t)bytes) : NULL;
    if (!m || (data && bytes > 0 && !copy)) {
        free(m);
        free(copy);
        return NULL;
    }
    if (copy) memcpy(copy, data, (size_t)bytes);
    *m = (sp_one_rank_message){tag, bytes, copy, receive, NULL};
    return m;
}

/** Delivers a message to a waiting receive, or appends it to the list of sent messages. */
static int send(MPI_Comm comm, const void *data, int64_t bytes, int tag)
{
    int error = MPI_SUCCESS;
    pthread_mutex_lock(&lock);
    sp_one_rank_message **at = &comm->awaited;
    while (*at && !messages_fits((*at)->tag, tag)) at = &(*at)->next;
    if (*at) {
        sp_one_rank_message *const found = *at;
        *at = found->next;
        deliver(found->receive, tag, data, bytes);
        free(found);
    } else {
        sp_one_rank_message *const message = make_message(tag, data, bytes, NULL);
        if (message)
            messages_append(&comm->sent, message);
        else
            error = MPI_ERR_NO_MEM;
    }
    pthread_cond_broadcast(&arrived);
    pthread_mutex_unlock(&lock);
    return error;
}

/** Receives a sent message, or appends the receive to the list of waiting receives. */
static int receive(MPI_Request request, int tag)
{
    int error = MPI_SUCCESS;
    MPI_Comm comm = request->comm;
    pthread_mutex_lock(&lock);
    sp_one_rank_message **at = &comm->sent;
    while (*at && !messages_fits(tag, (*at)->tag)) at = &(*at)->next;
    if (*at) {
        sp_one_rank_message *const found = *at;
        *at = found->next;
        deliver(request, found->tag, found->data, found->bytes);
        free(found->data);
        free(found);
    } else {
        sp_one_rank_message *const waits = make_message(tag, NULL, 0, request);
        if (waits)
            messages_append(&comm->awaited, waits);
        else
            error = MPI_ERR_NO_MEM;
    }
    pthread_mutex_unlock(&lock);
    return error;
}

void sp_one_rank_drop_messages(MPI_Comm comm)
{
    pthread_mutex_lock(&lock);
    while (comm->sent) {
        sp_one_rank_message *const first = comm->sent;
        comm->sent = first->next;
        free(first->data);
        free(first);
    }
    while (comm->awaited) {
        sp_one_rank_message *const first = comm->awaited;
        comm->awaited = first->next;
        free(first);
    }
    pthread_mutex_unlock(&lock);
}

/** Creates a request; done: 1 for a send, and for a receive from MPI_PROC_NULL. Returns NULL if memory is
 *  lacking. */
static MPI_Request make_request(MPI_Comm comm, void *data, int64_t bytes, int done)
{
    MPI_Request request = calloc(1, sizeof *request);
    if (!request) return NULL;
    request->comm = comm;
    request->data = data;
    request->bytes = bytes;
    request->done = done;
    request->status = (MPI_Status){MPI_PROC_NULL, MPI_ANY_TAG, MPI_SUCCESS, 0};
    return request;
}

int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    int error = check_message(comm, count, type, to, tag, TO_OTHERS, "MPI_Isend");
    if (error) return error;
    *request = make_request(comm, NULL, 0, 1);
    if (!*request) return sp_one_rank_fail(comm, MPI_ERR_NO_MEM, "MPI_Isend");
    error = to == MPI_PROC_NULL ? MPI_SUCCESS : send(comm, data, sp_one_rank_bytes(count, type), tag);
    if (!error) return MPI_SUCCESS;
    free(*request);
    *request = MPI_REQUEST_NULL;
    return sp_one_rank_fail(comm, error, "MPI_Isend");
}

int MPI_Irecv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    int error = check_message(comm, count, type, from, tag, FROM_OTHERS, "MPI_Irecv");
    if (error) return error;
    *request = make_request(comm, data, sp_one_rank_bytes(count, type), from == MPI_PROC_NULL);
    if (!*request) return sp_one_rank_fail(comm, MPI_ERR_NO_MEM, "MPI_Irecv");
    error = from == MPI_PROC_NULL ? MPI_SUCCESS : receive(*request, tag);
    if (!error) return MPI_SUCCESS;
    free(*request);
    *request = MPI_REQUEST_NULL;
    return sp_one_rank_fail(comm, error, "MPI_Irecv");
}

/** Copies the status of a request that is done, and frees the request. Returns its error. */
static int complete(MPI_Request *request, MPI_Status *status)
{
    const int error = (*request)->error;
    if (status) *status = (*request)->status;
    free(*request);
    *request = MPI_REQUEST_NULL;
    return error;
}

/** Returns 1 if a request is done; if `waits`, waits until it is. */
static int is_done(MPI_Request request, int waits)
{
    pthread_mutex_lock(&lock);
    while (waits && !request->done) pthread_cond_wait(&arrived, &lock);
    const int done = request->done;
    pthread_mutex_unlock(&lock);
    return done;
}

static const MPI_Status empty_status = {MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_SUCCESS, 0};

/** Implements MPI_Wait() and MPI_Test(). */
static int wait_or_test(MPI_Request *request, int waits, int *flag, MPI_Status *status, const char *call)
{
    sp_one_rank_must_run(call);
    *flag = 1;
    if (*request == MPI_REQUEST_NULL) {
        if (status) *status = empty_status;
        return MPI_SUCCESS;
    }
    *flag = is_done(*request, waits);
    if (!*flag) return MPI_SUCCESS;
    MPI_Comm comm = (*request)->comm;
    const int error = complete(request, status);
    return error ? sp_one_rank_fail(comm, error, call) : MPI_SUCCESS;
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    int flag;
    return wait_or_test(request, 1, &flag, status, "MPI_Wait");
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    return wait_or_test(request, 0, flag, status, "MPI_Test");
}

int MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    int error = check_message(comm, count, type, to, tag, TO_OTHERS, "MPI_Send");
    if (error || to == MPI_PROC_NULL) return error;
    error = send(comm, data, sp_one_rank_bytes(count, type), tag);
    return error ? sp_one_rank_fail(comm, error, "MPI_Send") : MPI_SUCCESS;
}

int MPI_Recv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status)
{
    MPI_Request request;
    int flag;
    const int error = MPI_Irecv(data, count, type, from, tag, comm, &request);
    return error ? error : wait_or_test(&request, 1, &flag, status, "MPI_Recv");
}

int MPI_Sendrecv(const void *out, int out_count, MPI_Datatype out_type, int to, int out_tag, void *in,
                 int in_count, MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm, MPI_Status *status)
{
    const int error = MPI_Send(out, out_count, out_type, to, out_tag, comm);
    return error ? error : MPI_Recv(in, in_count, in_type, from, in_tag, comm, status);
}

int MPI_Iprobe(int from, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    const int error = check_message(comm, 0, MPI_BYTE, from, tag, FROM_OTHERS, "MPI_Iprobe");
    if (error) return error;
    MPI_Status found = {MPI_PROC_NULL, MPI_ANY_TAG, MPI_SUCCESS, 0};
    *flag = from == MPI_PROC_NULL;
    pthread_mutex_lock(&lock);
    for (const sp_one_rank_message *m = comm->sent; m && !*flag; m = m->next)
        if (messages_fits(tag, m->tag)) {
            found = (MPI_Status){0, m->tag, MPI_SUCCESS, m->bytes};
            *flag = 1;
        }
    pthread_mutex_unlock(&lock);
    if (*flag && status) *status = found;
    return MPI_SUCCESS;
}

int MPI_Waitall(int n, MPI_Request *request, MPI_Status *status)
{
    sp_one_rank_must_run("MPI_Waitall");
    MPI_Comm failed = MPI_COMM_NULL;
    for (int i = 0; i < n; i++) {
        MPI_Status *const own = status ? &status[i] : NULL;
        if (request[i] == MPI_REQUEST_NULL) {
            if (own) *own = empty_status;
            continue;
        }
        (void)is_done(request[i], 1);
        MPI_Comm comm = request[i]->comm;
        if (complete(&request[i], own) != MPI_SUCCESS) failed = comm;
    }
    return failed ? sp_one_rank_fail(failed, MPI_ERR_IN_STATUS, "MPI_Waitall") : MPI_SUCCESS;
}

/** Completes the requests that are done. Returns the number of requests that are not null. */
static int complete_some(int n, MPI_Request *request, int *count, int *which, MPI_Status *status,
                         MPI_Comm *failed)
{
    int active = 0;
    *count = 0;
    for (int i = 0; i < n; i++) {
        if (request[i] == MPI_REQUEST_NULL) continue;
        active++;
        if (!request[i]->done) continue;
        MPI_Comm comm = request[i]->comm;
        if (complete(&request[i], status ? &status[*count] : NULL) != MPI_SUCCESS) *failed = comm;
        which[(*count)++] = i;
    }
    return active;
}

/** Implements MPI_Waitsome() and MPI_Testsome(). */
static int wait_or_test_some(int n, MPI_Request *request, int waits, int *count, int *which,
                             MPI_Status *status, const char *call)
{
    sp_one_rank_must_run(call);
    MPI_Comm failed = MPI_COMM_NULL;
    pthread_mutex_lock(&lock);
    int active = complete_some(n, request, count, which, status, &failed);
    while (waits && active > 0 && *count == 0) {
        pthread_cond_wait(&arrived, &lock);
        active = complete_some(n, request, count, which, status, &failed);
    }
    pthread_mutex_unlock(&lock);
    if (active == 0) *count = MPI_UNDEFINED;
    return failed ? sp_one_rank_fail(failed, MPI_ERR_IN_STATUS, call) : MPI_SUCCESS;
}

int MPI_Waitsome(int n, MPI_Request *request, int *count, int *which, MPI_Status *status)
{
    return wait_or_test_some(n, request, 1, count, which, status, "MPI_Waitsome");
}

int MPI_Testsome(int n, MPI_Request *request, int *count, int *which, MPI_Status *status)
{
    return wait_or_test_some(n, request, 0, count, which, status, "MPI_Testsome");
}

int MPI_Get_count(const MPI_Status *status, MPI_Datatype type, int *count)
{
    sp_one_rank_must_run("MPI_Get_count");
    if (type == MPI_DATATYPE_NULL) return sp_one_rank_fail(NULL, MPI_ERR_TYPE, "MPI_Get_count");
    const int64_t size = sp_one_rank_bytes(1, type), n = status->spmm_bytes / size;
    *count = status->spmm_bytes % size || n > INT32_MAX ? MPI_UNDEFINED : (int)n;
    return MPI_SUCCESS;
}
