/** Parses a command line and prints --help by a table of options, of whatever program. No MPI. */
#ifndef SP_OPTION_TABLE_H
#define SP_OPTION_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

enum { SP_OPTION_ROWS = 128 }; /**< the most rows that a table may have */

/** What an option does to the struct of options of the program. */
typedef enum sp_option_kind {
    SP_OPTION_CALL,  /**< call(options, text); text is NULL for an option without argument */
    SP_OPTION_WORD,  /**< the enum or int at `field` becomes the argument's index in `words` */
    SP_OPTION_TEXT,  /**< the const char * at `field` becomes the argument, which must not be empty */
    SP_OPTION_FLAG,  /**< no argument: the enum or int at `field` becomes `value` */
    SP_OPTION_RAISE, /**< likewise, unless it is greater already: the greatest wins, not the last */
    SP_OPTION_COUNT  /**< the int at `field` becomes the argument, an integer from `least` to 1000000000 */
} sp_option_kind;

typedef struct sp_option_row {
    char letter;                                          /**< 0: none */
    const char *name, *argument, *help;                   /**< argument NULL: it takes none */
    spmm_status (*call)(void *options, const char *text); /**< its error message should name the option */
    const char *const *words;                             /**< terminated by NULL */
    size_t field;                                         /**< byte offset in the struct of options */
    sp_option_kind kind;
    union {
        int least; /**< of SP_OPTION_COUNT */
        int value; /**< of SP_OPTION_FLAG and SP_OPTION_RAISE */
    };
} sp_option_row;

/* Initializers for all but the first four members of a row; the file defines OPTIONS as the type of its struct of
 * options. */
#define FIELD(member) .field = offsetof(OPTIONS, member)
#define CALL(function) .kind = SP_OPTION_CALL, .call = function
#define WORDS(list, member) .kind = SP_OPTION_WORD, .words = list, FIELD(member)
#define TEXT(member) .kind = SP_OPTION_TEXT, FIELD(member)
#define FLAG(member, number) .kind = SP_OPTION_FLAG, FIELD(member), .value = number
#define RAISE(member, number) .kind = SP_OPTION_RAISE, FIELD(member), .value = number
#define COUNT(member, minimum) .kind = SP_OPTION_COUNT, FIELD(member), .least = minimum

typedef struct sp_option_table {
    const sp_option_row *rows; /**< [count], in the order of --help */
    int count;                 /**< at most SP_OPTION_ROWS */
} sp_option_table;

/** Finds the index of text among words. Local.
 *  \param [in]  option  name of the option without dashes, for the message
 *  \param [in]  words   terminated by NULL
 *  \param [out] index   on failure the number of words
 *  \return SPMM_OK, or SPMM_ERR_USAGE with a message that lists the words */
spmm_status sp_option_word(const char *option, const char *text, const char *const *words, int *index);

/** Reads an integer from least to most, which must be the whole text. Local.
 *  \param [out] value  undefined on failure
 *  \return SPMM_OK, or SPMM_ERR_USAGE with a message that states both bounds */
spmm_status sp_option_number(const char *option, const char *text, int64_t least, int64_t most,
                             int64_t *value);

/** Reads the next value of a comma-separated list. Local.
 *  \param [in]     text  the whole list, for the message
 *  \param [in,out] rest  the part of it that is left to read; NULL after the last value
 *  \param [out]    item  [room] the value
 *  \return SPMM_OK, or SPMM_ERR_USAGE for an empty value or one that does not fit into item */
spmm_status sp_option_item(const char *option, const char *text, const char **rest, char *item, size_t room);

/** Reads a comma-separated list of integers from 1 to most. Local.
 *  \param [out] list   [room]
 *  \param [out] count  how many were read, at least 1
 *  \return SPMM_OK, SPMM_ERR_USAGE for a value that is not such an integer, or for more than `room` of them */
spmm_status sp_option_numbers(const char *option, const char *text, int64_t most, int64_t *list, int room,
                              int *count);

/** Parses argv by the table, option by option, into a struct that already holds the defaults. Options and the
 *  operand may come in any order; no word after -- is an option. Long names may be abbreviated where that is not
 *  ambiguous. Local.
 *  \param [in]     argv          its strings must outlive *options, which points to them
 *  \param [in]     operand_name  how the message about more than one operand calls it: "matrix"
 *  \param [in,out] options       the struct that the rows' fields are offsets in
 *  \param [out]    operand       the word that is not an option; unchanged where there is none
 *  \param [out]    notes         text of a warning that tells which options override others; "" where none do
 *  \return SPMM_OK; SPMM_ERR_USAGE with a message that names the option and what it takes, or for an unknown option
 *          one that may have been meant; what a row's call returns; SPMM_ERR_INTERNAL for a table with too many
 *          rows */
spmm_status sp_option_read(const sp_option_table *table, int argc, char **argv, const char *operand_name,
                           void *options, const char **operand, char notes[SP_MESSAGE_BYTES]);

/** Prints the section "Options:" of --help: this heading and one line per row. Local. */
void sp_option_help(const sp_option_table *table, FILE *out);

#endif
