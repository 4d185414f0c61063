/** Parses the command line and prints --help for any program that lists its options in a table. Without
 *  MPI. */
#ifndef SP_OPTION_TABLE_H
#define SP_OPTION_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

enum { SP_OPTION_ROWS = 128 }; /**< maximum number of rows of a table */

/** The effect of an option on the program's struct of options. `call`, `words`, `field`, `value` and `least`
 *  are members of sp_option_row. */
typedef enum sp_option_kind {
    SP_OPTION_CALL,  /**< calls call(options, text); text is NULL for an option without argument */
    SP_OPTION_WORD,  /**< stores the argument's index in `words` plus `value` in the enum or int at `field` */
    SP_OPTION_TEXT,  /**< stores the argument, which must not be empty, in the const char * at `field` */
    SP_OPTION_FLAG,  /**< takes no argument; stores `value` in the enum or int at `field` */
    SP_OPTION_RAISE, /**< takes no argument; raises the enum or int at `field` to at least `value` */
    SP_OPTION_COUNT  /**< stores the argument, from `least` to 1000000000, in the int at `field` */
} sp_option_kind;

typedef struct sp_option_row {
    char letter;                 /**< short option, e.g. 'k' for -k; 0: none */
    const char *name, *argument; /**< argument: NULL if the option has none */
    const char *help; /**< NULL: --help does not list the option, because it is an older name of another
                           option */
    spmm_status (*call)(void *options, const char *text); /**< errors of call() should name the option */
    const char *const *words;                             /**< for SP_OPTION_WORD: the words, then NULL */
    size_t field;                                         /**< byte offset in the program's options struct */
    sp_option_kind kind;
    int may_vary;   /**< 1: any value on any rank, 0: the same on every rank */
    int rare;       /**< 1: --help-all lists the option, --help does not */
    int mode;       /**< the mode of the program that the option selects, e.g. of --dry-run; 0: none */
    unsigned modes; /**< bit m: mode m uses the option; 0: only mode 0, or the mode that the option selects */
    union {
        int least; /**< for SP_OPTION_COUNT: the minimum of the argument */
        int value; /**< for SP_OPTION_FLAG and SP_OPTION_RAISE: the value to store in the field; for
                        SP_OPTION_WORD: the value of the first word */
    };
} sp_option_row;

/* Initializers for the members of sp_option_row after `help`. The file that uses these macros defines OPTIONS
 * as the type of the program's struct of options. */
#define FIELD(member) .field = offsetof(OPTIONS, member)
#define CALL(function) .kind = SP_OPTION_CALL, .call = function
#define WORDS(list, member) .kind = SP_OPTION_WORD, .words = list, FIELD(member)
#define AUTO_WORDS(list, member) WORDS(list, member), .value = -1 /* "auto" comes first and is -1 */
#define TEXT(member) .kind = SP_OPTION_TEXT, FIELD(member)
#define FLAG(member, number) .kind = SP_OPTION_FLAG, FIELD(member), .value = number
#define RAISE(member, number) .kind = SP_OPTION_RAISE, FIELD(member), .value = number
#define COUNT(member, minimum) .kind = SP_OPTION_COUNT, FIELD(member), .least = minimum
#define MAY_VARY .may_vary = 1
#define RARE .rare = 1
#define SELECTS(number) .mode = number
#define USED_BY(bits) .modes = bits

typedef struct sp_option_table {
    const sp_option_row *rows; /**< [count], in the order in which --help lists the options */
    int count;                 /**< number of rows, at most SP_OPTION_ROWS */
    /** Called for each operand; NULL: there is at most one operand, which sp_option_read() returns. */
    spmm_status (*operand)(void *options, const char *text);
    unsigned operand_modes; /**< bit m: mode m uses the operand */
} sp_option_table;

/** The settings of a command line. */
typedef struct sp_command_line {
    const sp_option_table *table;
    const void *options;               /**< the program's struct of options */
    const char *operand_name;          /**< name of the operand in error messages, e.g. "matrix" */
    const char *operand;               /**< NULL: the command line has none, or table->operand is set */
    const char *given[SP_OPTION_ROWS]; /**< for each option its argument, or its name if it has none; NULL:
                                            the option was not given */
} sp_command_line;

/** Finds `text`, the argument of an option, in a list of words. Local.
 *  \param [in]  option  name of the option without dashes, for the error message
 *  \param [in]  words   the list, terminated by NULL
 *  \param [out] index   index of the word in the list; on failure the number of words
 *  \return SPMM_OK, or SPMM_ERR_USAGE with a message that lists the words */
spmm_status sp_option_word(const char *option, const char *text, const char *const *words, int *index);

/** Parses `text`, the argument of an option, as an integer from `least` to `most`. Local.
 *  \param [in]  option  name of the option without dashes, for the error message
 *  \param [out] value   the integer; undefined on failure
 *  \return SPMM_OK, or SPMM_ERR_USAGE with a message that states both bounds */
spmm_status sp_option_number(const char *option, const char *text, int64_t least, int64_t most,
                             int64_t *value);

/** Copies the next value of a comma-separated list to `item`. Local.
 *  \param [in]     option  name of the option without dashes, for the error message
 *  \param [in]     text    the whole list, for the error message
 *  \param [in,out] rest    start of the unread part of the list; NULL after the last value
 *  \param [out]    item    [room] the value, zero-terminated
 *  \return SPMM_OK, or SPMM_ERR_USAGE if the value is empty or does not fit in `item` */
spmm_status sp_option_item(const char *option, const char *text, const char **rest, char *item, size_t room);

/** Parses a comma-separated list of integers from 1 to `most`. Local.
 *  \param [in]  option  name of the option without dashes, for the error message
 *  \param [out] list    [room] the integers
 *  \param [out] count   number of integers in the list, at least 1
 *  \return SPMM_OK, or SPMM_ERR_USAGE if a value is not such an integer or the list has more than `room`
 *          values */
spmm_status sp_option_numbers(const char *option, const char *text, int64_t most, int64_t *list, int room,
                              int *count);

/** Parses the command line argv by the table into *options, which already holds the defaults. The operand is
 *  the only word that is not an option; it may be before, between or after the options. Words after "--" are
 *  not options. Long option names may be abbreviated if the abbreviation is unambiguous. Local.
 *  \param [in]     argv          the strings must outlive *options and *line, which keep pointers to them
 *  \param [in]     operand_name  must outlive *line
 *  \param [in,out] options       the program's struct of options, in which `field` is a byte offset; must
 *                                outlive *line
 *  \param [out]    line          the given options and operand, also after a failure
 *  \return SPMM_OK; SPMM_ERR_USAGE with a message that names the option and its valid arguments;
 *          the status of a failed call(); SPMM_ERR_INTERNAL if the table has
 *          too many rows */
spmm_status sp_option_read(const sp_option_table *table, int argc, char **argv, const char *operand_name,
                           void *options, sp_command_line *line);

/** Checks that the program's mode uses all given options, and the operand if there is one. Local.
 *  \param [in] mode  0, or the `mode` of a given option
 *  \return SPMM_OK, or SPMM_ERR_USAGE with a message that names an option or operand that has no effect */
spmm_status sp_option_check_mode(const sp_command_line *line, int mode);

/** Returns 1 if the file of an option was given as "-", standard output; else 0. Local. */
int sp_option_names_stdout(const sp_command_line *line);

/** Writes the value of an option in the form in which ranks compare it: the words and numbers in effect,
 *  whether given or not; for SP_OPTION_CALL the argument as it was typed. Local.
 *  \param [in]  row   index of the option in line->table
 *  \param [out] text  [n] buffer for a number
 *  \return the value, in `text` or in memory of *line; "" for an option without argument; NULL: the option
 *          was not given */
const char *sp_option_value(const sp_command_line *line, int row, char *text, size_t n);

/** Prints a heading, one line of --help per option of the table, and the exit codes. Local.
 *  \param [in] all  1: also options with `rare` set */
void sp_option_help(const sp_option_table *table, int all, FILE *out);

#endif
