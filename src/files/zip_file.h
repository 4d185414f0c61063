/** Locates and reads the members of a zip archive. Members may be stored or deflated, and archives and
 *  members may be larger than 4 GiB (zip64). Encrypted members and archives in several parts are not
 *  supported. Does not use MPI. Source: PKWARE, "APPNOTE.TXT - .ZIP File Format Specification", version
 *  6.3. */
#ifndef SP_ZIP_FILE_H
#define SP_ZIP_FILE_H

#include "base/status.h"

enum { SP_ZIP_MEMBERS = 32, SP_ZIP_NAME = 64 };

typedef struct sp_zip_member {
    char name[SP_ZIP_NAME];
    int deflated;   /**< 1: compressed by deflate; 0: stored */
    int64_t offset; /**< of the member's bytes in the file */
    int64_t packed; /**< number of these bytes; all of them lie within the file */
    int64_t bytes;  /**< number of unpacked bytes: `packed` if stored, else at most about 1032 * packed */
    uint32_t crc;   /**< CRC-32 of the unpacked bytes */
} sp_zip_member;

typedef struct sp_zip {
    const char *path;
    int fd;
    int members;
    sp_zip_member member[SP_ZIP_MEMBERS];
} sp_zip;

/** Reads the directory of the archive. Local.
 *  \param [in]  path  for messages; must outlive *zip
 *  \param [in]  fd    an open file, which the caller closes
 *  \return SPMM_OK; SPMM_ERR_OPEN; SPMM_ERR_SYNTAX: not an archive, damaged or cut short;
 *          SPMM_ERR_UNSUPPORTED: more than SP_ZIP_MEMBERS members, another compression, encrypted */
spmm_status sp_zip_open(const char *path, int fd, sp_zip *zip);

/** Returns the member with that name; if there are several, the last one, as Python's zipfile does; NULL:
 *  there is none. Local. */
const sp_zip_member *sp_zip_find(const sp_zip *zip, const char *name);

/** Reads the first `bytes` bytes of a member, at most member->bytes; checks its CRC if these are all. Local.
 *  \return SPMM_OK, SPMM_ERR_OPEN, SPMM_ERR_SYNTAX (damaged), SPMM_ERR_MEMORY */
spmm_status sp_zip_begin(const sp_zip *zip, const sp_zip_member *member, void *to, int64_t bytes);

/** Unpacks a deflated member and checks its CRC. Local.
 *  \param [out] to  [member->bytes], from sp_alloc(); NULL on failure
 *  \return as sp_zip_begin() */
spmm_status sp_zip_unpack(const sp_zip *zip, const sp_zip_member *member, void **to);

/** Reads a stored member with up to `threads` threads and checks its CRC. Local. \return as sp_zip_begin() */
spmm_status sp_zip_check(const sp_zip *zip, const sp_zip_member *member, int threads);

#endif
