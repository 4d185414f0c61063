/** Outputs that are written as a whole: files are complete or do not exist, even if others write them, too,
 *  and whatever already has the name. */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "base/output_file.h"
#include "files.h"
#include "formats/multivector.h"
#include "files/matrix_write.h"
#include "io/mtx_read.h"
#include "sample.h"
#include "small_disk.h"
#include "test.h"

static char other[256];

/** Writes the letter `bytes` times; `status` is the status of the rest of the work. */
static spmm_status write_letters(const char *to, char letter, size_t bytes, spmm_status status)
{
    sp_output_file out;
    TRY(sp_output_file_open(to, &out));
    for (size_t i = 0; i < bytes; i++) fputc(letter, out.file);
    return sp_output_file_close(&out, status);
}

static int64_t size_of(const char *of)
{
    struct stat s;
    return stat(of, &s) == 0 ? (int64_t)s.st_size : -1;
}

static mode_t mode_of(const char *of)
{
    struct stat s;
    return lstat(of, &s) == 0 ? s.st_mode : 0;
}

/** Waits for all children. Returns how many of them failed. */
static int failures(void)
{
    int status, failed = 0;
    while (wait(&status) > 0) failed += status != 0;
    return failed;
}

/** Forks processes that write a matrix and a multivector again and again under the same names, each in
 *  different sizes. */
static void write_by_turns(int writers, int times)
{
    fflush(stdout);
    for (int w = 0; w < writers; w++) {
        if (fork() != 0) continue;
        for (int i = 0; i < times; i++) {
            spmm_csr a;
            spmm_multivector v;
            sample_csr(w % 2 ? SAMPLE_RANDOM : SAMPLE_DENSE_ROW, SAMPLE_REALS, SPMM_F64, &a);
            if (sp_matrix_write(path, &a) != SPMM_OK) _exit(1);
            spmm_csr_destroy(&a);
            v = sample_multivector(500 + w, 8, 8, SPMM_F64);
            sample_fill(&v, SAMPLE_REALS, (uint64_t)w);
            if (sp_multivector_write(&v, other) != SPMM_OK) _exit(1);
            spmm_multivector_destroy(&v);
        }
        _exit(0);
    }
}

static void test_crowd(void)
{
    TEST(
        "of several that write the same name each puts a complete file there, and readers never see another") {
        const sp_read_options options = {.threads = 1};
        int status, seen = 0, running = 4;
        write_by_turns(running, 25);
        while (running > 0) {
            const pid_t ended = waitpid(-1, &status, WNOHANG);
            if (ended > 0) CHECK_INT(status, 0);
            running -= ended > 0;
            spmm_csr a;
            spmm_multivector v;
            if (access(path, F_OK) == 0) {
                const spmm_status read = spmm_csr_read(path, SPMM_F64, &a);
                CHECK_INT(read, SPMM_OK);
                if (read == SPMM_OK) spmm_csr_destroy(&a);
                seen++;
            }
            if (access(other, F_OK) == 0) {
                const spmm_status read = sp_read_dense(other, &options, &v);
                CHECK_INT(read, SPMM_OK);
                if (read == SPMM_OK) spmm_multivector_destroy(&v);
            }
        }
        CHECK(seen > 0);
        CHECK_INT(parts_in(folder), 0);
        unlink(path);
        unlink(other);
    }
}

/* ---- what already has the name ---- */

static void test_links(void)
{
    TEST("a link stays and its target is replaced, or made; nothing else that is a link is written through") {
        char trap[300], text[8];
        CHECK_INT(write_letters(other, 'o', 10, SPMM_OK), SPMM_OK);
        CHECK_INT(symlink(strrchr(other, '/') + 1, path), 0);
        CHECK_INT(write_letters(path, 'n', 20, SPMM_OK), SPMM_OK);
        CHECK(S_ISLNK(mode_of(path)) && S_ISREG(mode_of(other)));
        CHECK_INT(size_of(other), 20);
        unlink(other);
        CHECK_INT(write_letters(path, 'n', 30, SPMM_OK), SPMM_OK); /* through a link to no file */
        CHECK(S_ISLNK(mode_of(path)) && S_ISREG(mode_of(other)));
        CHECK_INT(size_of(other), 30);
        unlink(path);
        snprintf(trap, sizeof trap, "%s.part", path); /* a name that could be guessed */
        CHECK_INT(symlink(other, trap), 0);
        CHECK_INT(write_letters(path, 'n', 40, SPMM_OK), SPMM_OK);
        CHECK(S_ISREG(mode_of(path)) && size_of(other) == 30);
        unlink(trap);
        unlink(path);
        CHECK_INT(symlink(path, path), 0);
        CHECK_INT(write_letters(path, 'n', 1, SPMM_OK), SPMM_ERR_OUTPUT);
        CHECK_TEXT(spmm_error_message(), "symbolic links");
        CHECK_INT(readlink(path, text, sizeof text) > 0, 1);
        unlink(path);
        unlink(other);
    }
}

static void test_permissions(void)
{
    TEST("a new file has the permissions that the umask leaves, an older one keeps its own, and its owner") {
        struct stat s;
        const mode_t usual = umask(027);
        CHECK_INT(write_letters(path, 'a', 1, SPMM_OK), SPMM_OK);
        CHECK_INT(mode_of(path) & 07777, 0640);
        CHECK_INT(chmod(path, 0606), 0);
        CHECK_INT(write_letters(path, 'a', 2, SPMM_OK), SPMM_OK);
        CHECK_INT(mode_of(path) & 07777, 0606);
        umask(usual);
        if (chown(path, 65534, 65534) == 0) {
            CHECK_INT(write_letters(path, 'a', 3, SPMM_OK), SPMM_OK);
            CHECK(stat(path, &s) == 0 && s.st_uid == 65534 && s.st_gid == 65534 && s.st_size == 3);
        }
        unlink(path);
    }
    TEST("names as long as the system lets them be can be written") {
        char name[256], all[500];
        memset(name, 'n', 255);
        name[255] = '\0';
        snprintf(all, sizeof all, "%s/%s", folder, name);
        CHECK_INT(write_letters(all, 'a', 5, SPMM_OK), SPMM_OK);
        CHECK_INT(size_of(all), 5);
        unlink(all);
    }
}

static void test_devices(void)
{
    static const char sentence[] = "a device is written into and never replaced";
    spmm_csr a;
    sample_csr(SAMPLE_RANDOM, SAMPLE_REALS, SPMM_F64, &a);
    if (mknod(path, S_IFCHR | 0600, makedev(1, 3)) != 0 || close(open(path, O_WRONLY)) != 0) {
        SKIP(sentence, "no device can be made here");
    } else {
        TEST(sentence) {
            CHECK_INT(sp_matrix_write(path, &a), SPMM_OK); /* /dev/null */
            CHECK(S_ISCHR(mode_of(path)));
            unlink(path);
            CHECK_INT(mknod(path, S_IFCHR | 0600, makedev(1, 7)), 0); /* /dev/full */
            CHECK_INT(sp_matrix_write(path, &a), SPMM_ERR_OUTPUT);
            CHECK_TEXT(spmm_error_message(), path);
            CHECK(S_ISCHR(mode_of(path)));
            CHECK_INT(parts_in(folder), 0);
        }
    }
    unlink(path);
    TEST("what reads from a pipe gets the matrix file, byte by byte, and the pipe stays") {
        char file[300], command[1200];
        snprintf(file, sizeof file, "%s/other.npz", folder);
        CHECK_INT(sp_matrix_write(file, &a), SPMM_OK);
        CHECK_INT(mkfifo(path, 0600), 0);
        snprintf(command, sizeof command, "exec cmp '%s' '%s'", path, file);
        fflush(stdout);
        if (fork() == 0) {
            execl("/bin/sh", "sh", "-c", command, (char *)NULL);
            _exit(9);
        }
        CHECK_INT(sp_matrix_write(path, &a), SPMM_OK);
        CHECK_INT(failures(), 0);
        CHECK(S_ISFIFO(mode_of(path)));
        unlink(path);
        unlink(file);
    }
    spmm_csr_destroy(&a);
}

/* ---- what goes wrong ---- */

static void test_failure(void)
{
    TEST("what fails leaves the older file as it was, and nothing else") {
        CHECK_INT(write_letters(path, 'a', 7, SPMM_OK), SPMM_OK);
        CHECK_INT(write_letters(path, 'b', 9, sp_fail(SPMM_ERR_MEMORY, "no")), SPMM_ERR_MEMORY);
        CHECK_INT(size_of(path), 7);
        CHECK_INT(parts_in(folder), 0);
        CHECK_INT(write_letters(folder, 'b', 9, SPMM_OK), SPMM_ERR_OUTPUT);
        CHECK_TEXT(spmm_error_message(), "found a folder");
        CHECK_INT(write_letters("", 'b', 9, SPMM_OK), SPMM_ERR_OUTPUT);
        snprintf(other, sizeof other, "%s/none/", folder);
        CHECK_INT(write_letters(other, 'b', 9, SPMM_OK), SPMM_ERR_OUTPUT);
        snprintf(other, sizeof other, "%s/other", folder);
        unlink(path);
    }
}

static void test_too_large(void)
{
    TEST("a file that becomes too large leaves the matrix that was there, and no half one") {
        const struct rlimit small = {9000, RLIM_INFINITY}, all = {RLIM_INFINITY, RLIM_INFINITY};
        spmm_csr a, b;
        sample_csr(SAMPLE_RANDOM, SAMPLE_REALS, SPMM_F64, &a);
        CHECK_INT(sp_matrix_write(path, &a), SPMM_OK);
        signal(SIGXFSZ, SIG_IGN);
        CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
        const spmm_status status = sp_matrix_write(path, &a);
        setrlimit(RLIMIT_FSIZE, &all);
        CHECK_INT(status, SPMM_ERR_OUTPUT);
        CHECK_TEXT(spmm_error_message(), "file.npz: cannot write: ");
        CHECK_INT(parts_in(folder), 0);
        CHECK_INT(spmm_csr_read(path, SPMM_F64, &b), SPMM_OK);
        CHECK(sample_same_csr(&a, &b));
        spmm_csr_destroy(&a);
        spmm_csr_destroy(&b);
        unlink(path);
    }
}

static volatile sig_atomic_t handled;

static void handle(int signal)
{
    (void)signal;
    handled++;
}

static void test_signals(void)
{
    if (TEST_THREADS_WATCHED) {
        SKIP("a signal leaves no file that nobody knows of", "the thread sanitizer holds signals back");
        return;
    }
    TEST(
        "a signal that ends the program in the middle leaves the older file; nothing else where it can be seen") {
        static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGKILL};
        CHECK_INT(write_letters(path, 'a', 7, SPMM_OK), SPMM_OK);
        for (int i = 0; i < 4; i++) {
            int status, ready[2];
            char c;
            if (pipe(ready) != 0) abort();
            fflush(stdout);
            const pid_t child = fork();
            if (child == 0) {
                sp_output_file out;
                signal(signals[i], SIG_DFL);
                if (sp_output_file_open(path, &out) != SPMM_OK) _exit(1);
                fputs("half", out.file);
                fflush(out.file);
                (void)!write(ready[1], "", 1);
                for (;;) pause();
            }
            CHECK_INT(read(ready[0], &c, 1), 1);
            CHECK_INT(parts_in(folder), 1);
            kill(child, signals[i]);
            waitpid(child, &status, 0);
            CHECK(WIFSIGNALED(status) && WTERMSIG(status) == signals[i]);
            CHECK_INT(parts_in(folder), signals[i] == SIGKILL);
            CHECK_INT(size_of(path), 7);
            close(ready[0]);
            close(ready[1]);
        }
    }
    TEST("a signal whose handler returns does not end the writing") {
        sp_output_file out;
        signal(SIGALRM, handle);
        CHECK_INT(sp_output_file_open(path, &out), SPMM_OK);
        fputs("whole", out.file);
        raise(SIGALRM);
        CHECK_INT(sp_output_file_close(&out, SPMM_OK), SPMM_OK);
        signal(SIGALRM, SIG_DFL);
        CHECK_INT(handled, 1);
        CHECK_INT(size_of(path), 5);
        CHECK_INT(write_letters(path, 'a', 7, SPMM_OK), SPMM_OK);
    }
    TEST("a signal leaves nothing of a file that is opened only to see whether it can be") {
        int status;
        sp_destination to;
        const int others = parts_in(folder); /* left by a killed process */
        CHECK_INT(sp_destination_find(path, &to), SPMM_OK);
        fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            char part[PATH_MAX];
            int fd;
            signal(SIGTERM, SIG_DFL);
            if (sp_destination_part(&to, part, &fd) != SPMM_OK || parts_in(folder) != others + 1) _exit(1);
            raise(SIGTERM);
            _exit(2);
        }
        waitpid(child, &status, 0);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
        CHECK_INT(parts_in(folder), others);
    }
}

static void test_full_disk(void)
{
    static const char sentence[] =
        "on a full disk an older file stays, nothing is left, and the name is told";
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        char disk[230];
        snprintf(disk, sizeof disk, "%s/disk", folder);
        if (mkdir(disk, 0700) != 0 || !small_disk(disk, "64k")) _exit(NO_SMALL_DISK);
        snprintf(path, sizeof path, "%s/y", disk);
        TEST(sentence) {
            CHECK_INT(write_letters(path, 'a', 30000, SPMM_OK), SPMM_OK);
            CHECK_INT(write_letters(path, 'b', 50000, SPMM_OK), SPMM_ERR_OUTPUT);
            CHECK_TEXT(spmm_error_message(), "y: cannot write: No space left on device");
            CHECK_INT(size_of(path), 30000);
            CHECK_INT(parts_in(disk), 0);
        }
        _exit(test_.tests_failed);
    }
    small_disk_end(child, sentence);
}

/* ---- the check before the work ---- */

static int files_in(const char *of)
{
    DIR *const d = opendir(of);
    int count = 0;
    while (d && readdir(d)) count++;
    if (d) closedir(d);
    return count;
}

static spmm_status check(const char *replaced, const char *appended, const char *input)
{
    const sp_named_file files[] = {
        {"MATRIX", input, SP_READ}, {"-o", replaced, SP_REPLACED}, {"--json", appended, SP_APPENDED}};
    return sp_outputs_check(files, 3);
}

static void test_check(void)
{
    TEST("whether outputs can be written is found out without leaving a file or touching one") {
        char none[300];
        snprintf(none, sizeof none, "%s/none/y", folder);
        CHECK_INT(write_letters(path, 'a', 7, SPMM_OK), SPMM_OK);
        const int before = files_in(folder);
        CHECK_INT(check(path, other, NULL), SPMM_OK);
        CHECK_INT(check(other, path, NULL), SPMM_OK);
        CHECK_INT(check(NULL, NULL, path), SPMM_OK);
        CHECK_INT(check("/dev/null", "/dev/null", NULL), SPMM_OK);
        CHECK_INT(check("/dev/stdout", "/dev/stdout", NULL), SPMM_OK);
        CHECK_INT(check(none, other, NULL), SPMM_ERR_OUTPUT);
        CHECK_TEXT(spmm_error_message(), none);
        CHECK_INT(check(other, none, NULL), SPMM_ERR_OUTPUT);
        CHECK_TEXT(spmm_error_message(), none);
        CHECK_INT(check(folder, other, NULL), SPMM_ERR_OUTPUT);
        CHECK_INT(check(other, folder, NULL), SPMM_ERR_OUTPUT);
        CHECK_INT(check("/proc/none", NULL, NULL), SPMM_ERR_OUTPUT);
        CHECK_TEXT(spmm_error_message(), "/proc/none: cannot write: cannot create a file in its folder");
        CHECK_INT(files_in(folder), before);
        CHECK_INT(size_of(path), 7);
    }
    TEST("one file for two outputs, or for an input and an output, is refused, by whatever names") {
        char again[300];
        snprintf(again, sizeof again, "%s/../%s/other", folder, strrchr(folder, '/') + 1);
        CHECK_INT(check(other, other, NULL), SPMM_ERR_USAGE); /* the file does not exist yet */
        CHECK_TEXT(spmm_error_message(), "-o and --json name the same file, ");
        CHECK_INT(check(other, again, NULL), SPMM_ERR_USAGE);
        CHECK_INT(symlink(other, path) == 0 || (unlink(path) == 0 && symlink(other, path) == 0), 1);
        CHECK_INT(check(path, other, NULL), SPMM_ERR_USAGE);
        CHECK_INT(write_letters(other, 'a', 7, SPMM_OK), SPMM_OK);
        CHECK_INT(check(path, again, NULL), SPMM_ERR_USAGE);
        CHECK_INT(check(path, NULL, other), SPMM_ERR_USAGE);
        CHECK_TEXT(spmm_error_message(), "MATRIX and -o ");
        CHECK_INT(check(NULL, path, other), SPMM_ERR_USAGE);
        CHECK_TEXT(spmm_error_message(), "MATRIX and --json ");
        CHECK_INT(size_of(other), 7);
    }
}

int main(void)
{
    files_begin("file.npz");
    snprintf(other, sizeof other, "%s/other", folder);
    test_crowd();
    test_links();
    test_permissions();
    test_devices();
    test_failure();
    test_too_large();
    test_signals();
    test_full_disk();
    unlink(path);
    test_check();
    files_end();
    return test_end();
}
