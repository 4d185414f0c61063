/* Command lines parsed by a table with an option of each kind; test_options.c tests the table of spmm_mpi. */
#include "cli/option_table.h"
#include "test.h"

typedef struct made {
    int word, flag, level, count, calls;
    const char *file;
} made;
#define OPTIONS made

static spmm_status call(void *options, const char *text)
{
    made *const o = options;
    if (text && strcmp(text, "bad") == 0) return sp_fail(SPMM_ERR_LIMIT, "--call bad: no");
    o->calls++;
    return SPMM_OK;
}

static const char *const words[] = {"red", "green", NULL};
static const sp_option_row rows[] = {
    {'w', "word", "WORD", "a word", WORDS(words, word)},
    {'f', "file", "FILE", "a file", TEXT(file)},
    {0, "on", NULL, "a flag", FLAG(flag, 1)},
    {0, "off", NULL, "a flag", FLAG(flag, 0)},
    {'v', "much", NULL, "a level", RAISE(level, 2)},
    {0, "little", NULL, "a level", RAISE(level, 1)},
    {'n', "count", "N", "a count", COUNT(count, 3)},
    {'c', "call", "TEXT", "a call", CALL(call)},
};
static const sp_option_table table = {.rows = rows, .count = sizeof rows / sizeof *rows};

static made o;
static sp_command_line line_read;

/** Reads a command line of words that single blanks separate. */
static spmm_status read_line(const char *line)
{
    static char text[200];
    char *argv[16] = {"program"};
    int argc = 1;
    snprintf(text, sizeof text, "%s", line);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) argv[argc++] = word;
    o = (made){.word = -1, .flag = -1};
    return sp_option_read(&table, argc, argv, "thing", &o, &line_read);
}

static void test_lines(void)
{
    TEST("each kind of option does to its field what it should, and the operand is found among them") {
        CHECK_INT(read_line("-w green x --fi=y --on --little -vn3 --count 5 -c a --call=b"), SPMM_OK);
        CHECK(o.word == 1 && o.flag == 1 && o.level == 2 && o.count == 5 && o.calls == 2);
        CHECK(strcmp(o.file, "y") == 0 && strcmp(line_read.operand, "x") == 0);
        CHECK_INT(read_line("--off -- --on"), SPMM_OK);
        CHECK(o.flag == 0 && strcmp(line_read.operand, "--on") == 0);
        CHECK_INT(read_line("-"), SPMM_OK);
        CHECK(strcmp(line_read.operand, "-") == 0 && o.word == -1);
    }
    TEST("what is wrong is refused by name, a failed call with its own status") {
        static const char *const wrong[][2] = {
            {"-w blue", "--word blue: expected one of red, green"},
            {"-n 2", "--count 2: expected a whole number from 3 to 1000000000"},
            {"--o", "--o is ambiguous: expected --on or --off"},
            {"-f", "-f: expected FILE after it"},
            {"--on=1", "--on takes no argument, found --on=1"},
            {"--wrod red", "unknown option --wrod: --help-all lists all options"},
            {"-W", "unknown option -W: --help-all lists all options"},
            {"a b", "more than one thing: a and b"}};
        for (int i = 0; i < 8; i++) {
            CHECK_INT(read_line(wrong[i][0]), SPMM_ERR_USAGE);
            CHECK(strcmp(spmm_error_message(), wrong[i][1]) == 0);
        }
        CHECK_INT(read_line("--call bad"), SPMM_ERR_LIMIT);
        const sp_option_table large = {.rows = rows, .count = SP_OPTION_ROWS + 1};
        CHECK_INT(sp_option_read(&large, 0, NULL, "thing", &o, &line_read), SPMM_ERR_INTERNAL);
    }
}

static void test_values(void)
{
    int64_t value, list[3];
    int index, count;
    TEST("words, numbers and lists of them are read whole") {
        CHECK(sp_option_word("o", "red", words, &index) == SPMM_OK && index == 0);
        CHECK(sp_option_word("o", "", words, &index) == SPMM_ERR_USAGE && index == 2);
        CHECK(sp_option_number("o", "-7", -7, 7, &value) == SPMM_OK && value == -7);
        CHECK_INT(sp_option_number("o", "8", -7, 7, &value), SPMM_ERR_USAGE);
        CHECK_INT(sp_option_number("o", "7 ", -7, 7, &value), SPMM_ERR_USAGE);
        CHECK(sp_option_numbers("o", "1,5,2", 5, list, 3, &count) == SPMM_OK && count == 3 && list[1] == 5);
        for (int i = 0; i < 5; i++)
            CHECK_INT(sp_option_numbers("o", ((const char *[]){"", "1,,2", "0", "6", "1,2,3,4"})[i], 5, list,
                                        3, &count),
                      SPMM_ERR_USAGE);
    }
    TEST("the values of a list come one by one") {
        const char *const text = "ab,c", *rest = text;
        char item[3];
        CHECK(sp_option_item("o", text, &rest, item, 3) == SPMM_OK && strcmp(item, "ab") == 0);
        CHECK(sp_option_item("o", text, &rest, item, 3) == SPMM_OK && strcmp(item, "c") == 0 && !rest);
        rest = text;
        CHECK_INT(sp_option_item("o", text, &rest, item, 2), SPMM_ERR_USAGE);
    }
    TEST("the help has a line for each option") {
        char *text;
        size_t bytes;
        FILE *const f = open_memstream(&text, &bytes);
        sp_option_help(&(sp_option_table){.rows = rows, .count = 3}, 1, f);
        fclose(f);
        static const char options[] =
            "Options:\n  -w, --word WORD                a word\n  -f, --file FILE                a file\n"
            "      --on                       a flag\n\nExit codes: ";
        CHECK(strncmp(text, options, sizeof options - 1) == 0);
        free(text);
    }
}

int main(void)
{
    test_lines();
    test_values();
    return test_end();
}
