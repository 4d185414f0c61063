/* Machine files: what is read, what is refused and where, and that what is written can be read. */
#include "cli/machine.h"
#include "files.h"
#include "test.h"

static const char complete[] = "# two nodes\n"
                               "name = a machine = of two   # the rest is a comment\n"
                               "device = cuda\n\n"
                               "  nodes = 2\r\n"
                               "ranks_per_node = 4\n"
                               "copy_rate = 4e12\n"
                               "node_copy_rate = 16e12\n"
                               "inside_rate = 3.5e11\n"
                               "inside_latency = 5e-6\n"
                               "between_rate = 1e11\n"
                               "between_latency = 2e-6";

static spmm_status read_text(const char *text, sp_machine *m)
{
    write_bytes(text, strlen(text));
    return sp_machine_read(path, m);
}

/** Reads the complete file with one more line or, where `instead` begins a line of it, without that line. */
static void refused(const char *line, const char *instead, const char *message)
{
    char text[2 * sizeof complete];
    sp_machine m;
    snprintf(text, sizeof text, "%s\n%s\n", complete, line);
    char *const found = instead ? strstr(text, instead) : NULL;
    if (found) memset(found, '#', 1);
    CHECK_INT(read_text(text, &m), SPMM_ERR_SYNTAX);
    CHECK_TEXT(spmm_error_message(), message);
    CHECK_TEXT(spmm_error_message(), path);
}

static void test_read(void)
{
    sp_machine m;
    TEST("a file with comments, blanks and no last newline is read") {
        CHECK_INT(read_text(complete, &m), SPMM_OK);
        CHECK(strcmp(m.name, "a machine = of two") == 0 && m.processor[0] == '\0');
        CHECK(m.device == SPMM_CUDA && m.nodes == 2 && m.ranks_per_node == 4 && m.threads == 1);
        CHECK(m.copy_rate == 4e12 && m.node_copy_rate == 16e12 && m.inside_rate == 3.5e11);
        CHECK(m.inside_latency == 5e-6 && m.between_rate == 1e11 && m.between_latency == 2e-6);
        CHECK(m.efficiency == 0 && m.overlap == 0);
        CHECK_INT(sp_machine_ranks(&m), 8);
    }
    TEST("one rank needs no rates of exchanges, one node none between nodes") {
        const char one[] = "name = 1\ndevice = cpu\nnodes = 1\nranks_per_node = 1\ncopy_rate = 1e9\n"
                           "node_copy_rate = 1e9\n";
        CHECK_INT(read_text(one, &m), SPMM_OK);
    }
    TEST("a rank has its own copy rate, or its share of the node's") {
        CHECK_INT(read_text(complete, &m), SPMM_OK);
        m.node_copy_rate = 10e12;
        CHECK(sp_machine_copy_rate(&m, 1) == 4e12 && sp_machine_copy_rate(&m, 2) == 4e12);
        CHECK(sp_machine_copy_rate(&m, 4) == 2.5e12);
    }
    TEST("what is written is read again") {
        sp_machine again;
        CHECK_INT(read_text(complete, &m), SPMM_OK);
        strcpy(m.processor, "an EPYC");
        m.overlap = 0.5;
        CHECK_INT(sp_machine_write(path, &m, "# a comment\n"), SPMM_OK);
        CHECK_INT(sp_machine_read(path, &again), SPMM_OK);
        CHECK_INT(memcmp(&m, &again, sizeof m), 0);
    }
}

static void test_refused(void)
{
    sp_machine m;
    TEST("wrong lines are refused with file and line") {
        refused("copyrate = 1", NULL, ":13: unknown key copyrate; did you mean copy_rate?");
        refused("nodes = 2", NULL, ":13: a second nodes: line 5 has one");
        refused("efficiency", NULL, ":13: found efficiency, expected KEY = VALUE");
        refused("efficiency =", NULL, ":13: efficiency = \"\": expected a number from");
        refused("efficiency = fast", NULL, ":13: efficiency = fast: expected a number from 0.0001 to 1000");
        refused("efficiency = 1x", NULL, "expected a number");
        refused("efficiency = nan", NULL, "expected a number");
        refused("efficiency = inf", NULL, "expected a number");
        refused("efficiency = 0x1p3", NULL, "expected a number");
        refused("efficiency = -1", NULL, "expected a number");
        refused("overlap = 1.5", NULL, "expected a number from 0 to 1");
        refused("threads = 1.5", NULL, "expected a whole number from 1 to 4096");
        refused("nodes = 99999999", "nodes = 2", "expected a whole number from 1 to 16777216");
        refused("copy_rate = -4e12", "copy_rate = 4e12", "expected a number from 1 to");
        refused("device = gpu", "device = cuda", "expected cpu or cuda");
        refused("= 3", NULL, ":13: unknown key \"\"");
    }
    TEST("a missing key is named, and one that several ranks or nodes need") {
        refused("", "name = a", "there is no line name =");
        refused("", "copy_rate", "there is no line copy_rate =");
        refused("", "inside_rate", "there is no line inside_rate =, as a node has several ranks");
        refused("", "between_latency", "there is no line between_latency =, as there are several nodes");
        refused("node_copy_rate = 1e12", "node_copy_rate = 16", "below the copy_rate of one rank");
    }
    TEST("no file, a folder, a file that is too large, one with a zero byte") {
        char large[(64 << 10) + 2];
        memset(large, '#', sizeof large);
        large[sizeof large - 1] = '\0';
        CHECK_INT(sp_machine_read("/nowhere/at-all", &m), SPMM_ERR_OPEN);
        CHECK_TEXT(spmm_error_message(), "/nowhere/at-all: No such file");
        CHECK_INT(sp_machine_read(folder, &m), SPMM_ERR_OPEN);
        CHECK_INT(read_text(large, &m), SPMM_ERR_SYNTAX);
        CHECK_TEXT(spmm_error_message(), "more than 65536 bytes");
        write_bytes("name = a\0b\n", 11);
        CHECK_INT(sp_machine_read(path, &m), SPMM_ERR_SYNTAX);
        CHECK_TEXT(spmm_error_message(), "zero byte");
    }
}

int main(void)
{
    files_begin("a.machine");
    test_read();
    test_refused();
    files_end();
    return test_end();
}
