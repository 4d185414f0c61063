/** Converts one row block to the format of its kernel. */
#include "product/row_blocks.h"

spmm_status sp_row_block_convert(const sp_row_blocks *parts, sp_row_block *part)
{
    const sp_kernel *const kernel = parts->kernel;
    const int threads = parts->threads;
    if (parts->conversion.on_gpu) {
        const spmm_status there = sp_matrix_create_there(parts->conversion.on_gpu, kernel->format,
                                                         parts->made, &part->a);
        if (there == SPMM_OK) return sp_row_block_set_k(parts, part, 1);
        /* if there is too little GPU memory, converts on the host, provided that the host has the matrix */
        if (there != SPMM_ERR_MEMORY || !part->csr.irp) return there;
    }
    if (parts->conversion.slice && kernel->format == SPMM_ELL)
        TRY(sp_ell_of_slice(parts->conversion.slice, part->first, &part->csr, kernel->device, threads,
                            &part->a));
    else
        TRY(sp_matrix_create(&part->csr, kernel->format, kernel->device, parts->conversion.limit, parts->made,
                             threads, &part->a));
    if (kernel->device == SPMM_CPU)
        TRY(sp_thread_ranges_create(part->csr.irp, part->rows, threads, &part->work));
    return sp_row_block_set_k(parts, part, 1);
}

static sp_setup setup_of(const sp_row_blocks *parts, const sp_row_block *part)
{
    return (sp_setup){.a = &part->a,
                      .csr = &part->csr,
                      .k = parts->k,
                      .threads = parts->threads,
                      .shape = parts->shape,
                      .most = parts->most,
                      .longest = parts->conversion.longest};
}

spmm_status sp_row_block_set_k(const sp_row_blocks *parts, sp_row_block *part, int anew)
{
    const sp_kernel_ops *const ops = parts->kernel->ops;
    const sp_setup setup = setup_of(parts, part);
    if (!anew) return ops->set_k ? ops->set_k(&setup, part->state) : SPMM_OK;
    if (ops->release) ops->release(part->state);
    part->state = NULL;
    return ops->prepare ? ops->prepare(&setup, &part->state) : SPMM_OK;
}

spmm_status sp_row_block_new_values(const sp_row_blocks *parts, sp_row_block *part)
{
    const sp_kernel_ops *const ops = parts->kernel->ops;
    const sp_setup setup = setup_of(parts, part);
    return ops->new_values ? ops->new_values(&setup, part->state) : SPMM_OK;
}

void sp_row_block_release(const sp_row_blocks *parts, sp_row_block *part)
{
    if (parts->kernel && parts->kernel->ops->release) parts->kernel->ops->release(part->state);
    part->state = NULL;
    sp_matrix_destroy(&part->a);
    sp_thread_ranges_destroy(&part->work);
}
