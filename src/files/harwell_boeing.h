/** Reads matrices of the Harwell-Boeing and Rutherford-Boeing formats: columns in the fixed-width fields of
 *  Fortran's formats. Reads assembled matrices that are real, integer or patterns, and unsymmetric,
 *  rectangular, symmetric or skew-symmetric. Right-hand sides are not read. */
#ifndef SP_HARWELL_BOEING_H
#define SP_HARWELL_BOEING_H

#include "files/matrix_format.h"

/** Implements sp_matrix_format. A file, plain or compressed, is recognized by the type on its third line and
 *  the format in parentheses on its fourth. */
extern const sp_matrix_format sp_format_harwell_boeing;

#endif
