#include "base/memory.h"
#include "comm/comm.h"
#include "test.h"

static void test_messages(void)
{
    TEST("every status has a text and an exit code from 0 to 4") {
        for (int s = 0; s < SPMM_STATUS_COUNT; s++) {
            CHECK(strlen(spmm_status_string((spmm_status)s)) > 3);
            CHECK(sp_exit_code((spmm_status)s) >= (s != 0) && sp_exit_code((spmm_status)s) <= 4);
        }
        CHECK_INT(sp_exit_code((spmm_status)99), 4);
        CHECK_TEXT(spmm_status_string((spmm_status)-1), "unknown");
    }
    TEST("the library's version is that of its header, in words and in numbers") {
        int major = -1, minor = -1, patch = -1;
        char text[32];
        CHECK_TEXT(spmm_version(&major, &minor, &patch), SPMM_VERSION);
        snprintf(text, sizeof text, "%d.%d.%d", major, minor, patch);
        CHECK_TEXT(text, SPMM_VERSION);
        CHECK_TEXT(spmm_version(NULL, NULL, NULL), SPMM_VERSION);
    }
    TEST("a failure's message may quote the message before it, and is cut when too long") {
        sp_fail(SPMM_ERR_OPEN, "first");
        CHECK_ERROR(sp_fail(SPMM_ERR_SYNTAX, "second after %s", spmm_error_message()), SPMM_ERR_SYNTAX,
                    "second after first");
        char *text = malloc(5000);
        memset(text, 'x', 4999);
        text[4999] = '\0';
        sp_fail(SPMM_ERR_OPEN, "%s", text);
        CHECK_INT(strlen(spmm_error_message()), SP_MESSAGE_BYTES - 1);
        free(text);
    }
    TEST("a message is one line, whatever a name in it holds, and has no word for the terminal") {
        sp_fail(SPMM_ERR_OPEN, "%s: cannot be opened", "two\nlines\x1b[1m\x7f\t\xc3\xa9");
        CHECK(strcmp(spmm_error_message(), "two?lines?[1m??\xc3\xa9: cannot be opened") == 0);
    }
    TEST("a fault strikes the stage and rank that it names") {
        setenv("SPMM_FAULT", "scatter:2", 1);
        CHECK(sp_fault("scatter", 2) == SP_FAULT_FAIL && sp_fault("scatter", 1) == SP_FAULT_NONE &&
              sp_fault("scat", 2) == SP_FAULT_NONE);
        setenv("SPMM_FAULT", "apply:0:wrong", 1);
        CHECK(sp_fault("apply", 0) == SP_FAULT_WRONG);
        unsetenv("SPMM_FAULT");
        CHECK(sp_fault("apply", 0) == SP_FAULT_NONE);
    }
}

static void test_memory(void)
{
    TEST("an allocation that cannot be says how much it was for what") {
        void *p;
        CHECK_ERROR(sp_alloc(&p, INT64_C(1) << 50, 8, "the test's numbers"), SPMM_ERR_MEMORY,
                    "9.01 PB for the test's numbers");
        CHECK(p == NULL);
        CHECK_INT(sp_alloc(&p, INT64_MAX / 4, 8, "too many"), SPMM_ERR_LIMIT);
        CHECK_INT(sp_alloc(&p, -1, 8, "a negative count"), SPMM_ERR_LIMIT);
    }
    TEST("memory is aligned, and nothing of nothing is not NULL") {
        void *p;
        CHECK_INT(sp_alloc(&p, 0, 8, "nothing"), SPMM_OK);
        CHECK(p != NULL && (uintptr_t)p % 64 == 0);
        sp_free(p);
        CHECK_INT(sp_alloc_zero(&p, 5000001, 1, "five million bytes"), SPMM_OK);
        CHECK((uintptr_t)p % (2 << 20) == 0 && ((char *)p)[5000000] == 0);
        sp_free(p);
    }
    TEST("bytes are written as a person says them") {
        char b[32];
        CHECK_TEXT(sp_bytes_text(b, sizeof b, 12), "12 B");
        CHECK_TEXT(sp_bytes_text(b, sizeof b, 1234567), "1.23 MB");
        CHECK_TEXT(sp_bytes_text(b, sizeof b, 9.9999e8), "1 GB");
    }
    TEST("the peak and the available memory are known on Linux") {
        CHECK(sp_peak_bytes() > 100000 && sp_available_bytes() > 1000000);
    }
}

int main(void)
{
    test_messages();
    test_memory();
    return test_end();
}
