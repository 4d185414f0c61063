/** Series of measurements in CSV files -> the rows of a multivector, by all threads. */
#ifndef SP_CSV_H
#define SP_CSV_H

#include "io/mtx_read.h"

/** Reads series from a CSV file, plain or gzipped: a line is a series, its values are separated by commas,
 *  semicolons or tabs, blanks around them are skipped. A file has one separator: the first comma or semicolon of
 *  its first series; where there is neither, tabs, which are blanks otherwise. (So 1,5;2,5 is an error, and never
 *  the three values 1, 5;2 and 5.) Blank lines, and lines that begin with #, are skipped (where
 *  tabs separate, a line of tabs is no blank one but one of empty fields, and so an error); lines may end in CRLF, the
 *  last one in nothing; a byte order mark may come first. Values are written as sp_parse_real() takes them, without
 *  quotes. All series have as many values as the first.
 *
 *  Local. Errors carry "FILE:LINE: found ..., expected ..."; of several the first in the file counts, for any number
 *  of threads and any size of the pieces that the file is read in (SPMM_READ_CHUNK_BYTES, see read.h). A piece is
 *  whole lines, of any length. Progress is called as read.h says.
 *
 *  Memory: at its peak twice the result, and for each thread the text of a piece or of the longest line.
 *  \param [out] x  [series x values], host memory, precision of the options; the caller destroys it; zeroed on
 *                  failure
 *  \return SPMM_OK, SPMM_ERR_OPEN, _SYNTAX (no series at all, too), _UNSUPPORTED (more than 2^31 - 1 series or values
 *          a series), _MEMORY */
spmm_status sp_read_csv(const char *path, const sp_read_options *options, spmm_multivector *x);

#endif
