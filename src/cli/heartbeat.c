/** Exchanges heartbeats between rank 0 and the other ranks, in a thread of each rank: see heartbeat.h. */
#include "cli/heartbeat.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/output_file.h"
#include "base/words.h"

enum {
    TAG_BEAT = 1, /* tag of all messages; the watch has its own communicator */
    ALIVE = 1,
    LEAVING = 2, /* content of the last message that a rank sends */
    HOST_BYTES = 64,
    BEATS = 8,  /* heartbeats per timeout */
    MARGIN = 5, /* seconds that mpirun may take to end the job after it has detected the loss */
    ABORT = 2,  /* seconds that MPI_Abort() may take */
    SLOW = 2    /* seconds by which MPI's start and end may exceed the timeout */
};

/* ---- the timer ---- */

static char last_words[SP_MESSAGE_BYTES]; /* text that the process prints when the timer ends it */

static void end_process(int signal)
{
    const ssize_t written = write(STDERR_FILENO, last_words, strlen(last_words));
    (void)signal, (void)written;
    sp_writing_remove();
    _exit(sp_exit_code(SPMM_ERR_MPI));
}

/** Sets the timer; 0: none. It raises a signal, because threads may then hold locks of stdio or MPI. */
static void set_timer(double seconds)
{
    const struct sigaction action = {.sa_handler = end_process};
    const struct itimerval timer = {
        .it_value = {(time_t)seconds, (suseconds_t)(1e6 * (seconds - (double)(time_t)seconds))}};
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    if (seconds > 0) {
        sigaction(SIGALRM, &action, NULL);
        pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
    }
    setitimer(ITIMER_REAL, &timer, NULL);
}

void sp_watch_call(const char *what, int seconds, int rank)
{
    enum { STEPS = 2 };
    if (seconds <= 0) return;
    snprintf(last_words, sizeof last_words,
             "%s: error: rank %d: MPI did not %s within %d s (--timeout %d): a process is stopped or lost, "
             "or MPI needs more time: raise --timeout\n",
             SHOWN(program_invocation_short_name), rank, what, seconds + SLOW, seconds);
    set_timer(seconds + SLOW + (rank < STEPS ? rank : STEPS));
}

void sp_watch_returned(void) { set_timer(0); }

/* ---- heartbeats ---- */

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
    double hold;      /* seconds of silence after which mpirun has ended a job that lost a host; 0: unknown */
    int warned;       /* 1: the current silence has been reported */
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

static const char *host_of(const sp_watch *w, int rank) { return w->host + (size_t)rank * HOST_BYTES; }

static double silence(const sp_watch *w, int i, double now)
{
    return w->peer[i].has_left ? 0 : now - w->peer[i].last_heard;
}

/** Returns 1 if a peer has been silent for more than half the timeout. The full timeout is not required,
 *  because the ranks of a lost node fall silent one after another. */
static int is_silent(const sp_watch *w, int i, double now) { return silence(w, i, now) > w->seconds / 2; }

/** Returns 1 if all peers on one other host are silent: the host may be lost. */
static int has_lost_a_host(const sp_watch *w, double now)
{
    for (int i = 0; i < w->peers; i++) {
        const char *const host = host_of(w, rank_of(w, i));
        int answers = strcmp(host, host_of(w, w->rank)) == 0 || !is_silent(w, i, now);
        for (int j = 0; j < w->peers && !answers; j++)
            answers = !is_silent(w, j, now) && strcmp(host, host_of(w, rank_of(w, j))) == 0;
        if (!answers) return 1;
    }
    return 0;
}

/** Writes which peers are silent: "ranks 2 (on far), 3 (on far) did not answer for 3 s (--timeout)". Returns
 *  the number of silent peers. */
static int name_silent(const sp_watch *w, double now, char *text, size_t bytes)
{
    char list[384] = "";
    int silent = 0;
    for (int i = 0; i < w->peers; i++) {
        const size_t n = strlen(list);
        if (!is_silent(w, i, now)) continue;
        if (n < sizeof list - HOST_BYTES - 32)
            snprintf(list + n, sizeof list - n, "%s%d (on %s)", silent ? ", " : "", rank_of(w, i),
                     host_of(w, rank_of(w, i)));
        else if (strcmp(list + n - 3, "...") != 0)
            snprintf(list + n, sizeof list - n, ", ...");
        silent++;
    }
    snprintf(text, bytes, "%s %s did not answer for %g s (--timeout)", silent == 1 ? "rank" : "ranks", list,
             w->seconds);
    return silent;
}

/** Returns 1 if the job was started by mpirun of Open MPI 4, which was not told to probe its connections. */
static int unprobed(const sp_watch *w) { return w->hold == 0 && getenv("OMPI_COMMAND"); }

/** On rank 0, warns of hosts whose loss mpirun would not notice. */
static void warn_of_hosts(const sp_watch *w)
{
    int other = 0;
    while (other < w->size && strcmp(host_of(w, other), host_of(w, 0)) == 0) other++;
    if (w->rank != 0 || other == w->size || !unprobed(w)) return;
    fprintf(
        stderr,
        "%s: warning: --timeout: mpirun does not probe its connections to other hosts, such as %s, and may "
        "wait for a lost one after all ranks have ended: set OMPI_MCA_oob_tcp_keepalive_time=5, "
        "OMPI_MCA_oob_tcp_keepalive_intvl=5 and OMPI_MCA_oob_tcp_keepalive_probes=3 in its environment\n",
        SHOWN(program_invocation_short_name), host_of(w, other));
}

/** Ends the job if a peer is overdue; if a host may be lost, only after w->hold. MPI_Abort() makes mpirun
 *  send a message to the lost host. While a message is unacknowledged, the kernel sends no keepalives, so
 *  mpirun would wait until the kernel gives up the message, by default a quarter of an hour. Output of ranks
 *  other than rank 0 may also be such a message. */
static void look_for_silence(sp_watch *w, double now)
{
    char text[SP_MESSAGE_BYTES - 128];
    double longest = 0;
    for (int i = 0; i < w->peers; i++)
        if (longest < silence(w, i, now)) longest = silence(w, i, now);
    if (longest <= w->patience) {
        w->warned = 0;
        return;
    }
    const int lost = has_lost_a_host(w, now), held = lost && longest <= w->hold;
    if (held && (w->warned || w->rank != 0)) return;
    const int one = name_silent(w, now, text, sizeof text) == 1;
    if (held) {
        fprintf(stderr,
                "%s: warning: %s: waiting up to %g s in all for mpirun, whose keepalives detect a lost "
                "node\n",
                program_invocation_short_name, text, w->hold);
        w->warned = 1;
        return;
    }
    const int waits = lost && unprobed(w);
    *last_words = '\0';
    set_timer(ABORT);
    sp_abandon(w->comm,
               sp_fail(SPMM_ERR_MPI, "%s: stopped, or lost with %s node%s%s", text, one ? "its" : "their",
                       one ? "" : "s",
                       waits ? "; mpirun may wait for a lost node, see --timeout in spmm_mpi(1)" : ""));
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

/** Returns the seconds of silence after which mpirun of Open MPI 4 has ended a job that lost a host: the
 *  duration of the keepalives of its connections plus MARGIN. Open MPI passes the keepalive parameters to the
 *  ranks if they are set. Returns 0 if they are not set, or if keepalives are disabled. */
static double keepalive_seconds(void)
{
    static const char *const name[] = {"OMPI_MCA_oob_tcp_keepalive_time", "OMPI_MCA_oob_tcp_keepalive_intvl",
                                       "OMPI_MCA_oob_tcp_keepalive_probes"};
    double value[] = {300, 20, 9}; /* the defaults of Open MPI */
    int set = 0;
    for (int i = 0; i < 3; i++) {
        const char *const text = getenv(name[i]);
        if (!text) continue;
        set = 1;
        value[i] = atoi(text);
    }
    return set && value[0] > 0 ? value[0] + value[1] * value[2] + MARGIN : 0;
}

int sp_watch_thread_level(int seconds) { return seconds > 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED; }

static spmm_status heartbeat_allocate(sp_watch *w)
{
    int level;
    TRY(SP_MPI(MPI_Query_thread(&level)));
    if (level < MPI_THREAD_MULTIPLE)
        return sp_fail(
            SPMM_ERR_MPI,
            "--timeout needs an MPI library with MPI_THREAD_MULTIPLE, which this one does not provide");
    TRY(sp_alloc_zero((void **)&w->peer, w->peers, sizeof *w->peer, "the watch of the ranks"));
    return sp_alloc_zero((void **)&w->host, w->size, HOST_BYTES, "the names of the hosts");
}

/** Collects the host names, creates the watch's communicator, and posts the first receives. */
static spmm_status heartbeat_connect(sp_watch *w, MPI_Comm comm)
{
    char mine[HOST_BYTES] = "";
    if (gethostname(mine, sizeof mine - 1) != 0) snprintf(mine, sizeof mine, "an unknown host");
    TRY(SP_MPI(MPI_Allgather(mine, HOST_BYTES, MPI_CHAR, w->host, HOST_BYTES, MPI_CHAR, comm)));
    TRY(SP_MPI(MPI_Comm_dup(comm, &w->comm)));
    warn_of_hosts(w);
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

static void heartbeat_destroy(sp_watch *w)
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
        w->hold = keepalive_seconds();
        w->peers = rank == 0 ? size - 1 : 1;
        status = heartbeat_allocate(w);
    }
    status = sp_agree(comm, "watch", status);
    if (status == SPMM_OK) status = heartbeat_connect(w, comm);
    if (status != SPMM_OK) {
        heartbeat_destroy(w);
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
    sp_watch_call("end", (int)w->seconds, w->rank);
    w->stopping = 1;
    pthread_join(w->thread, NULL);
    heartbeat_destroy(w);
}
