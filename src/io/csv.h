/** Reads series of measurements from CSV files into the rows of a multivector, using all threads. */
#ifndef SP_CSV_H
#define SP_CSV_H

#include "io/mtx_read.h"

/** Reads series from a plain or compressed CSV file. Each line is one series; commas, semicolons or tabs
 *  separate its values, and blanks around a value are skipped. The whole file has one separator: the first
 *  comma or semicolon in its first series. If that series has neither, the separator is the tab; otherwise,
 *  tabs count as blanks. Decimal commas are refused: 1,5;2,5 is an error and is never read as the three
 *  values 1, 5;2 and 5.
 *
 *  Blank lines are skipped, and so are lines whose first nonblank character is #. If the tab is the
 *  separator, a line of tabs is not blank: its fields are empty, which is an error. Lines may end in CRLF,
 *  the last line may lack its newline, and a byte order mark may come first. Values have the forms that
 *  sp_parse_real() accepts, without quotes. All series must have as many values as the first one.
 *
 *  Local. Error messages read "FILE:LINE: found ..., expected ...". If the file has several errors, the first
 *  one in the file is reported, whatever the number of threads and the size of the chunks in which the file
 *  is read (SPMM_READ_CHUNK_BYTES, see sp_text_chunk_default()). A chunk consists of whole lines, which may
 *  have any length. Progress is reported as sp_progress_fn describes.
 *
 *  Memory: the peak is twice the size of *x plus, per thread, the text of a chunk or, if it is longer, the
 *  longest line.
 *  \param [out] x  [series x values], in host memory, of precision options->precision; the caller destroys
 *                  it; zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_OPEN, _SYNTAX (also if the file has no series), _UNSUPPORTED (more than 2^31 - 1
 *          series, or values per series), _MEMORY */
spmm_status sp_read_csv(const char *path, const sp_read_options *options, spmm_multivector *x);

#endif
