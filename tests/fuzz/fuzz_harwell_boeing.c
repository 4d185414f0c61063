/** Harwell-Boeing and Rutherford-Boeing files, plain or compressed: the same outcome for any number of
 *  threads and any size of pieces. */
#include "files.h"

enum { MOST = 1 << 14 };

static void read_file(const char *path, const sp_read_options *options, ways_outcome *o)
{
    sp_sizes sizes;
    files_read(path, options, "Harwell-Boeing", MOST, &sizes, o);
    FUZZ_CHECK(o->a.nnz <= 2 * o->stored && o->duplicates <= 2 * o->stored);
}

int fuzz_harwell_boeing(const uint8_t *data, size_t size)
{
    fuzz_input in;
    ways_outcome o;
    if (!fuzz_begin(&in, "harwell_boeing", data, size)) return 0;
    files_check(&in, fuzz_file(in.data, in.size), read_file, &o);
    ways_destroy(&o);
    return fuzz_end();
}
