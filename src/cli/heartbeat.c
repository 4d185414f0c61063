/** Exchanges heartbeats between rank 0 and the other ranks, in a thread of each rank: see heartbeat.h. */
#include "cli/heartbeat.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"

enum {
    TAG_BEAT = 1, /* tag of all messages; the watch has its own communicator */
    ALIVE = 1,
    LEAVING = 2, /* content of the last message that a rank sends */
    HOST_BYTES = 64,
    BEATS = 8 /* heartbeats per timeout */
};

/** A peer: a rank that exchanges heartbeats with this rank. */
typedef struct watched {
    MPI_Request in, out;
    char heard, told;
    int has_left;      /* 1: the peer has sent LEAVING */
    double last_heard; /* MPI_Wtime() when the peer's last message arrived */
    double last_told;
} watched;

struct sp_watch {
    MPI_Comm comm;
    int rank, size;
    double seconds;
    double patience;  /* seconds of silence after which a peer is overdue */
    int peers;        /* number of peers: on rank 0 all other ranks, elsewhere 1 (rank 0) */
    watched *peer;    /* [peers] state of each peer */
    char *host;       /* [size * HOST_BYTES] host name of each rank */
    double last_look; /* MPI_Wtime() when this rank last checked its peers */
    atomic_int stopping;
    pthread_t thread;
};

static int rank_of(const sp_watch *w, int i) { return w->rank == 0 ? i + 1 : 0; }

static void listen(sp_watch *w, int i)
{
    watched *const p = &w->peer[i];
    (void)MPI_Irecv(&p->heard, 1, MPI_CHAR, rank_of(w, i), TAG_BEAT, w->comm, &p->in);
}

static void tell(sp_watch *w, int i, char word, double now)
{
    watched *const p = &w->peer[i];
    p->told = word;
    p->last_told = now;
    (void)MPI_Isend(&p->told, 1, MPI_CHAR, rank_of(w, i), TAG_BEAT, w->comm, &p->out);
}

/** Receives the messages of peer i, and sends the peer a heartbeat or LEAVING if one is due. Returns 1 when
 *  LEAVING has been both sent and received. */
static int converse(sp_watch *w, int i, double now)
{
    watched *const p = &w->peer[i];
    int came = 0, gone = 0;
    while (!p->has_left && MPI_Test(&p->in, &came, MPI_STATUS_IGNORE) == MPI_SUCCESS && came) {
        p->last_heard = now;
        p->has_left = p->heard == LEAVING;
        if (!p->has_left) listen(w, i);
    }
    (void)MPI_Test(&p->out, &gone, MPI_STATUS_IGNORE);
    if (!gone) return 0;
    if (p->told == LEAVING) return p->has_left;
    if (w->stopping)
        tell(w, i, LEAVING, now);
    else if (now - p->last_told >= w->seconds / BEATS)
        tell(w, i, ALIVE, now);
    return 0;
}

/** Ends the job if a peer is overdue. The message names all peers that have been silent for at least half the
 *  timeout, since the ranks of a lost node fall silent one after another. */
static void look_for_silence(sp_watch *w, double now)
{
    char list[384] = "";
    int overdue = 0, silent = 0;
    for (int i = 0; i < w->peers; i++)
        overdue += !w->peer[i].has_left && now - w->peer[i].last_heard > w->patience;
    if (!overdue) return;
    for (int i = 0; i < w->peers; i++) {
        const size_t n = strlen(list);
        if (w->peer[i].has_left || now - w->peer[i].last_heard <= w->seconds / 2) continue;
        if (n < sizeof list - HOST_BYTES - 32)
            snprintf(list + n, sizeof list - n, "%s%d (on %s)", silent ? ", " : "", rank_of(w, i),
                     w->host + (size_t)rank_of(w, i) * HOST_BYTES);
        else if (strcmp(list + n - 3, "...") != 0)
            snprintf(list + n, sizeof list - n, ", ...");
        silent++;
    }
    sp_abandon(w->comm, sp_fail(SPMM_ERR_MPI,
                                "%s %s did not answer for %g s (--timeout): stopped, or lost with %s node%s",
                                silent == 1 ? "rank" : "ranks", list, w->seconds,
                                silent == 1 ? "its" : "their", silent == 1 ? "" : "s"));
}

static void *watch(void *argument)
{
    sp_watch *const w = argument;
    const double pause = w->seconds / BEATS < 0.1 ? w->seconds / BEATS : 0.1;
    const struct timespec nap = {0, (long)(1e9 * pause)};
    for (int over = 0; over < w->peers;) {
        const double now = MPI_Wtime();
        over = 0;
        /* if this process itself was stopped, it missed heartbeats: restart the timeout of all peers */
        if (now - w->last_look > w->seconds / 2)
            for (int i = 0; i < w->peers; i++) w->peer[i].last_heard = now;
        w->last_look = now;
        for (int i = 0; i < w->peers; i++) over += converse(w, i, now);
        look_for_silence(w, now);
        nanosleep(&nap, NULL);
    }
    return NULL;
}

int sp_watch_thread_level(int seconds) { return seconds > 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED; }

static spmm_status allocate(sp_watch *w)
{
    int level;
    TRY(SP_MPI(MPI_Query_thread(&level)));
    if (level < MPI_THREAD_MULTIPLE)
        return sp_fail(
            SPMM_ERR_MPI,
            "--timeout needs an MPI library that gives MPI_THREAD_MULTIPLE, and this one does not");
    TRY(sp_alloc_zero((void **)&w->peer, w->peers, sizeof *w->peer, "the watch of the ranks"));
    return sp_alloc_zero((void **)&w->host, w->size, HOST_BYTES, "the names of the hosts");
}

/** Collects the host names, creates the watch's communicator, and posts the first receives. */
static spmm_status connect(sp_watch *w, MPI_Comm comm)
{
    char mine[HOST_BYTES] = "";
    if (gethostname(mine, sizeof mine - 1) != 0) snprintf(mine, sizeof mine, "an unknown host");
    TRY(SP_MPI(MPI_Allgather(mine, HOST_BYTES, MPI_CHAR, w->host, HOST_BYTES, MPI_CHAR, comm)));
    TRY(SP_MPI(MPI_Comm_dup(comm, &w->comm)));
    w->last_look = MPI_Wtime();
    for (int i = 0; i < w->peers; i++) {
        w->peer[i].last_heard = w->last_look;
        w->peer[i].out = MPI_REQUEST_NULL;
        listen(w, i);
    }
    return SPMM_OK;
}

/** Starts the watch's thread with all signals blocked, so that signals go to the program's other threads. */
static spmm_status start_thread(sp_watch *w)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&w->thread, NULL, watch, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error ? sp_fail(SPMM_ERR_INTERNAL, "cannot start the thread of --timeout: %s", strerror(error))
                 : SPMM_OK;
}

static void destroy(sp_watch *w)
{
    if (!w) return;
    sp_comm_free(&w->comm);
    sp_free(w->peer);
    sp_free(w->host);
    sp_free(w);
}

spmm_status sp_watch_start(MPI_Comm comm, int seconds, sp_watch **watch)
{
    sp_watch *w = NULL;
    int rank, size;
    *watch = NULL;
    TRY(SP_MPI(MPI_Comm_rank(comm, &rank)));
    TRY(SP_MPI(MPI_Comm_size(comm, &size)));
    if (seconds <= 0 || size == 1) return SPMM_OK;
    spmm_status status = sp_alloc_zero((void **)&w, 1, sizeof *w, "the watch of the ranks");
    if (status == SPMM_OK) {
        w->comm = MPI_COMM_NULL;
        w->rank = rank;
        w->size = size;
        w->seconds = seconds;
        w->patience = seconds + (rank > 1 ? 0.5 : 0); /* let rank 1 report a silent rank 0 first */
        w->peers = rank == 0 ? size - 1 : 1;
        status = allocate(w);
    }
    status = sp_agree(comm, "watch", status);
    if (status == SPMM_OK) status = connect(w, comm);
    if (status != SPMM_OK) {
        destroy(w);
        return status;
    }
    status = start_thread(w);
    /* end all processes: threads of other ranks may already wait for messages from this rank's thread */
    if (status != SPMM_OK) sp_abandon(comm, status);
    *watch = w;
    return SPMM_OK;
}

void sp_watch_stop(sp_watch *w)
{
    if (!w) return;
    MPI_Barrier(w->comm); /* while ranks wait here, their threads still watch the ranks that are missing */
    w->stopping = 1;
    pthread_join(w->thread, NULL);
    destroy(w);
}
