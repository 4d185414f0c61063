/** Reads matrices of the Harwell-Boeing and Rutherford-Boeing formats: columns in the fixed-width fields of
 *  Fortran's formats. Real, integer and pattern matrices that are assembled are read: unsymmetric,
 *  rectangular, symmetric and skew-symmetric ones. Right-hand sides are not read. */
#ifndef SP_HARWELL_BOEING_H
#define SP_HARWELL_BOEING_H

#include "files/matrix_format.h"

/** The format's functions are those of sp_matrix_format. A file is told by the type on its third line and the
 *  format in parentheses on its fourth, plain or compressed. */
extern const sp_matrix_format sp_format_harwell_boeing;

#endif
