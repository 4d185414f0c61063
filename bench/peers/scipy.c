/* SciPy: csr_array @ ndarray in C and in Fortran order, in a Python process of its own (scipy_child.py),
 * which times the product itself. SciPy allocates the result of each product, which the time includes. One
 * thread.
 *
 * Arrays pass through one shared memory file, commands and answers through a pipe each way. */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/peers/peer.h"

enum { CHILD_IN = 3, CHILD_OUT = 4, CHILD_SHARED = 5 };

typedef struct product {
    peer_product p;
    int id;
} product;

static struct {
    pid_t pid;
    FILE *to, *from;
    int shared; /* file descriptor */
    int next_id;
    char answer[256];
} child;

static const peer_form forms[] = {{"scipy", PEER_ROW, 1, 1, 1, 0}, {"scipy", PEER_COLUMN, 1, 1, 1, 0}};

extern char **environ;

/** Waits for an answer: "ok ..." or an error message. */
static const char *answer(void)
{
    if (!fgets(child.answer, sizeof child.answer, child.from)) return "the python process ended";
    child.answer[strcspn(child.answer, "\n")] = 0;
    return strncmp(child.answer, "ok", 2) == 0 ? NULL : child.answer;
}

/** Starts the child. Its descriptors 3 and 4 are the far ends of the pipes, 5 is the shared file. */
static const char *start(const char *python, const char *script)
{
    posix_spawn_file_actions_t actions;
    int down[2], up[2];
    char *const argv[] = {(char *)python, (char *)script, NULL};
    /* at least 64, so that no dup2 to 3, 4 or 5 overwrites a descriptor that is still needed */
    if (pipe2(down, O_CLOEXEC) || pipe2(up, O_CLOEXEC)) return "pipe failed";
    const int in = fcntl(down[0], F_DUPFD_CLOEXEC, 64), out = fcntl(up[1], F_DUPFD_CLOEXEC, 64);
    const int shared = fcntl(child.shared, F_DUPFD_CLOEXEC, 64);
    close(down[0]);
    close(up[1]);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in, CHILD_IN);
    posix_spawn_file_actions_adddup2(&actions, out, CHILD_OUT);
    posix_spawn_file_actions_adddup2(&actions, shared, CHILD_SHARED);
    const int error = posix_spawnp(&child.pid, python, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(in);
    close(out);
    close(shared);
    if (error) child.pid = 0;
    child.to = fdopen(down[1], "w");
    child.from = fdopen(up[0], "r");
    return error || !child.to || !child.from ? "cannot start python" : answer();
}

static const char *ask(const char *command)
{
    return fputs(command, child.to) < 0 || fflush(child.to) ? "the python process ended" : answer();
}

/** Copies `data` to byte offset `at` of the shared file or, with `into` 0, from there to `data`. */
static const char *share(void *data, size_t bytes, size_t at, int into)
{
    if (bytes == 0) return NULL;
    if (into && ftruncate(child.shared, (off_t)(at + bytes))) return "no memory to share";
    char *const p = mmap(NULL, at + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, child.shared, 0);
    if (p == MAP_FAILED) return "no memory to share";
    memcpy(into ? p + at : data, into ? data : p + at, bytes);
    munmap(p, at + bytes);
    return NULL;
}

static void close_scipy(void)
{
    if (child.to) fclose(child.to); /* the child ends with its input */
    if (child.from) fclose(child.from);
    if (child.pid) waitpid(child.pid, NULL, 0);
    child.to = child.from = NULL;
    child.pid = 0;
}

/** Starts $PYTHON or, if that fails, the first python that has SciPy. */
static const char *open_scipy(int threads, const char *folder, char *version, size_t size)
{
    char script[4096];
    const char *const pythons[] = {getenv("PYTHON"), "python3", "/usr/bin/python3"};
    const char *problem = "no python";
    (void)threads;
    snprintf(script, sizeof script, "%s/peer_scipy.py", folder);
    child.shared = memfd_create("spmm_bench", MFD_CLOEXEC);
    if (child.shared < 0) return "memfd_create failed";
    for (size_t i = 0; i < sizeof pythons / sizeof *pythons && problem; i++) {
        if (!pythons[i] || !*pythons[i]) continue;
        problem = start(pythons[i], script);
        if (problem) close_scipy();
    }
    if (!problem) snprintf(version, size, "%s", child.answer + strlen("ok "));
    return problem;
}

static const char *load_scipy(void *handle)
{
    char command[128];
    const peer_matrix *const a = handle;
    const size_t starts = (size_t)(a->rows + 1) * sizeof *a->row_start,
                 cols = (size_t)a->nnz * sizeof *a->col;
    const char *const type = a->is_complex ? (a->f32 ? "c8" : "c16") : a->f32 ? "f4" : "f8";
    const size_t vals = (size_t)a->nnz * peer_value_bytes(a);
    const char *problem = share((void *)a->val, vals, 0, 1);
    if (!problem) problem = share((void *)a->row_start, starts, vals, 1);
    if (!problem) problem = share((void *)a->col, cols, vals + starts, 1);
    snprintf(command, sizeof command, "load %s %lld %lld %lld\n", type, (long long)a->rows,
             (long long)a->cols, (long long)a->nnz);
    return problem ? problem : ask(command);
}

static void unload_scipy(void *handle)
{
    (void)handle;
    ask("unload\n");
}

static size_t bytes_of(const product *q, int64_t rows)
{
    return (size_t)(rows * q->p.k) * peer_value_bytes(q->p.a);
}

static const char *begin_scipy(void *handle)
{
    char command[128];
    product *const q = handle;
    q->id = child.next_id++;
    const char *const problem = share((void *)q->p.x, bytes_of(q, q->p.a->cols), 0, 1);
    if (problem) return problem;
    snprintf(command, sizeof command, "begin %d %lld %c\n", q->id, (long long)q->p.k,
             q->p.form->layout == PEER_ROW ? 'C' : 'F');
    return ask(command);
}

static const char *ask_about(const char *verb, const product *q)
{
    char command[64];
    snprintf(command, sizeof command, "%s %d\n", verb, q->id);
    return ask(command);
}

static void end_scipy(void *handle) { ask_about("end", handle); }

static const char *run_scipy(void *handle)
{
    product *const q = handle;
    const char *const problem = ask_about("run", q);
    if (!problem) q->p.seconds = strtod(child.answer + strlen("ok "), NULL);
    return problem;
}

/** Does nothing if `in` asks to copy y to the library's Y: each product of SciPy allocates a new Y. */
static const char *move_scipy(void *handle, int in)
{
    product *const q = handle;
    const char *const problem = in ? NULL : ask_about("fetch", q);
    return in || problem ? problem : share(q->p.y, bytes_of(q, q->p.a->rows), 0, 0);
}

const peer_adaptor spmm_peer = {.package = "scipy",
                                .forms = forms,
                                .form_count = sizeof forms / sizeof *forms,
                                .product_bytes = sizeof(product),
                                .open = open_scipy,
                                .load = load_scipy,
                                .unload = unload_scipy,
                                .begin = begin_scipy,
                                .end = end_scipy,
                                .run = run_scipy,
                                .move = move_scipy,
                                .complex_values = 1,
                                .close = close_scipy};
