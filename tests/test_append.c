/** Records of --json and --csv are whole lines, even if several processes write, the disk is full, or strings
 *  have any bytes. */
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cli/record_writer.h"
#include "files.h"
#include "small_disk.h"
#include "test.h"

/** The record that the tests write. */
typedef struct item {
    int64_t number;
    const char *text;
} item;

static void visit(sp_writer *s, const void *record)
{
    const item *const i = record;
    sp_writer_int(s, "number", i->number);
    sp_writer_open(s, "group");
    sp_writer_text(s, "text", i->text);
    sp_writer_close(s);
    sp_writer_double(s, "last", 0.125);
}

typedef spmm_status (*writer)(const char *to, sp_writer_visit fields, const void *record);

/** Returns 1 if the file consists of these pieces and nothing else. */
static int file_is(const char *a, const char *b, const char *c)
{
    size_t bytes;
    char *const text = read_file(path, &bytes);
    const int same = bytes == strlen(a) + strlen(b) + strlen(c) && strncmp(text, a, strlen(a)) == 0 &&
                     strncmp(text + strlen(a), b, strlen(b)) == 0 &&
                     strcmp(text + strlen(a) + strlen(b), c) == 0;
    if (!same) printf("  found: %.300s\n", text);
    free(text);
    return same;
}

/* ---- several at once ---- */

/** Forks processes that all begin at the same moment and write `records` records each. Returns 1 if none
 *  failed. */
static int crowd(writer write_record, int processes, int records, const char *text)
{
    int start[2], good = 1, status;
    if (pipe(start) != 0) abort();
    fflush(stdout);
    for (int p = 0; p < processes; p++) {
        if (fork() != 0) continue;
        char go;
        close(start[1]);
        if (read(start[0], &go, 1) != 0) _exit(2);
        for (int i = 0; i < records; i++)
            if (write_record(path, visit, &(item){1000 * p + i, text}) != SPMM_OK) _exit(1);
        _exit(0);
    }
    close(start[0]);
    close(start[1]); /* all begin now */
    while (wait(&status) > 0) good &= status == 0;
    return good;
}

/** Returns the number of lines after `head`; -1 unless all are whole: each line begins with `begin`, ends
 *  with `end`, and has at least `least` characters. */
static int whole_lines(const char *head, const char *begin, const char *end, size_t least)
{
    size_t bytes;
    int lines = 0;
    char *const text = read_file(path, &bytes);
    const size_t skipped = strlen(head);
    if (strncmp(text, head, skipped) != 0) lines = -1;
    for (char *at = text + skipped; lines >= 0 && at < text + bytes;) {
        char *const stop = strchr(at, '\n');
        if (!stop || (size_t)(stop - at) < least || strncmp(at, begin, strlen(begin)) != 0 ||
            strncmp(stop - strlen(end), end, strlen(end)) != 0)
            lines = -1;
        else
            lines++;
        at = stop ? stop + 1 : text + bytes;
    }
    free(text);
    return lines;
}

#define HEAD "number,group.text,last\n"

static void test_crowds(void)
{
    static char text[20000];
    memset(text, 'x', sizeof text - 1);
    TEST("records of 20 kB that processes append at the same time stay whole") {
        unlink(path);
        CHECK(crowd(sp_writer_json, 6, 20, text));
        CHECK_INT(whole_lines("", "{\"number\":", "\"},\"last\":0.125}", sizeof text), 120);
        unlink(path);
        CHECK(crowd(sp_writer_csv, 6, 20, text));
        CHECK_INT(whole_lines(HEAD, "", "x\",0.125", sizeof text), 120);
    }
    TEST("a table that processes begin at the same moment gets one header, and it comes first") {
        for (int round = 0; round < 30; round++) {
            unlink(path);
            CHECK(crowd(sp_writer_csv, 6, 1, "t"));
            CHECK_INT(whole_lines(HEAD, "", ",\"t\",0.125", 1), 6);
        }
    }
    TEST("somebody who keeps the file's lock holds nobody up for long") {
        unlink(path);
        const int fd = open(path, O_RDWR | O_CREAT, 0600);
        CHECK_INT(flock(fd, LOCK_EX), 0);
        alarm(60);
        CHECK_INT(sp_writer_json(path, visit, &(item){1, "a"}), SPMM_OK);
        alarm(0);
        close(fd);
        CHECK(file_is("{\"number\":1,\"group\":{\"text\":\"a\"},\"last\":0.125}\n", "", ""));
    }
}

/* ---- half lines ---- */

static const char json_line[] = "{\"number\":7,\"group\":{\"text\":\"a \\\" } { \\\\\"},\"last\":0.125}\n";
static const char csv_line[] = "7,\"a \"\" } { \\\",0.125\n";
static const item seven = {7, "a \" } { \\"};

static void test_half_lines(void)
{
    char text[300];
    TEST(
        "wherever an object was cut off, it is gone when the next one is there, and what stood before it is not") {
        for (size_t n = 0; n < strlen(json_line) - 1; n++) {
            const int length = snprintf(text, sizeof text, "{}\n%.*s", (int)n, json_line);
            write_bytes(text, (size_t)length);
            CHECK_INT(sp_writer_json(path, visit, &seven), SPMM_OK);
            CHECK(file_is("{}\n", json_line, ""));
            write_bytes(json_line, n);
            CHECK_INT(sp_writer_json(path, visit, &seven), SPMM_OK);
            CHECK(file_is(json_line, "", ""));
        }
    }
    TEST("another last line without its newline, or a row of a table, stays and gets one") {
        static const char *const others[] = {"{}", "{\"number\":7,\"s\":\"{\"}", "1 2 3.5", "\xff\xfe",
                                             "[1,"};
        for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
            write_bytes(others[i], strlen(others[i]));
            CHECK_INT(sp_writer_json(path, visit, &seven), SPMM_OK);
            CHECK(file_is(others[i], "\n", json_line));
        }
        static const char *const tables[] = {"a,b,c,d,e\n1,", HEAD "1,\"b\",1", HEAD "7,\"a"};
        for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
            write_bytes(tables[i], strlen(tables[i]));
            CHECK_INT(sp_writer_csv(path, visit, &seven), SPMM_OK);
            CHECK(file_is(tables[i], "\n", csv_line));
        }
    }
}

static void test_full_disk(void)
{
    static const char sentence[] =
        "what a full disk has no room for leaves nothing behind, and the next record is whole";
    static char large[16000];
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        char filler[256], disk[230];
        snprintf(disk, sizeof disk, "%s/disk", folder);
        if (mkdir(disk, 0700) != 0 || !small_disk(disk, "28k")) _exit(NO_SMALL_DISK);
        snprintf(path, sizeof path, "%s/records", disk);
        snprintf(filler, sizeof filler, "%s/filler", disk);
        memset(large, 'y', sizeof large - 1);
        const writer writers[] = {sp_writer_json, sp_writer_csv};
        TEST(sentence) {
            for (int w = 0; w < 2; w++) {
                unlink(path);
                FILE *const f = fopen(filler, "w");
                CHECK(f && fwrite(large, 1, 15000, f) == 15000 && fclose(f) == 0);
                CHECK_INT(writers[w](path, visit, &seven), SPMM_OK);
                CHECK_INT(writers[w](path, visit, &(item){1, large}), SPMM_ERR_OUTPUT);
                CHECK_TEXT(spmm_error_message(), "records: cannot write: No space left on device");
                CHECK(w ? file_is(HEAD, csv_line, "") : file_is(json_line, "", ""));
                unlink(filler);
                CHECK_INT(writers[w](path, visit, &seven), SPMM_OK);
                CHECK(w ? file_is(HEAD, csv_line, csv_line) : file_is(json_line, json_line, ""));
            }
        }
        _exit(test_.tests_failed);
    }
    small_disk_end(child, sentence);
}

/* ---- devices, pipes, standard streams ---- */

static void test_streams(void)
{
    size_t bytes;
    TEST("who reads from a pipe finds the records one after another and no end between them") {
        char copy[sizeof path + 8];
        snprintf(copy, sizeof copy, "%s.copy", path);
        unlink(path);
        CHECK_INT(mkfifo(path, 0600), 0);
        fflush(stdout);
        if (fork() == 0) {
            char c;
            FILE *const to = fopen(copy, "w");
            const int from = open(path, O_RDONLY);
            while (read(from, &c, 1) == 1) fputc(c, to);
            _exit(fclose(to) != 0);
        }
        if (fork() == 0) {
            for (int i = 0; i < 3; i++) {
                if (sp_writer_csv(path, visit, &seven) != SPMM_OK) _exit(1);
                usleep(20000);
            }
            _exit(0);
        }
        int status, failed = 0;
        while (wait(&status) > 0) failed += status != 0;
        CHECK_INT(failed, 0);
        char *const text = read_file(copy, &bytes);
        CHECK(strncmp(text, HEAD, strlen(HEAD)) == 0 && bytes == strlen(HEAD) + 3 * strlen(csv_line));
        free(text);
        unlink(copy);
    }
    TEST("a reader that goes away is an error that names the pipe, and not the end of the program") {
        fflush(stdout);
        if (fork() == 0) {
            close(open(path, O_RDONLY));
            _exit(0);
        }
        (void)sp_writer_json(path, visit, &seven); /* (the reader may still be there) */
        CHECK(wait(NULL) > 0);
        CHECK_INT(sp_writer_json(path, visit, &seven), SPMM_ERR_OUTPUT);
        CHECK_TEXT(spmm_error_message(), path);
    }
    TEST("records on the standard output come where they were written, between what is printed") {
        unlink(path);
        fflush(stdout);
        if (fork() == 0) {
            if (!freopen(path, "w", stdout)) _exit(2);
            printf("before\n");
            if (sp_writer_json("/dev/stdout", visit, &seven) != SPMM_OK) _exit(1);
            printf("between\n");
            if (sp_writer_json(path, visit, &seven) != SPMM_OK) _exit(1);
            printf("after\n");
            _exit(fflush(stdout));
        }
        int status;
        wait(&status);
        CHECK_INT(status, 0);
        char expected[300];
        snprintf(expected, sizeof expected, "before\n%sbetween\n%safter\n", json_line, json_line);
        CHECK(file_is(expected, "", ""));
    }
}

/* ---- strings ---- */

/** Returns the number of bytes of the UTF-8 character at p; 0 if there is none. */
static int decoded(const unsigned char *p)
{
    const int bytes = p[0] < 0x80 ? 1 : p[0] >> 5 == 6 ? 2 : p[0] >> 4 == 14 ? 3 : p[0] >> 3 == 30 ? 4 : 0;
    static const unsigned long least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned long code = bytes < 2 ? p[0] : p[0] & (0x7FU >> bytes);
    for (int i = 1; i < bytes; i++) {
        if (p[i] >> 6 != 2) return 0;
        code = code << 6 | (p[i] & 0x3F);
    }
    return code < least[bytes] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000) ? 0 : bytes;
}

/** Writes a string and compares: characters must stay as they are, other bytes become \xHH. */
static int written_right(const char *string)
{
    char expected[2000] = "{\"number\":1,\"group\":{\"text\":\"";
    char *to = expected + strlen(expected);
    for (const unsigned char *p = (const unsigned char *)string; *p;) {
        const int n = decoded(p);
        to += n ? sprintf(to, "%.*s", n, (const char *)p) : sprintf(to, "\\\\x%02x", *p);
        p += n ? n : 1;
    }
    strcpy(to, "\"},\"last\":0.125}\n");
    unlink(path);
    return sp_writer_json(path, visit, &(item){1, string}) == SPMM_OK && file_is(expected, "", "");
}

static void test_strings(void)
{
    TEST(
        "bytes that are no UTF-8 become \\xHH, and characters stay: longer forms, surrogates, beyond the last, cut off") {
        static const unsigned char edge[] = {'a',  0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0,
                                             0xBF, 0xC0, 0xC2, 0xED, 0xF0, 0xF4, 0xFF};
        char string[1200], *to = string;
        for (int lead = 0x80; lead < 0x100;
             lead++) { /* every lead byte with every pair of `edge` behind it, in strings of 400 bytes */
            for (size_t e = 0; e < sizeof edge * sizeof edge; e++) {
                *to++ = (char)lead;
                *to++ = (char)edge[e / sizeof edge];
                *to++ = (char)edge[e % sizeof edge];
                *to++ = (char)(e % 3 ? 0x80 : 'z');
                if (to - string < 400 && (lead < 0xFF || e + 1 < sizeof edge * sizeof edge)) continue;
                *to = '\0';
                CHECK(written_right(string));
                to = string;
            }
        }
        static const char *const cut[] = {"\xC3",         "\xE2\x82",         "\xF0\x9F\x98",
                                          "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xC0\xAF"};
        for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) CHECK(written_right(cut[i]));
        CHECK(written_right("gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80"));
    }
    TEST("in a table, too") {
        unlink(path);
        CHECK_INT(sp_writer_csv(path, visit, &(item){1, "a\xFF\"\xC3\xBC"}), SPMM_OK);
        CHECK(file_is(HEAD, "1,\"a\\xff\"\"\xC3\xBC\",0.125\n", ""));
    }
}

/* ---- fields ---- */

static void visit_all(sp_writer *s, const void *record)
{
    sp_writer_pair(s, "grid", "p", "q", record);
    sp_writer_bool(s, "yes", 1);
    sp_writer_bool(s, "no", 0);
    sp_writer_open(s, "time");
    sp_writer_stats(s, &(sp_stats){2, 3, 2.5, 2, 1, 4, (double)NAN, (double)INFINITY});
    sp_writer_close(s);
    sp_writer_int(s, "last", INT64_MIN);
}

static void test_fields(void)
{
    static const int grid[] = {2, 3};
    TEST("every kind of field is written, and what is no number is none") {
        unlink(path);
        CHECK_INT(sp_writer_json(path, visit_all, grid), SPMM_OK);
        CHECK(file_is("{\"grid\":[2,3],\"yes\":true,\"no\":false,\"time\":{\"n\":2,\"median\":3,\"mean\":2.5,"
                      "\"stddev\":2,\"variance\":4,",
                      "\"min\":1,\"max\":4,\"median_low\":null,\"median_high\":null},",
                      "\"last\":-9223372036854775808}\n"));
        unlink(path);
        CHECK_INT(sp_writer_csv(path, visit_all, grid), SPMM_OK);
        CHECK(file_is("p,q,yes,no,time.n,time.median,time.mean,time.stddev,time.variance,time.min,time.max,",
                      "time.median_low,time.median_high,last\n",
                      "2,3,true,false,2,3,2.5,2,4,1,4,,,-9223372036854775808\n"));
    }
}

int main(void)
{
    files_begin("records");
    test_crowds();
    test_half_lines();
    test_full_disk();
    test_streams();
    test_strings();
    test_fields();
    files_end();
    return test_end();
}
