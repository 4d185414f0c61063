/** Reads and writes machine files by one table of their keys. */
#include "cli/machine.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/enum_words.h"
#include "base/output_file.h"
#include "base/words.h"

enum { MOST_BYTES = 64 << 10, MOST_NODES = 1 << 24, MOST_OF_NODE = 4096 };

/** How a value is written in the file and stored in an sp_machine. */
typedef enum value_kind { TEXT, DEVICE, COUNT, REAL } value_kind;

/** When a file must have a key: always, where a node has several ranks, where there are several nodes, or never. */
typedef enum need { ALWAYS, WITH_RANKS, WITH_NODES, NEVER } need;

typedef struct key_row {
    const char *name;
    size_t field;       /* byte offset in sp_machine */
    double least, most; /* of a number */
    value_kind kind;
    need need;
} key_row;

#define FIELD(member) offsetof(sp_machine, member)

/** All keys, in the order in which they are written. */
static const key_row keys[] = {
    {"name", FIELD(name), 0, 0, TEXT, ALWAYS},
    {"processor", FIELD(processor), 0, 0, TEXT, NEVER},
    {"device", FIELD(device), 0, 0, DEVICE, ALWAYS},
    {"nodes", FIELD(nodes), 1, MOST_NODES, COUNT, ALWAYS},
    {"ranks_per_node", FIELD(ranks_per_node), 1, MOST_OF_NODE, COUNT, ALWAYS},
    {"threads", FIELD(threads), 1, MOST_OF_NODE, COUNT, NEVER},
    {"copy_rate", FIELD(copy_rate), 1, 1e18, REAL, ALWAYS},
    {"node_copy_rate", FIELD(node_copy_rate), 1, 1e18, REAL, ALWAYS},
    {"inside_rate", FIELD(inside_rate), 1, 1e18, REAL, WITH_RANKS},
    {"inside_latency", FIELD(inside_latency), 1e-12, 1e3, REAL, WITH_RANKS},
    {"between_rate", FIELD(between_rate), 1, 1e18, REAL, WITH_NODES},
    {"between_latency", FIELD(between_latency), 1e-12, 1e3, REAL, WITH_NODES},
    {"efficiency", FIELD(efficiency), 1e-4, 1e3, REAL, NEVER},
    {"overlap", FIELD(overlap), 0, 1, REAL, NEVER},
};

enum { KEYS = sizeof keys / sizeof *keys };

/** State of reading a file. */
typedef struct machine_reader {
    const char *path;
    int line;        /* number of the current line, from 1 */
    int given[KEYS]; /* number of the line that has the key; 0: none so far */
    sp_machine *machine;
} machine_reader;

static void *field_of(const sp_machine *m, const key_row *key) { return (char *)m + key->field; }

/* ---- reading ---- */

static spmm_status wrong_value(const machine_reader *r, const key_row *key, const char *value)
{
    char expected[160];
    if (key->kind == TEXT)
        snprintf(expected, sizeof expected, "a text of at most %d characters",
                 (int)sizeof r->machine->name - 1);
    else if (key->kind == DEVICE)
        snprintf(expected, sizeof expected, "cpu or cuda");
    else
        snprintf(expected, sizeof expected, "a %snumber from %g to %.9g", key->kind == COUNT ? "whole " : "",
                 key->least, key->most);
    return sp_fail(SPMM_ERR_SYNTAX, "%s:%d: %s = %s: expected %s", r->path, r->line, key->name, SHOWN(value),
                   expected);
}

static spmm_status set_number(const machine_reader *r, const key_row *key, const char *value)
{
    char *end;
    /* strtod() takes more than decimal numbers */
    const int decimal = value[strspn(value, "+-.0123456789eE")] == '\0';
    const double number = strtod(value, &end);
    if (!decimal || end == value || *end || !(number >= key->least && number <= key->most))
        return wrong_value(r, key, value);
    if (key->kind == REAL) {
        *(double *)field_of(r->machine, key) = number;
        return SPMM_OK;
    }
    const int whole = (int)number;
    if ((double)whole != number) return wrong_value(r, key, value);
    *(int *)field_of(r->machine, key) = whole;
    return SPMM_OK;
}

static spmm_status set_value(const machine_reader *r, const key_row *key, const char *value)
{
    if (!*value) return wrong_value(r, key, value);
    if (key->kind == TEXT) {
        if (strlen(value) >= sizeof r->machine->name) return wrong_value(r, key, value);
        memcpy(field_of(r->machine, key), value, strlen(value) + 1);
    } else if (key->kind == DEVICE) {
        int device = SPMM_CPU;
        while (device <= SPMM_CUDA && strcmp(value, sp_device_word((spmm_device)device)) != 0) device++;
        if (device > SPMM_CUDA) return wrong_value(r, key, value);
        *(int *)field_of(r->machine, key) = device;
    } else {
        return set_number(r, key, value);
    }
    return SPMM_OK;
}

/** Cuts blanks off both ends of a text, in place. Returns its new beginning. */
static char *trimmed(char *text)
{
    size_t n = strlen(text);
    while (n > 0 && isspace((unsigned char)text[n - 1])) text[--n] = '\0';
    return text + strspn(text, " \t\r");
}

static spmm_status read_line(machine_reader *r, char *line)
{
    line[strcspn(line, "#")] = '\0';
    char *const text = trimmed(line), *const equals = strchr(text, '=');
    sp_guess guess = {.typed = text};
    if (!*text) return SPMM_OK;
    if (!equals)
        return sp_fail(SPMM_ERR_SYNTAX, "%s:%d: found %s, expected KEY = VALUE", r->path, r->line,
                       SHOWN(text));
    *equals = '\0';
    guess.typed = trimmed(text);
    for (int i = 0; i < KEYS; i++) {
        sp_guess_offer(&guess, keys[i].name);
        if (strcmp(guess.typed, keys[i].name) != 0) continue;
        if (r->given[i])
            return sp_fail(SPMM_ERR_SYNTAX, "%s:%d: a second %s: line %d has one", r->path, r->line,
                           keys[i].name, r->given[i]);
        r->given[i] = r->line;
        return set_value(r, &keys[i], trimmed(equals + 1));
    }
    return sp_fail(SPMM_ERR_SYNTAX, "%s:%d: unknown key %s%s", r->path, r->line, SHOWN(guess.typed),
                   MEANT(&guess, "", ""));
}

static int is_needed(const sp_machine *m, const key_row *key)
{
    return key->need == ALWAYS || (key->need == WITH_RANKS && m->ranks_per_node > 1) ||
           (key->need == WITH_NODES && m->nodes > 1);
}

static spmm_status check_complete(const machine_reader *r)
{
    static const char *const why[] = {[ALWAYS] = "",
                                      [WITH_RANKS] = ", as a node has several ranks",
                                      [WITH_NODES] = ", as there are several nodes"};
    const sp_machine *const m = r->machine;
    for (int i = 0; i < KEYS; i++)
        if (!r->given[i] && is_needed(m, &keys[i]))
            return sp_fail(SPMM_ERR_SYNTAX, "%s: there is no line %s =%s", r->path, keys[i].name,
                           why[keys[i].need]);
    if (m->node_copy_rate < m->copy_rate)
        return sp_fail(SPMM_ERR_SYNTAX, "%s: node_copy_rate is %g, below the copy_rate of one rank, %g",
                       r->path, m->node_copy_rate, m->copy_rate);
    return SPMM_OK;
}

static spmm_status read_lines(machine_reader *r, char *text)
{
    while (text) {
        char *const end = strchr(text, '\n');
        if (end) *end = '\0';
        r->line++;
        TRY(read_line(r, text));
        text = end ? end + 1 : NULL;
    }
    return check_complete(r);
}

/** Reads a whole file. \param [out] text  [MOST_BYTES + 1] zero-terminated */
static spmm_status read_text(const char *path, char *text)
{
    errno = 0;
    FILE *const f = fopen(path, "rb");
    if (!f) return sp_fail(SPMM_ERR_OPEN, "%s: %s", path, strerror(errno));
    const size_t n = fread(text, 1, MOST_BYTES + 1, f);
    const int failed = ferror(f), reason = errno;
    fclose(f);
    if (failed) return sp_fail(SPMM_ERR_OPEN, "%s: %s", path, strerror(reason));
    if (n > MOST_BYTES)
        return sp_fail(SPMM_ERR_SYNTAX, "%s: more than %d bytes: expected a machine file", path, MOST_BYTES);
    text[n] = '\0';
    if (strlen(text) < n)
        return sp_fail(SPMM_ERR_SYNTAX, "%s: found a zero byte, expected the text of a machine file", path);
    return SPMM_OK;
}

spmm_status sp_machine_read(const char *path, sp_machine *machine)
{
    static char text[MOST_BYTES + 1];
    machine_reader r = {.path = path, .machine = machine};
    *machine = (sp_machine){.threads = 1};
    TRY(read_text(path, text));
    TRY(read_lines(&r, text));
    return SPMM_OK;
}

/* ---- writing ---- */

static void write_key(FILE *out, const sp_machine *m, const key_row *key)
{
    const void *const field = field_of(m, key);
    switch (key->kind) {
    case TEXT:
        if (*(const char *)field) fprintf(out, "%s = %s\n", key->name, (const char *)field);
        break;
    case DEVICE:
        fprintf(out, "%s = %s\n", key->name, sp_device_word((spmm_device) * (const int *)field));
        break;
    case COUNT: fprintf(out, "%s = %d\n", key->name, *(const int *)field); break;
    case REAL:
        if (*(const double *)field > 0) fprintf(out, "%s = %.4g\n", key->name, *(const double *)field);
        break;
    }
}

spmm_status sp_machine_write(const char *path, const sp_machine *machine, const char *comment)
{
    sp_output_file out;
    TRY(sp_output_file_open(path, NULL, &out));
    fputs(comment, out.file);
    for (int i = 0; i < KEYS; i++) write_key(out.file, machine, &keys[i]);
    return sp_output_file_close(&out, SPMM_OK);
}
