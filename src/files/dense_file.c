/** Recognizes the format of a file with a dense multivector by its first bytes, and reads it. */
#include "files/dense_file.h"

#include "files/petsc_file.h"
#include "io/input.h"

spmm_status sp_dense_file_sizes(const char *path, sp_sizes *sizes)
{
    const int fd = sp_input_descriptor(path);
    return sp_fail_in(path, (sp_petsc_file_is(fd) ? sp_petsc_file_sizes : sp_read_sizes_of)(path, fd, sizes));
}

spmm_status sp_dense_file_read(const char *path, const sp_read_options *options, spmm_multivector *x)
{
    const int fd = sp_input_descriptor(path);
    return sp_fail_in(path,
                      (sp_petsc_file_is(fd) ? sp_petsc_file_dense : sp_read_dense_of)(path, fd, options, x));
}
