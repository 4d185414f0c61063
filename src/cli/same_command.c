/** Compares each rank's command line with that of rank 0: a list of settings that rank 0 broadcasts. */
#include "cli/same_command.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/environment.h"
#include "base/memory.h"
#include "base/words.h"

/** A setting of a rank, as it is sent: KIND NAME \0 VALUE \0. KIND distinguishes settings without a value. */
enum { VALUE = 'v', NONE = 'n' };

/** All settings of a rank, one after another. */
typedef struct settings {
    char *text; /* [bytes] */
    size_t bytes;
} settings;

/** One setting; the members point into the list. */
typedef struct setting {
    char kind;
    const char *name, *value;
} setting;

/** Reads the next setting of a list. \return 1; 0: there is none */
static int next(const settings *list, size_t *at, setting *s)
{
    if (*at >= list->bytes) return 0;
    s->kind = list->text[*at];
    s->name = list->text + *at + 1;
    s->value = s->name + strlen(s->name) + 1;
    *at = (size_t)(s->value + strlen(s->value) + 1 - list->text);
    return 1;
}

static void same_command_put(FILE *f, const char *dashes, const char *name, const char *value)
{
    fprintf(f, "%c%s%s%c%s%c", value ? VALUE : NONE, dashes, name, '\0', value ? value : "", '\0');
}

/** Lists the settings that must agree; the caller frees list->text with free(). */
static spmm_status list_settings(const char *program, const sp_command_line *line, settings *list)
{
    FILE *const f = open_memstream(&list->text, &list->bytes);
    const char *name;
    if (!f) return sp_fail(SPMM_ERR_MEMORY, "cannot allocate the list of options");
    same_command_put(f, "", "the program", program);
    for (int i = 0; i < line->table->count; i++) {
        const sp_option_row *const row = &line->table->rows[i];
        char number[32];
        if (!row->may_vary)
            same_command_put(f, "--", row->name, sp_option_value(line, i, number, sizeof number));
    }
    same_command_put(f, "the ", line->operand_name, line->operand);
    for (int i = 0; (name = sp_environment_common(i)); i++) {
        const char *const value = getenv(name);
        same_command_put(f, "", name, value && *value ? value : NULL); /* an empty value counts as unset */
    }
    return fclose(f) == 0 ? SPMM_OK : sp_fail(SPMM_ERR_MEMORY, "cannot allocate the list of options");
}

/** Broadcasts the list of rank 0. Collective; the caller frees `theirs` with free(). */
static spmm_status same_command_share(MPI_Comm comm, int rank, const settings *mine, settings *theirs)
{
    int bytes = (int)mine->bytes;
    TRY(SP_MPI(MPI_Bcast(&bytes, 1, MPI_INT, 0, comm)));
    theirs->bytes = (size_t)bytes;
    theirs->text = malloc(theirs->bytes);
    const spmm_status status = theirs->text ? SPMM_OK
                                            : sp_fail(SPMM_ERR_MEMORY, "cannot allocate the list of options");
    TRY(sp_agree(comm, "options", status));
    if (rank == 0) memcpy(theirs->text, mine->text, theirs->bytes);
    /* sp_bcast() is not used, because its message size may differ between ranks until the settings have been
     * compared */
    return SP_MPI(MPI_Bcast(theirs->text, bytes, MPI_CHAR, 0, comm));
}

/** Fails with a message about a setting that differs. \param [in] here, there the setting on this rank and on
 *  rank 0 */
static spmm_status differs(const setting *here, const setting *there)
{
    const setting *const given = there->kind == NONE ? here : there;
    const char *const text = *given->value ? SHOWN(given->value) : "", *const blank = *text ? " " : "";
    if (there->kind == NONE)
        return sp_fail(SPMM_ERR_USAGE,
                       "%s%s%s is given on this rank but not on rank 0: give every rank the same", here->name,
                       blank, text);
    if (here->kind == NONE)
        return sp_fail(SPMM_ERR_USAGE,
                       "%s%s%s is given on rank 0 but not on this rank: give every rank the same",
                       there->name, blank, text);
    return sp_fail(SPMM_ERR_USAGE, "%s is %s on this rank but %s on rank 0: give every rank the same",
                   here->name, SHOWN(here->value), SHOWN(there->value));
}

static spmm_status same_command_compare(const settings *mine, const settings *theirs)
{
    size_t at = 0, other_at = 0;
    setting here, there;
    while (next(mine, &at, &here)) {
        if (!next(theirs, &other_at, &there) || strcmp(here.name, there.name) != 0)
            return sp_fail(
                SPMM_ERR_USAGE,
                "this rank runs another build of the program than rank 0: start the same file on all ranks");
        if (here.kind != there.kind || strcmp(here.value, there.value) != 0) return differs(&here, &there);
    }
    return SPMM_OK;
}

/* ---- the file ---- */

/** Data with which files are distinguished without reading them completely. */
typedef struct fingerprint {
    int64_t bytes; /* -1: there is no such regular file */
    uint32_t head, tail;
} fingerprint;

static uint32_t checksum_at(int fd, int64_t at)
{
    static unsigned char buffer[1 << 16];
    const ssize_t n = pread(fd, buffer, sizeof buffer, at);
    return n > 0 ? (uint32_t)crc32_z(0, buffer, (size_t)n) : 0;
}

static fingerprint look_at(const char *path)
{
    enum { PART = 1 << 16 };
    fingerprint f = {.bytes = -1};
    struct stat s;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return f;
    if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode)) {
        f.bytes = s.st_size;
        f.head = checksum_at(fd, 0);
        f.tail = checksum_at(fd, s.st_size > PART ? s.st_size - PART : 0);
    }
    close(fd);
    return f;
}

/** Compares the operand's file with that of rank 0. A missing file is not an error: its reader reports it.
 *  Collective. */
static spmm_status compare_file(MPI_Comm comm, const sp_command_line *line)
{
    fingerprint here = look_at(line->operand), there = here;
    TRY(SP_MPI(MPI_Bcast(&there, sizeof there, MPI_BYTE, 0, comm)));
    const int both = here.bytes >= 0 && there.bytes >= 0;
    spmm_status status = SPMM_OK;
    if (both && (here.bytes != there.bytes || here.head != there.head || here.tail != there.tail))
        status = sp_fail(
            SPMM_ERR_USAGE,
            "the content of the %s %s differs between this rank and rank 0: give every rank the same file",
            line->operand_name, SHOWN(line->operand));
    return sp_agree(comm, "options", status);
}

spmm_status sp_same_command(MPI_Comm comm, const char *program, const sp_command_line *line, int all_read)
{
    settings mine = {NULL, 0}, theirs = {NULL, 0};
    int rank;
    TRY(SP_MPI(MPI_Comm_rank(comm, &rank)));
    spmm_status status = sp_agree(comm, "options", list_settings(program, line, &mine));
    if (status == SPMM_OK) status = same_command_share(comm, rank, &mine, &theirs);
    if (status == SPMM_OK) status = sp_agree(comm, "options", same_command_compare(&mine, &theirs));
    if (status == SPMM_OK && all_read && line->operand) status = compare_file(comm, line);
    free(mine.text);
    free(theirs.text);
    return status;
}
