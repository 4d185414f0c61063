#include "option_table.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COUNT = 1000000000, FIRST_LONG = 256 };

spmm_status sp_option_word(const char *option, const char *text, const char *const *words, int *index)
{
    char list[256] = "";
    for (*index = 0; words[*index]; ++*index) {
        const size_t n = strlen(list);
        if (strcmp(text, words[*index]) == 0) return SPMM_OK;
        snprintf(list + n, sizeof list - n, "%s%s", *index ? ", " : "", words[*index]);
    }
    return sp_fail(SPMM_ERR_USAGE, "--%s %.100s: expected one of %s", option, text, list);
}

spmm_status sp_option_number(const char *option, const char *text, int64_t least, int64_t most,
                             int64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 10);
    if (end == text || *end || errno || *value < least || *value > most)
        return sp_fail(SPMM_ERR_USAGE, "--%s %.100s: expected a whole number from %lld to %lld", option, text,
                       (long long)least, (long long)most);
    return SPMM_OK;
}

spmm_status sp_option_numbers(const char *option, const char *text, int64_t most, int64_t *list, int room,
                              int *count)
{
    char item[32];
    for (*count = 0;; text++) {
        const size_t n = strcspn(text, ",");
        if (*count == room) return sp_fail(SPMM_ERR_USAGE, "--%s: more than %d numbers", option, room);
        snprintf(item, sizeof item, "%.*s", (int)n, text);
        TRY(sp_option_number(option, item, 1, most, &list[(*count)++]));
        text += n;
        if (!*text) return SPMM_OK;
    }
}

void sp_option_help(const sp_option_table *table, FILE *out)
{
    fprintf(out, "Options:\n");
    for (const sp_option_row *row = table->rows; row < table->rows + table->count; row++) {
        char form[64], letter[8] = "    ";
        if (row->letter) snprintf(letter, sizeof letter, "-%c, ", row->letter);
        snprintf(form, sizeof form, "%s--%s%s%s", letter, row->name, row->argument ? " " : "",
                 row->argument ? row->argument : "");
        fprintf(out, "  %-30s %s\n", form, row->help);
    }
}

static spmm_status set(const sp_option_row *row, void *options, const char *text)
{
    void *const at = (char *)options + row->field;
    int64_t wide;
    switch (row->kind) {
    case SP_OPTION_CALL: return row->call(options, text);
    case SP_OPTION_WORD: return sp_option_word(row->name, text, row->words, at);
    case SP_OPTION_TEXT: *(const char **)at = text; break;
    case SP_OPTION_FLAG: *(int *)at = row->value; break;
    case SP_OPTION_RAISE:
        if (*(int *)at < row->value) *(int *)at = row->value;
        break;
    case SP_OPTION_COUNT:
        TRY(sp_option_number(row->name, text, row->least, MOST_COUNT, &wide));
        *(int *)at = (int)wide;
        break;
    }
    return SPMM_OK;
}

/** The table as getopt_long wants it. Long-only options get codes from FIRST_LONG up. */
static void getopt_tables(const sp_option_table *table, char *letters, struct option *longs)
{
    *letters++ = ':'; /* a missing argument is told apart from an unknown option */
    for (int i = 0; i < table->count; i++) {
        const sp_option_row *row = &table->rows[i];
        longs[i] = (struct option){row->name, row->argument ? required_argument : no_argument, NULL,
                                   FIRST_LONG + i};
        if (!row->letter) continue;
        *letters++ = row->letter;
        if (row->argument) *letters++ = ':';
    }
    *letters = '\0';
    longs[table->count] = (struct option){NULL, 0, NULL, 0};
}

static const sp_option_row *find_row(const sp_option_table *table, int code)
{
    for (int i = 0; i < table->count; i++)
        if (code == FIRST_LONG + i || (table->rows[i].letter && code == table->rows[i].letter))
            return &table->rows[i];
    return NULL;
}

spmm_status sp_option_read(const sp_option_table *table, int argc, char **argv, const char *operand_name,
                           void *options, const char **operand)
{
    char letters[2 * SP_OPTION_ROWS + 2];
    struct option longs[SP_OPTION_ROWS + 1];
    if (table->count > SP_OPTION_ROWS)
        return sp_fail(SPMM_ERR_INTERNAL, "a table of %d options, over %d", table->count, SP_OPTION_ROWS);
    getopt_tables(table, letters, longs);
    opterr = 0; /* rank 0 prints the message, not getopt on every rank */
    optind = 0; /* start anew: the tests parse more than once */
    for (int code; (code = getopt_long(argc, argv, letters, longs, NULL)) != -1;) {
        const char *const seen = argv[optind > 0 ? optind - 1 : 0];
        if (code == ':') {
            const sp_option_row *row = find_row(table, optopt);
            return sp_fail(SPMM_ERR_USAGE, "%s: expected %s after it", seen,
                           row ? row->argument : "an argument");
        }
        const sp_option_row *row = code == '?' ? NULL : find_row(table, code);
        if (!row && optopt && optopt < FIRST_LONG)
            return sp_fail(SPMM_ERR_USAGE, "unknown option -%c; --help lists them", optopt);
        if (!row)
            return sp_fail(SPMM_ERR_USAGE,
                           "unknown option, or one that takes no argument: %.100s; --help lists them", seen);
        TRY(set(row, options, optarg));
    }
    if (argc - optind > 1)
        return sp_fail(SPMM_ERR_USAGE, "more than one %s: %.100s and %.100s", operand_name, argv[optind],
                       argv[optind + 1]);
    if (optind < argc) *operand = argv[optind];
    return SPMM_OK;
}
