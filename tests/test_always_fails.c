/** No test but a fixture: tests/test_runner.sh runs it to see that the runner notices each way to
 *  fail. ALWAYS_FAILS says which; "check" when unset. */
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
