/** Parses a command line according to a table of options, and prints --help from the table. */
#include "cli/option_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"

enum { MOST_COUNT = 1000000000, LEAST_LONG = 2 /* minimum length of a long option's name */ };

/* ---- values ---- */

spmm_status sp_option_word(const char *option, const char *text, const char *const *words, int *index)
{
    char list[256] = "";
    for (*index = 0; words[*index]; ++*index)
        if (strcmp(text, words[*index]) == 0) return SPMM_OK;
    for (int i = 0; words[i]; i++) {
        const size_t n = strlen(list);
        snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "", words[i]);
    }
    return sp_fail(SPMM_ERR_USAGE, "--%s %s: expected one of %s", option, SHOWN(text), list);
}

/** Parses text as an integer. Returns 1 if the whole text is an integer from least to most. */
static int read_whole(const char *text, int64_t least, int64_t most, int64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return end != text && !*end && !errno && *value >= least && *value <= most;
}

spmm_status sp_option_number(const char *option, const char *text, int64_t least, int64_t most,
                             int64_t *value)
{
    if (read_whole(text, least, most, value)) return SPMM_OK;
    return sp_fail(SPMM_ERR_USAGE, "--%s %s: expected a whole number from %lld to %lld", option, SHOWN(text),
                   (long long)least, (long long)most);
}

spmm_status sp_option_item(const char *option, const char *text, const char **rest, char *item, size_t room)
{
    const size_t n = strcspn(*rest, ",");
    if (n == 0)
        return sp_fail(SPMM_ERR_USAGE, "--%s %s: expected one value, or several separated by commas", option,
                       SHOWN(text));
    if (n >= room)
        return sp_fail(SPMM_ERR_USAGE, "--%s %s: found a value of more than %zu characters", option,
                       SHOWN(text), room - 1);
    snprintf(item, room, "%.*s", (int)n, *rest);
    *rest = (*rest)[n] ? *rest + n + 1 : NULL;
    return SPMM_OK;
}

spmm_status sp_option_numbers(const char *option, const char *text, int64_t most, int64_t *list, int room,
                              int *count)
{
    char item[32];
    const char *rest = text;
    for (*count = 0; rest;) {
        if (*count == room)
            return sp_fail(SPMM_ERR_USAGE, "--%s: found too many numbers, expected at most %d", option, room);
        TRY(sp_option_item(option, text, &rest, item, sizeof item));
        if (!read_whole(item, 1, most, &list[(*count)++]))
            return sp_fail(
                SPMM_ERR_USAGE,
                "--%s %s: expected a whole number from 1 to %lld, or several separated by commas%s%s", option,
                SHOWN(text), (long long)most, strcmp(item, text) != 0 ? ", not " : "",
                strcmp(item, text) != 0 ? SHOWN(item) : "");
    }
    return SPMM_OK;
}

void sp_option_help(const sp_option_table *table, int all, FILE *out)
{
    fprintf(out, all ? "Options:\n" : "Options (--help-all lists them all):\n");
    for (const sp_option_row *row = table->rows; row < table->rows + table->count; row++) {
        char form[64], letter[8] = "    ";
        if (!row->help || (row->rare && !all)) continue;
        if (row->letter) snprintf(letter, sizeof letter, "-%c, ", row->letter);
        snprintf(form, sizeof form, "%s--%s%s%s", letter, row->name, row->argument ? " " : "",
                 row->argument ? row->argument : "");
        fprintf(out, "  %-30s %s\n", form, row->help);
    }
    fprintf(out, "\nExit codes: 0 done and verified, 1 verification failed, 2 usage, 3 input file,\n"
                 "4 resources (memory, device, MPI, output).\n");
}

/* ---- the command line ---- */

/** State of parsing a command line. */
typedef struct reader {
    const sp_option_table *table;
    void *options;
    int argc, at; /* argv[at] is the next word to read */
    char **argv;
    sp_command_line *line;
} reader;

static spmm_status set(const sp_option_row *row, void *options, const char *text)
{
    void *const at = (char *)options + row->field;
    int64_t wide;
    switch (row->kind) {
    case SP_OPTION_CALL: return row->call(options, text);
    case SP_OPTION_WORD:
        TRY(sp_option_word(row->name, text, row->words, at));
        *(int *)at += row->value;
        break;
    case SP_OPTION_TEXT:
        if (!*text) return sp_fail(SPMM_ERR_USAGE, "--%s \"\": expected the name of a file", row->name);
        *(const char **)at = text;
        break;
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

static spmm_status apply(reader *r, int index, const char *text)
{
    const sp_option_row *const row = &r->table->rows[index];
    r->line->given[index] = text ? text : row->name;
    return set(row, r->options, text);
}

/** Sets *text to the argument of an option.
 *  \param [in] word  the option as typed, for the error message
 *  \param [in] same  the argument, if it is in the same word as the option; NULL: it is the next word */
static spmm_status argument_of(reader *r, int index, const char *word, const char *same, const char **text)
{
    *text = same;
    if (same) return SPMM_OK;
    if (r->at >= r->argc)
        return sp_fail(SPMM_ERR_USAGE, "%s: expected %s after it", word, r->table->rows[index].argument);
    *text = r->argv[r->at++];
    return SPMM_OK;
}

/** Writes to `list` the `count` options whose names begin with the first n letters of text, e.g.
 *  "--threads, --tune or --transport". */
static void list_beginning(const sp_option_table *table, const char *text, size_t n, int count, char *list,
                           size_t room)
{
    size_t used = 0;
    for (int i = 0; i < table->count && used < room; i++) {
        if (strncmp(table->rows[i].name, text, n) != 0) continue;
        used += (size_t)snprintf(list + used, room - used, "--%s%s", table->rows[i].name,
                                 --count > 1  ? ", "
                                 : count == 1 ? " or "
                                              : "");
    }
}

/** Finds an option by the first n letters of text, which are its name or an unambiguous abbreviation.
 *  \param [out] count  number of options whose names begin with these letters; undefined for a full name
 *  \return the index of the option; -1: no name begins with these letters; -2: several names do */
static int find_long(const sp_option_table *table, const char *text, size_t n, int *count)
{
    int found = -1;
    *count = 0;
    for (int i = 0; i < table->count; i++) {
        if (n == 0 || strncmp(table->rows[i].name, text, n) != 0) continue;
        if (!table->rows[i].name[n]) return i;
        found = i;
        ++*count;
    }
    return *count > 1 ? -2 : found;
}

/** Processes a word --NAME or --NAME=ARGUMENT, where NAME may be abbreviated. */
static spmm_status read_long(reader *r, const char *word)
{
    const char *const text = word + 2, *argument = NULL;
    const size_t n = strcspn(text, "=");
    char name[64], list[256];
    int count;
    const int index = find_long(r->table, text, n, &count);
    snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), text);
    if (index == -2) {
        list_beginning(r->table, text, n, count, list, sizeof list);
        return sp_fail(SPMM_ERR_USAGE, "--%s is ambiguous: expected %s", name, list);
    }
    if (index < 0)
        return sp_fail(SPMM_ERR_USAGE, "unknown option %s: --help-all lists all options", SHOWN(word));
    if (!r->table->rows[index].argument && text[n])
        return sp_fail(SPMM_ERR_USAGE, "--%s takes no argument, found %s", r->table->rows[index].name,
                       SHOWN(word));
    if (r->table->rows[index].argument)
        TRY(argument_of(r, index, word, text[n] ? text + n + 1 : NULL, &argument));
    return apply(r, index, argument);
}

static int find_letter(const sp_option_table *table, char letter)
{
    for (int i = 0; i < table->count; i++)
        if (table->rows[i].letter == letter) return i;
    return -1;
}

/** Processes the short options in a word such as -qk8. The argument of the first option that requires one is
 *  the rest of the word or, if nothing is left, the next word. */
static spmm_status read_cluster(reader *r, const char *word)
{
    for (const char *p = word + 1; *p; p++) {
        const int index = find_letter(r->table, *p);
        const char *argument = NULL;
        if (index < 0 || *p == '-')
            return sp_fail(SPMM_ERR_USAGE, "unknown option -%s: --help-all lists all options",
                           SHOWN(((char[]){*p, '\0'})));
        if (!r->table->rows[index].argument) {
            TRY(apply(r, index, NULL));
            continue;
        }
        TRY(argument_of(r, index, word, p[1] ? p + 1 : NULL, &argument));
        return apply(r, index, argument);
    }
    return SPMM_OK;
}

/** Processes a word that begins with a single dash. Rejects long options with a single dash, such as
 *  -threads: their letters could pass for short options. */
static spmm_status read_letters(reader *r, const char *word)
{
    char name[64];
    int count;
    const size_t n = strcspn(word + 1, "=");
    if (n >= LEAST_LONG && n < sizeof name) {
        snprintf(name, sizeof name, "%.*s", (int)n, word + 1);
        const int index = find_long(r->table, name, n, &count);
        if (index >= 0 && !r->table->rows[index].name[n])
            return sp_fail(SPMM_ERR_USAGE, "-%s: a long option has two dashes; did you mean --%s?", name,
                           name);
    }
    return read_cluster(r, word);
}

spmm_status sp_option_read(const sp_option_table *table, int argc, char **argv, const char *operand_name,
                           void *options, sp_command_line *line)
{
    reader r = {.table = table, .options = options, .argc = argc, .at = 1, .argv = argv, .line = line};
    int count = 0, only_operands = 0;
    *line = (sp_command_line){.table = table, .options = options, .operand_name = operand_name};
    if (table->count > SP_OPTION_ROWS)
        return sp_fail(SPMM_ERR_INTERNAL, "a program has %d options, expected at most SP_OPTION_ROWS = %d",
                       table->count, SP_OPTION_ROWS);
    while (r.at < argc) {
        const char *const word = argv[r.at++];
        if (only_operands || word[0] != '-' || !word[1]) {
            if (table->operand)
                TRY(table->operand(options, word));
            else if (count++ == 0)
                line->operand = word;
            else
                return sp_fail(SPMM_ERR_USAGE, "more than one %s: %s and %s", operand_name,
                               SHOWN(line->operand), SHOWN(word));
        } else if (strcmp(word, "--") == 0) {
            only_operands = 1;
        } else {
            TRY(word[1] == '-' ? read_long(&r, word) : read_letters(&r, word));
        }
    }
    return SPMM_OK;
}

/* ---- options that the mode does not use ---- */

static unsigned modes_of(const sp_option_row *row) { return row->modes ? row->modes : 1u << row->mode; }

/** Writes to `list` the options that select one of these modes, e.g. "--accuracy and --sum". */
static void list_modes(const sp_option_table *table, unsigned modes, char *list, size_t room)
{
    size_t used = 0;
    for (int i = 0; i < table->count; i++)
        if (table->rows[i].mode && modes >> table->rows[i].mode & 1)
            sp_text_add(list, room, &used, "%s--%s", used ? " and " : "", table->rows[i].name);
}

spmm_status sp_option_check_mode(const sp_command_line *line, int mode)
{
    const sp_option_table *const table = line->table;
    char list[256] = "";
    list_modes(table, 1u << mode, list, sizeof list);
    for (int i = 0; i < table->count; i++) {
        const sp_option_row *const row = &table->rows[i];
        if (!line->given[i] || modes_of(row) >> mode & 1) continue;
        if (mode) return sp_fail(SPMM_ERR_USAGE, "%s does not use --%s: remove one of them", list, row->name);
        list_modes(table, modes_of(row), list, sizeof list);
        return sp_fail(SPMM_ERR_USAGE, "--%s has an effect only with %s: remove it", row->name, list);
    }
    if (line->operand && !(table->operand_modes >> mode & 1))
        return sp_fail(SPMM_ERR_USAGE, "%s does not use a %s: remove %s", list, line->operand_name,
                       SHOWN(line->operand));
    return SPMM_OK;
}

int sp_option_names_stdout(const sp_command_line *line)
{
    for (int i = 0; i < line->table->count; i++)
        if (line->table->rows[i].kind == SP_OPTION_TEXT && line->given[i] && strcmp(line->given[i], "-") == 0)
            return 1;
    return 0;
}

const char *sp_option_value(const sp_command_line *line, int row, char *text, size_t n)
{
    const sp_option_row *const r = &line->table->rows[row];
    const int *const at = (const int *)((const char *)line->options + r->field);
    switch (r->kind) {
    case SP_OPTION_CALL:
    case SP_OPTION_TEXT: return line->given[row];
    case SP_OPTION_WORD: return r->words[*at - r->value];
    case SP_OPTION_COUNT: snprintf(text, n, "%d", *at); return text;
    case SP_OPTION_FLAG:
    case SP_OPTION_RAISE: return *at == r->value ? "" : NULL;
    }
    return NULL;
}
