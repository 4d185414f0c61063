/** Reads series of measurements from CSV files into the rows of a multivector, using all threads. */
#ifndef SP_CSV_H
#define SP_CSV_H

#include "io/mtx_read.h"

/** Reads series from a plain or gzipped CSV file. Each line is one series; its values are separated by commas,
 *  semicolons or tabs, and blanks around them are skipped. A file has one separator: the first comma or semicolon
 *  of its first series or, if that has neither, the tab (which is a blank otherwise). So 1,5;2,5 is an error and
 *  never the three values 1, 5;2 and 5. Blank lines, and lines whose first character other than a blank is #, are
 *  skipped; where tabs separate, a line of tabs is not blank but a line of empty fields, hence an error. Lines may
 *  end in CRLF, the last one without a newline; a byte order mark may come first. Values are written as
 *  sp_parse_real() takes them, without quotes. All series have as many values as the first.
 *
 *  Local. Error messages read "FILE:LINE: found ..., expected ..."; of several errors the first in the file is
 *  reported, for any number of threads and any size of the chunks in which the file is read
 *  (SPMM_READ_CHUNK_BYTES, see sp_text_chunk_default()). A chunk consists of whole lines, of any length. Progress
 *  is reported as sp_progress_fn describes.
 *
 *  Memory: at its peak twice the result, and for each thread the text of a chunk or of the longest line.
 *  \param [out] x  [series x values], host memory, precision of the options; the caller destroys it; zeroed on
 *                  failure
 *  \return SPMM_OK, SPMM_ERR_OPEN, _SYNTAX (also if there is no series at all), _UNSUPPORTED (more than 2^31 - 1
 *          series, or values per series), _MEMORY */
spmm_status sp_read_csv(const char *path, const sp_read_options *options, spmm_multivector *x);

#endif
