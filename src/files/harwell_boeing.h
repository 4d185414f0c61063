/** Reads matrices of the Harwell-Boeing and Rutherford-Boeing formats. Such a file stores a matrix column by
 *  column, as numbers in fixed-width fields that Fortran formats describe. Reads assembled matrices that are
 *  real, integer or patterns, and unsymmetric, rectangular, symmetric or skew-symmetric. Right-hand sides are
 *  not read. */
#ifndef SP_HARWELL_BOEING_H
#define SP_HARWELL_BOEING_H

#include "files/matrix_format.h"

/** Implements sp_matrix_format. A file, plain or compressed, is recognized by the matrix type on its third
 *  line and by the opening parenthesis of a Fortran format on its fourth line. */
extern const sp_matrix_format sp_file_format_harwell_boeing;

#endif
