/** Matrix Market files; for `extra` see ways_check(). */
#include "ways.h"

int fuzz_mtx(const uint8_t *data, size_t size)
{
    fuzz_input in;
    ways_outcome o = {0};
    if (!fuzz_begin(&in, "mtx", data, size)) return 0;
    ways_check(&in, fuzz_file(in.data, in.size), &o);
    ways_destroy(&o);
    return fuzz_end();
}
