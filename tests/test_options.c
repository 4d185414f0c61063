#define TEST_TRAPS 0 /* numbers such as nan */
#include "spmm_mpi/options.h"
#include "test.h"

static sp_options o;

/** Parses a command line given as words separated by single blanks. */
static spmm_status parse(const char *line)
{
    static char text[512];
    char *argv[64] = {"spmm_mpi"};
    int argc = 1;
    snprintf(text, sizeof text, "%s", line);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) argv[argc++] = word;
    argv[argc] = NULL;
    return sp_options_parse(argc, argv, &o);
}

/** Parses a command line with one word that may be empty or contain blanks. */
static spmm_status parse_word(const char *option, const char *word)
{
    char name[] = "spmm_mpi", text[32], value[64];
    char *argv[] = {name, text, value, NULL};
    snprintf(text, sizeof text, "%s", option);
    snprintf(value, sizeof value, "%s", word);
    return sp_options_parse(3, argv, &o);
}

static void refused(const char *line, const char *part) { CHECK_ERROR(parse(line), SPMM_ERR_USAGE, part); }

static void test_taken(void)
{
    TEST("no options mean lap3d27:32, K = 64, f64, 10 products after 2") {
        CHECK_INT(parse(""), SPMM_OK);
        CHECK_TEXT(o.matrix, "lap3d27:32");
        CHECK(o.columns.count == 1 && o.columns.k[0] == 64 && !o.k_given && o.precision == SPMM_F64);
        CHECK(o.repeat == 10 && o.warmup == 2 && o.verify == SP_VERIFY_FULL && o.threads == 0 && o.p == 0);
        CHECK(o.partition == SP_PARTITION_AUTO && o.x_kind == SP_X_UNIFORM && !o.x_file && !o.kernel);
    }
    TEST("every option is read, in its short and its long form") {
        CHECK_INT(
            parse(
                "-k 1,8,64 -d cpu -f ell --kernel cpu_ell -g 4x1 --partition rows -p f32 -x ones -t 3 -r 7 "
                "--warmup 0 --verify sample --json a --csv b --ell-limit 2.5 --allow-nonfinite --read-as edges:1 "
                "-v m.mtx"),
            SPMM_OK);
        CHECK(o.columns.count == 3 && o.columns.k[0] == 1 && o.columns.k[1] == 8 && o.columns.k[2] == 64 &&
              o.k_given);
        CHECK(o.device == SP_DEVICE_CPU && o.format == SPMM_ELL && o.p == 4 && o.q == 1);
        CHECK(o.partition == SP_PARTITION_ROWS && o.precision == SPMM_F32 && o.x_kind == SP_X_ONES);
        CHECK(o.threads == 3 && o.repeat == 7 && o.warmup == 0 && o.verify == SP_VERIFY_SAMPLE &&
              o.verbosity == 1);
        CHECK(o.ell_limit == 2.5 && o.allow_nonfinite && o.edges == 2);
        CHECK_TEXT(o.matrix, "m.mtx");
        CHECK(o.kernel && o.kernel == sp_kernel_find("cpu_ell") && !o.all_kernels);
        CHECK_INT(
            parse("--columns 5 --device cuda --format ell-nopad --grid 2x1 --precision f64 --x uniform:42 "
                  "--threads 1 --repeat 1 --output y --quiet"),
            SPMM_OK);
        CHECK(o.columns.k[0] == 5 && o.device == SP_DEVICE_CUDA && o.format == SPMM_ELL_NOPAD &&
              o.x_seed == 42);
        CHECK(o.output && o.verbosity == -1);
        CHECK(!o.tune && o.shape.block == 0 && o.shape.subwarp == 0);
        CHECK_INT(parse("--autotune --block-size 256 --subwarp 16 --kernel auto --format auto"), SPMM_OK);
        CHECK(o.tune && o.shape.block == 256 && o.shape.subwarp == 16 && !o.kernel &&
              o.format == SPMM_FORMAT_AUTO);
        CHECK_INT(parse("--exchange-precision f32 --transport mpi"), SPMM_OK);
        CHECK(o.exchange_precision == SPMM_F32 && sp_options_round(&o));
        CHECK_INT(parse("--exchange-precision f32 -p f32 --reproducible exact"), SPMM_OK);
        CHECK(!sp_options_round(&o));
        CHECK_INT(parse("-x some/file.mtx"), SPMM_OK);
        CHECK_TEXT(o.x_file, "some/file.mtx");
    }
}

static void test_bounds(void)
{
    TEST("a wrong value is refused with the option's name and what it takes") {
        refused("-k 0", "whole number from 1");
        refused("-k", "expected LIST");
        refused("-k 8x", "columns");
        refused("--kernel nothing", "--list-kernels");
        refused("-g 4", "expected PxQ");
        refused("-g 4x0", "expected PxQ");
        refused("-g 2x2x2", "expected PxQ");
        refused("--partition metis", "nnz, rows");
        refused("-p f16", "f64, f32");
        refused("--exchange-precision f16", "f64, f32");
        refused("--exchange-precision f32 --reproducible exact", "give only one of them");
        refused("--exchange-precision f32 --transport shared", "--transport shared: ranks read");
        refused("-x uniform:-1", "whole number");
        refused("-t 0", "threads");
        refused("-r 0", "repeat");
        refused("--warmup -1", "warmup");
        refused("--verify no", "full, sample, none");
        refused("--ell-limit 0", "above 0");
        refused("--ell-limit nan", "above 0");
        refused("-r 99999999999999999999", "repeat");
        refused("--block-size 33", "multiple of 32");
        refused("--block-size -32", "block-size");
        refused("--subwarp 3", "1, 2, 4");
    }
    TEST("a count keeps to its bounds, of which the message tells") {
        CHECK_INT(parse("--column-blocks 1 --warmup 0 -r 1000000000"), SPMM_OK);
        CHECK(o.column_blocks == 1 && o.warmup == 0 && o.repeat == 1000000000);
        refused("--column-blocks 0", "--column-blocks 0: expected a whole number from 1 to 1000000000");
        refused("-r 1000000001", "--repeat 1000000001: expected a whole number from 1 to 1000000000");
        refused("--warmup 1.5", "--warmup 1.5: expected a whole number from 0 to 1000000000");
    }
    TEST("a list has at most 64 numbers") {
        char list[256] = "-k 1";
        for (int i = 1; i < 64; i++) strcat(list, ",2");
        CHECK_INT(parse(list), SPMM_OK);
        CHECK_INT(o.columns.count, 64);
        refused(strcat(list, ",3"), "--columns: found too many numbers, expected at most 64");
    }
}

static void test_names(void)
{
    TEST("unknown options and too many matrices are refused by name") {
        refused("--colums 3", "--colums");
        refused("-z", "-z");
        refused("a.mtx b.mtx", "more than one matrix: a.mtx and b.mtx");
    }
    TEST("a word that is not known is refused with those that are, a kernel with ours of its name") {
        refused("--zzz", "unknown option --zzz: --help-all lists all options");
        refused("-d gpu", "auto, cpu, cuda");
        refused("-f coo", "auto, csr, ell, ell-nopad");
        refused("--kernel cpu_crs", "no such kernel: --list-kernels names the kernels");
        CHECK(!strstr(spmm_error_message(), "did you mean"));
        refused("--kernel CPU-ELL", "did you mean cpu_ell?");
    }
    TEST("names may be cut short where that is not ambiguous") {
        CHECK_INT(parse("--columns 3 --thr=2"), SPMM_OK);
        CHECK(o.columns.k[0] == 3 && o.threads == 2);
        refused("--col 3", "--col is ambiguous: expected --columns or --column-blocks");
        refused("--t 3", "--t is ambiguous: expected --tune, --transport, --threads or --timeout");
        refused("--list", "ambiguous: expected --list-kernels or --list-devices");
    }
    TEST("a long option with one dash is not taken for letters") {
        refused("-format csr", "-format: a long option has two dashes; did you mean --format?");
        refused("-threads=4", "did you mean --threads?");
        CHECK_INT(parse("-k8 -qt2 -d cpu"), SPMM_OK);
        CHECK(o.columns.k[0] == 8 && o.threads == 2 && o.verbosity == -1);
    }
}

static void test_arguments(void)
{
    TEST("an argument too many and one too few are told apart from an unknown option") {
        refused("--help=3", "--help takes no argument, found --help=3");
        refused("--threads", "--threads: expected N after it");
        refused("-t", "-t: expected N after it");
    }
    TEST("a value is shown whole, and in quotation marks where it would not be seen") {
        refused("-k 1,,8", "--columns 1,,8: expected");
        refused("-k 1,8,", "--columns 1,8,: expected");
        refused(
            "-k 1,x,8",
            "--columns 1,x,8: expected a whole number from 1 to 16777216, or several separated by commas, not x");
        refused("-k 1-8",
                "--columns 1-8: expected a whole number from 1 to 16777216, or several separated by commas");
        CHECK_ERROR(parse_word("-k", ""), SPMM_ERR_USAGE, "--columns \"\": expected");
        CHECK_ERROR(parse_word("-t", ""), SPMM_ERR_USAGE, "--threads \"\": expected");
        CHECK_ERROR(parse_word("-f", "csr ell\n"), SPMM_ERR_USAGE, "--format \"csr ell\\x0A\": expected");
        CHECK_ERROR(parse_word("--json", ""), SPMM_ERR_USAGE, "--json \"\": expected the name of a file");
    }
}

static void test_nodes(void)
{
    TEST("--ranks-per-node has an effect only with --dry-run") {
        CHECK_INT(parse("--dry-run --ranks-per-node 4"), SPMM_OK);
        CHECK_INT(o.ranks_per_node, 4);
        refused("--ranks-per-node 4", "--ranks-per-node has an effect only with --dry-run");
    }
}

static void test_overridden(void)
{
    TEST("of an option given twice the last counts, of actions the greatest: help wins") {
        CHECK_INT(parse("-q -v --json a --json b --cache c.npz -t 2 -t 4"), SPMM_OK);
        CHECK(o.verbosity == 1 && o.threads == 4 && o.action == SP_ACTION_MULTIPLY && !o.csv);
        CHECK_TEXT(o.json, "b");
        CHECK_TEXT(o.cache, "c.npz");
        refused("--cache c", "--cache c: expected a name that ends in .mtx");
        refused("--cache c.spmm", "--cache c.spmm: expected a name that ends in .mtx");
        for (int last = 0; last < 2; last++) {
            CHECK_INT(parse(last ? "--help --list-kernels" : "--list-kernels --help"), SPMM_OK);
            CHECK_INT(o.action, SP_ACTION_HELP);
        }
        CHECK_INT(parse("-v -q --probe --no-overlap --help --dry-run --version"), SPMM_OK);
        CHECK(o.verbosity == -1 && o.probe == 1 && o.no_overlap == 1 && o.action == SP_ACTION_HELP);
    }
}

static void test_together(void)
{
    TEST("column blocks that do not fit one of the K are refused, but where K is a file's") {
        refused("-k 64 --column-blocks 3", "--column-blocks 3 of 64 columns: expected a divisor up to 16");
        refused("-k 64,1 --column-blocks 2", "--column-blocks 2 of 1 columns");
        CHECK_INT(parse("-k 64,8 --column-blocks 2"), SPMM_OK);
        CHECK_INT(parse("-x x.mtx --column-blocks 3"), SPMM_OK);
    }
    TEST("what does not go together is refused") {
        refused("--kernel cpu_csr -d cuda", "cpu");
        refused("--kernel cpu_csr -f ell", "csr");
        refused("-o y -k 1,2", "one --columns");
        refused("-o y --kernel all", "one --kernel");
        refused("--autotune --kernel cpu_csr", "omit --kernel cpu_csr");
        refused("--kernel all --autotune", "omit --kernel all");
        refused("--io parallel lap2d5:9", "--io parallel cannot be combined with a generator");
        refused("--io parallel --cache c.npz a.mtx", "cannot be combined with --cache");
        refused("--io parallel --scatter two-stage a.mtx", "cannot be combined with --scatter");
        refused("--io parallel --read-as edges a.txt", "--read-as edges --convert FILE.npz");
        refused("--read-as edges", "--read-as is for files");
        refused("--read-as edges lap2d5:9", "lap2d5:9 is a generator");
        refused("--read-as mtx a.txt", "edges, edges:0, edges:1");
        refused("--scatter-format ell lap3d7:4", "add --format ell");
        refused("--io parallel --partition graph a.mtx", "cannot be combined with --partition graph");
    }
    TEST("a bad generator is refused with its form") {
        refused("lap3d7:", "lap3d7:N");
        refused("lap3d7:0", "at least 1");
        refused("band:10,3", "band:N,DEG,WIDTH");
        refused("uniform:10,11", "more than");
        refused("band:10,5,4", "WIDTH");
        CHECK_INT(parse("lap3d7:2000"), SPMM_ERR_LIMIT);
    }
}

static void test_help(void)
{
    TEST("the help names every option and generator") {
        char *text = NULL;
        size_t n = 0;
        FILE *f = open_memstream(&text, &n);
        sp_options_help(1, f);
        fclose(f);
        CHECK_TEXT(text, "-k, --columns LIST");
        CHECK_TEXT(text, "--list-kernels");
        CHECK_TEXT(text, "longrows:N,DEG,COUNT,LENGTH");
        CHECK_TEXT(text, "Exit codes");
        free(text);
    }
}

int main(void)
{
    test_taken();
    test_bounds();
    test_names();
    test_arguments();
    test_nodes();
    test_overridden();
    test_together();
    test_help();
    return test_end();
}
