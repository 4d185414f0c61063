/* Row blocks: which runs of interior rows get a row block of their own. */
#include "product/row_blocks.h"
#include "test.h"

enum { MOST = 400 };

/** Finds the row blocks of a rank whose rows are interior (i), boundary (b) or empty (.), e.g. "4i3b". The
 *  rank receives rows of X if it has boundary rows; ghost row 0 precedes its only owned row, 1. The row
 *  blocks should be `expected`, "first+rows .. | first+rows ..", where row blocks before the bar are
 *  interior. */
static void check(const char *rows, int overlap, const char *expected)
{
    int64_t irp[MOST + 1] = {0};
    int32_t ja[MOST];
    sp_local_block block = {.csr.cols = 1 + (strchr(rows, 'b') != NULL), .low = 1, .own = 1};
    sp_row_blocks found;
    char text[200] = "";
    for (char *kind; *rows; rows = kind + 1)
        for (long left = strtol(rows, &kind, 10); left > 0; left--) {
            const int64_t i = block.csr.rows++;
            ja[irp[i]] = *kind == 'i';
            irp[i + 1] = irp[i] + (*kind != '.');
        }
    block.csr.irp = irp;
    block.csr.ja = ja;
    memset(&found, 0x55, sizeof found);
    sp_row_blocks_find(&block, overlap, &found);
    for (int n = 0; n <= found.count; n++) {
        char *const end = text + strlen(text);
        if (n == found.interior) strcat(text, "|");
        if (n < found.count)
            sprintf(end + strlen(end), " %d+%d", (int)found.part[n].first, (int)found.part[n].rows);
    }
    if (strcmp(text, expected) != 0) printf("  found %s, expected %s\n", text, expected);
    CHECK(strcmp(text, expected) == 0);
}

int main(void)
{
    TEST("all rows are one row block where none needs a ghost row, where all do, and without overlap") {
        check("4i", 1, " 0+4|");
        check("4b", 1, "| 0+4");
        check("8b40i1b", 0, "| 0+49");
        check("", 1, "|");
    }
    TEST("runs of interior rows are cut to whole panels, but for the last row; empty rows are interior") {
        check("3b30i3b", 1, " 8+24| 0+8 32+4");
        check("3b30.", 1, " 8+25| 0+8");
        check("9i1b", 1, " 0+8| 8+2");
        check("1b14i1b", 1, "| 0+16");
    }
    TEST("runs that together have less than a sixteenth of the rows are not worth a row block") {
        check("8i120b", 1, " 0+8| 8+120");
        check("8i136b", 1, "| 0+144");
    }
    TEST("of more than four runs the longest are kept, in the order of the rows") {
        check("8b16i8b8i8b32i8b40i8b8i8b56i", 1, " 8+16 48+32 88+40 152+56| 0+8 24+24 80+8 128+24");
    }
    return test_end();
}
