/** A fixture, not a test: tests/test_runner.sh runs it to check that the runner notices each way to fail. The
 *  environment variable ALWAYS_FAILS selects the way; "check" if unset. */
#include <signal.h>
#include <unistd.h>

#include "test.h"

int main(void)
{
    const char *way = getenv("ALWAYS_FAILS");
    if (!way) way = "check";
    if (!strcmp(way, "silent")) return 0;
    if (!strcmp(way, "hang")) {
        sleep(600);
        return 0;
    }
    TEST("a test that passes comes first") { CHECK(1); }
    if (!strcmp(way, "crash")) raise(SIGSEGV);
    if (!strcmp(way, "exit")) return 3;
    if (!strcmp(way, "unchecked")) {
        TEST("nothing is checked") {}
        return test_end();
    }
    TEST("one and one are three") { CHECK_INT(1 + 1, 3); }
    return test_end();
}
