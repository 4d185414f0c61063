/** A program's options as one table, which makes its parser and its --help. Knows no program's options. No MPI. */
#ifndef SP_OPTION_TABLE_H
#define SP_OPTION_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

enum { SP_OPTION_ROWS = 128 }; /**< of a table, at most */

/** What an option does to the program's struct of options. */
typedef enum sp_option_kind {
    SP_OPTION_CALL,  /**< call(options, text); text is NULL for an option without argument */
    SP_OPTION_WORD,  /**< the enum or int at `field` becomes the index of a word of `words` */
    SP_OPTION_TEXT,  /**< the const char * at `field` becomes the text */
    SP_OPTION_FLAG,  /**< no argument: the enum or int at `field` becomes `value` */
    SP_OPTION_RAISE, /**< likewise, unless it is above that already: the greatest wins, not the last */
    SP_OPTION_COUNT  /**< the int at `field`: a whole number from `least` up to 1000000000 */
} sp_option_kind;

typedef struct sp_option_row {
    char letter;                                          /**< 0: none */
    const char *name, *argument, *help;                   /**< argument NULL: takes none */
    spmm_status (*call)(void *options, const char *text); /**< its message should name the option */
    const char *const *words;                             /**< NULL at the end */
    size_t field;                                         /**< offset in the struct of options, in bytes */
    sp_option_kind kind;
    union {
        int least; /**< of SP_OPTION_COUNT */
        int value; /**< of SP_OPTION_FLAG and SP_OPTION_RAISE */
    };
} sp_option_row;

/* For the rows of a table: all but its first four members, of a struct whose type the file calls OPTIONS. */
#define FIELD(member) .field = offsetof(OPTIONS, member)
#define CALL(function) .kind = SP_OPTION_CALL, .call = function
#define WORDS(list, member) .kind = SP_OPTION_WORD, .words = list, FIELD(member)
#define TEXT(member) .kind = SP_OPTION_TEXT, FIELD(member)
#define FLAG(member, number) .kind = SP_OPTION_FLAG, FIELD(member), .value = number
#define RAISE(member, number) .kind = SP_OPTION_RAISE, FIELD(member), .value = number
#define COUNT(member, minimum) .kind = SP_OPTION_COUNT, FIELD(member), .least = minimum

typedef struct sp_option_table {
    const sp_option_row *rows; /**< [count], in --help's order */
    int count;                 /**< at most SP_OPTION_ROWS */
} sp_option_table;

/** Index of text among words.
 *  \param [in] option  its name without dashes, for the message
 *  \param [in] words   NULL at the end
 *  \return SPMM_OK, or SPMM_ERR_USAGE with a message that lists the words; *index is their number then */
spmm_status sp_option_word(const char *option, const char *text, const char *const *words, int *index);

/** A whole number and nothing else.
 *  \return SPMM_OK, or SPMM_ERR_USAGE with a message that has both bounds; *value means nothing then */
spmm_status sp_option_number(const char *option, const char *text, int64_t least, int64_t most,
                             int64_t *value);

/** The next value of a list with commas between.
 *  \param [in] text      the whole list, for the message
 *  \param [in,out] rest  what is left of it; NULL after the last value
 *  \param [out] item     [room] the value
 *  \return SPMM_OK, or SPMM_ERR_USAGE for an empty value and for one that does not fit */
spmm_status sp_option_item(const char *option, const char *text, const char **rest, char *item, size_t room);

/** Whole numbers from 1 up to most, with commas between them.
 *  \param [out] list   [room]
 *  \param [out] count  of the numbers read, at least 1
 *  \return SPMM_OK, SPMM_ERR_USAGE for a number as above or for more than `room` of them */
spmm_status sp_option_numbers(const char *option, const char *text, int64_t most, int64_t *list, int room,
                              int *count);

/** Reads argv by the table, option by option, into a struct that holds the defaults already. Options and the operand may
 *  come in any order; after -- there is no option. Long names may be cut short where that is not ambiguous. argv's strings
 *  must outlive *options, which points to them.
 *  \param [in] operand_name  what the operand is called in the message about more than one: "matrix"
 *  \param [in,out] options   where the rows' fields lie
 *  \param [out] operand      what is no option; unchanged where there is none
 *  \param [out] notes        which options override others: a line for a warning; "": none do
 *  \return SPMM_OK; SPMM_ERR_USAGE with a message that names the option and what it takes, and one that may have been
 *          meant; what a row's call returns; SPMM_ERR_INTERNAL for a table with too many rows */
spmm_status sp_option_read(const sp_option_table *table, int argc, char **argv, const char *operand_name,
                           void *options, const char **operand, char notes[SP_MESSAGE_BYTES]);

/** The "Options:" of --help: that line and one a row. */
void sp_option_help(const sp_option_table *table, FILE *out);

#endif
