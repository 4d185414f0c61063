/** The serial product as a kernel, so that what is measured against it (absolute speed-up) is measured like it: one
 *  thread, the loop over rows, entries and columns of src/serial.h. It is also what others are checked against, so of its
 *  own bits nothing is learnt. */
#include "kernel.h"
#include "serial.h"

static spmm_status run(const sp_launch *l)
{
    sp_serial_product(l->a, 0, l->a->rows, l->x, l->y);
    return SPMM_OK;
}

const sp_kernel_ops sp_kernel_cpu_serial = {run, NULL, NULL};
const sp_kernel_ops sp_kernel_cpu_serial_ell = {run, NULL, NULL};
const sp_kernel_ops sp_kernel_cpu_serial_ell_nopad = {run, NULL, NULL};
