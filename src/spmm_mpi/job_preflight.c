/** Checks options, build, machine and files before the matrix is read, so that a run does not fail late for a
 *  reason that was detectable at the start. */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/enum_words.h"
#include "base/output_file.h"
#include "base/words.h"
#include "halo/node_rows.h"
#include "io/generators.h"
#include "io/input.h"
#include "files/petsc_file.h"
#include "order/reorder.h"
#include "kernels/peers/peer_kernels.h"
#include "exchange/exchange.h"
#include "product/reduce.h"
#include "spmm_mpi/job.h"

/* ---- options, build and device: all ranks get the same result unless their machines differ ---- */

static spmm_status check_ways(const sp_options *o, spmm_device device)
{
    const char *why = o->transport == SPMM_TRANSPORT_AUTO ? NULL : sp_transport_missing(o->transport, device);
    if (why) return sp_fail(SPMM_ERR_USAGE, "--transport %s: %s", sp_transport_word(o->transport), why);
    if (sp_transport_has(o->transport, SP_TRANSPORT_IN_PLACE) && o->column_blocks > 1)
        return sp_fail(SPMM_ERR_USAGE,
                       "--transport shared cannot cut X into blocks of columns: omit --column-blocks %d",
                       o->column_blocks);
    why = sp_reduce_missing(o->reduce, device);
    if (why) return sp_fail(SPMM_ERR_USAGE, "--reduce %s: %s", sp_reduce_word(o->reduce), why);
    return o->partition == SP_PARTITION_GRAPH ? sp_graph_ready() : SPMM_OK;
}

/** Checks that the library of --kernel is available, if the kernel is another library's. */
static spmm_status check_library(const sp_options *o, int threads)
{
    char path[SP_MESSAGE_BYTES];
    const char *version;
    const sp_kernel *const kernel = o->kernel;
    if (!kernel || !kernel->library) return SPMM_OK;
    if (!sp_peer_kernel_found(kernel, path, sizeof path))
        return sp_fail(SPMM_ERR_USAGE,
                       "--kernel %s: this build has no adaptor for %s, %.400s: install %s, then make",
                       kernel->id, kernel->library, path, kernel->library);
    return sp_peer_kernel_open(kernel, threads, &version);
}

static spmm_status check_kernels(const sp_options *o, spmm_device device)
{
    const sp_kernel *const usual = sp_kernel_default(device, o->format);
    if (device == SPMM_CPU && (o->shape.block != 0 || o->shape.subwarp != 0))
        return sp_fail(SPMM_ERR_USAGE, "--%s is for CUDA kernels, but this run is on device cpu: omit it",
                       o->shape.block != 0 ? "block-size" : "subwarp");
    if (o->format != SPMM_FORMAT_AUTO && (!usual || !sp_kernel_takes(usual, o->precision)))
        return sp_fail(
            SPMM_ERR_USAGE,
            "--format %s: no kernel multiplies %s values in this format on device %s: see --list-kernels",
            sp_format_word(o->format), sp_precision_word(o->precision), sp_device_word(device));
    return SPMM_OK;
}

/** Checks --grid PxQ with --dry-run: P x Q must be one of the numbers of --plan-ranks. Without --plan-ranks,
 *  it must be the number of ranks of this job. */
static spmm_status check_planned_grid(const sp_options *o, int running)
{
    const int64_t ranks = (int64_t)o->p * o->q;
    int fits = o->plan_count == 0 && ranks == running;
    if (o->action != SP_ACTION_DRY_RUN || ranks == 0) return SPMM_OK;
    for (int i = 0; i < o->plan_count; i++) fits |= o->plan_ranks[i] == ranks;
    if (fits) return SPMM_OK;
    return sp_fail(SPMM_ERR_USAGE,
                   "--grid %dx%d needs %lld ranks, which --plan-ranks does not name: add --plan-ranks %lld",
                   o->p, o->q, (long long)ranks, (long long)ranks);
}

/** Checks --transport shared: the ranks of a node must be consecutive in their process column. Collective. */
static spmm_status check_common_memory(const sp_grid *g)
{
    int consecutive, shared;
    TRY(sp_node_ranks_check(g, &consecutive, &shared));
    return consecutive ? SPMM_OK : sp_fail(SPMM_ERR_USAGE, "--transport shared: %s", SP_NOT_CONSECUTIVE);
}

/** Checks that the hardware suits --transport and --reduce: peer needs all ranks of a process column on one
 *  node, NCCL needs one GPU per rank.
 *
 *  Collective over the grid; the status may differ between ranks. All collective queries come before
 *  the first return on an error, so that every rank takes part in them. */
static spmm_status check_neighbors(const sp_options *o, const sp_grid *g, const sp_binding *binding)
{
    int which, on_node = g->dims[0], in_column = 1, in_row = 1;
    spmm_status column = SPMM_OK, row = SPMM_OK;
    if (o->grid_auto || o->action != SP_ACTION_MULTIPLY) return SPMM_OK;
    if (sp_transport_has(o->transport, SP_TRANSPORT_IN_PLACE)) return check_common_memory(g);
    if (binding->device == SPMM_CPU) return SPMM_OK;
    if (sp_transport_has(o->transport, SP_TRANSPORT_IN_NODE))
        column = sp_node_rank(g->col_comm, &which, &on_node);
    if (sp_transport_has(o->transport, SP_TRANSPORT_OWN_GPU))
        column = sp_node_sharers(g->col_comm, binding->gpu.pci, &which, &in_column);
    if (o->reduce == SPMM_REDUCE_NCCL) row = sp_node_sharers(g->row_comm, binding->gpu.pci, &which, &in_row);
    TRY(column);
    TRY(row);
    if (on_node != g->dims[0])
        return sp_fail(
            SPMM_ERR_DEVICE,
            "--transport peer: the ranks of a process column are on several nodes, expected one node");
    return in_column == 1 && in_row == 1
               ? SPMM_OK
               : sp_fail(SPMM_ERR_DEVICE, "NCCL: ranks share a GPU, expected one GPU per rank");
}

/* ---- files; rank 0 only ---- */

/** Rejects the name of a matrix if there is no such file and the name may be meant as that of a generator.
 *  Other wrong names are rejected when the matrix is read. */
static spmm_status check_matrix(const char *matrix)
{
    if (sp_gen_is_spec(matrix) || !isalpha((unsigned char)*matrix) || strpbrk(matrix, "./")) return SPMM_OK;
    if (access(matrix, F_OK) == 0 || errno != ENOENT) return SPMM_OK;
    return sp_fail(SPMM_ERR_OPEN,
                   "%s: no such file, and no such generator: --help lists the generators and their arguments",
                   SHOWN(matrix));
}

/** Checks that the file of -x can be opened: it is read after the matrix, so an error would come late. */
static spmm_status check_x(const char *path)
{
    sp_input *source;
    if (!path) return SPMM_OK;
    const int fd = sp_input_descriptor(path);
    if (sp_petsc_file_is(fd)) {
        close(fd);
        return SPMM_OK;
    }
    TRY(sp_input_of(path, fd, &source));
    sp_input_close(source);
    return SPMM_OK;
}

static spmm_status check_outputs(const sp_options *o)
{
    const sp_named_file files[] = {
        {"the matrix", sp_gen_is_spec(o->matrix) ? NULL : o->matrix, SP_READ},
        {"--x", o->x_file, SP_READ},
        {"--cache", o->cache, SP_COMPRESSED},
        {"--convert", o->convert, SP_COMPRESSED},
        {"--output", o->output, SP_COMPRESSED},
        {"--json", o->json, SP_APPENDED},
        {"--csv", o->csv, SP_APPENDED},
    };
    return sp_outputs_check(files, sizeof files / sizeof *files);
}

/** Opens the file of the matrix and checks, from its header, that there is enough memory. With --io parallel
 *  every rank opens the file when it reads it, and errors are reported then. */
static spmm_status open_matrix(const sp_options *o, const sp_place *place, sp_matrix_file *file)
{
    const sp_read_options options = sp_job_read_options(o, place);
    if (!sp_gen_is_spec(o->matrix)) {
        const spmm_status status = sp_matrix_file_open(o->matrix, &options, file);
        if (status != SPMM_OK) return o->io_parallel ? SPMM_OK : status;
    }
    const spmm_status status = sp_job_check_memory(o, place, file);
    if (status != SPMM_OK || o->io_parallel) sp_matrix_file_close(file);
    return status;
}

static spmm_status job_preflight_check(const sp_options *o, const sp_place *place, sp_matrix_file *file)
{
    TRY(check_ways(o, place->binding.device));
    TRY(check_kernels(o, place->binding.device));
    TRY(check_library(o, place->binding.threads));
    TRY(check_planned_grid(o, place->grid.size));
    if (!sp_is_root(place)) return SPMM_OK;
    TRY(check_outputs(o));
    TRY(check_matrix(o->matrix));
    TRY(check_x(o->x_file));
    return open_matrix(o, place, file);
}

spmm_status sp_job_check(const sp_options *o, const sp_place *place, sp_matrix_file *file)
{
    TRY(sp_agree(place->grid.comm, "ready", job_preflight_check(o, place, file)));
    return sp_agree(place->grid.comm, "ready", check_neighbors(o, &place->grid, &place->binding));
}
