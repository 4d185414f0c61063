/** Writes completions for bash, zsh and fish. */
#include "cli/completion.h"

#include <string.h>

enum { BASH, ZSH, FISH };
const char *const sp_completion_shells[] = {"bash", "zsh", "fish", NULL};

/** Returns word i of the arguments that the option accepts; NULL after the last. */
static const char *word(const sp_option_row *row, int i)
{
    if (row->names) return row->names(i);
    return row->words ? row->words[i] : NULL;
}

static int takes_file(const sp_option_row *row)
{
    return row->argument && (row->ranks == SP_RANKS_SAME_FILE || strstr(row->argument, "FILE"));
}

static void write_words(const sp_option_row *row, FILE *out)
{
    for (int i = 0; word(row, i); i++) fprintf(out, "%s%s", i > 0 ? " " : "", word(row, i));
}

/** Writes a text for a single-quoted string, with a backslash before each character in `special`. */
static void write_quoted(const char *text, const char *special, FILE *out)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", out);
        else
            fprintf(out, strchr(special, *text) ? "\\%c" : "%c", *text);
    }
}

/* ---- bash ---- */

/** Writes the branch of a `case` for the option before the cursor: it completes the words that the option
 *  accepts, or nothing if the option accepts neither words nor files. */
static void bash_branch(const sp_option_row *row, FILE *out)
{
    if (!row->argument || !row->help || (!word(row, 0) && takes_file(row))) return;
    fprintf(out, "    --%s", row->name);
    if (row->letter) fprintf(out, "|-%c", row->letter);
    fprintf(out, ") COMPREPLY=($(compgen -W '");
    write_words(row, out);
    fprintf(out, "' -- \"$cur\")); return ;;\n");
}

static void write_bash(const sp_option_table *table, const char *program, FILE *out)
{
    fprintf(out,
            "_%s() {\n    local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
            "    COMPREPLY=()\n    case $before in\n",
            program);
    for (int i = 0; i < table->count; i++) bash_branch(&table->rows[i], out);
    fprintf(out, "    esac\n    case $cur in\n    -*) COMPREPLY=($(compgen -W '");
    for (int i = 0; i < table->count; i++)
        if (table->rows[i].help) fprintf(out, "%s--%s", i > 0 ? " " : "", table->rows[i].name);
    fprintf(out,
            "' -- \"$cur\")) ;;\n    *) COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n    esac\n}\n"
            "complete -o filenames -F _%s %s\n",
            program, program);
}

/* ---- zsh ---- */

static void zsh_row(const sp_option_row *row, FILE *out)
{
    static const char special[] = "[]:\\";
    if (!row->help) return;
    if (row->letter)
        fprintf(out, " \\\n    '(-%c --%s)'{-%c,--%s}'[", row->letter, row->name, row->letter, row->name);
    else
        fprintf(out, " \\\n    '--%s[", row->name);
    write_quoted(row->help, special, out);
    fputc(']', out);
    if (row->argument) {
        fputc(':', out);
        write_quoted(row->argument, special, out);
        fputc(':', out);
        if (word(row, 0)) {
            fputc('(', out);
            write_words(row, out);
            fputc(')', out);
        } else if (takes_file(row)) {
            fputs("_files", out);
        }
    }
    fputc('\'', out);
}

static void write_zsh(const sp_option_table *table, const char *program, const char *operand, FILE *out)
{
    fprintf(out, "#compdef %s\n_arguments", program);
    for (int i = 0; i < table->count; i++) zsh_row(&table->rows[i], out);
    fprintf(out, " \\\n    '*:%s:_files'\n", operand);
}

/* ---- fish ---- */

static void write_fish(const sp_option_table *table, const char *program, FILE *out)
{
    for (const sp_option_row *row = table->rows; row < table->rows + table->count; row++) {
        if (!row->help) continue;
        fprintf(out, "complete -c %s -l %s", program, row->name);
        if (row->letter) fprintf(out, " -s %c", row->letter);
        if (row->argument) fprintf(out, takes_file(row) ? " -r" : " -x");
        if (word(row, 0)) {
            fprintf(out, " -a '");
            write_words(row, out);
            fputc('\'', out);
        }
        fprintf(out, " -d '");
        for (const char *c = row->help; *c; c++) fprintf(out, *c == '\'' || *c == '\\' ? "\\%c" : "%c", *c);
        fprintf(out, "'\n");
    }
}

void sp_completion_write(const sp_option_table *table, const char *program, const char *operand, int shell,
                         FILE *out)
{
    if (shell == BASH) write_bash(table, program, out);
    if (shell == ZSH) write_zsh(table, program, operand, out);
    if (shell == FISH) write_fish(table, program, out);
}
