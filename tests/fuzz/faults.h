/** Counts the system calls and allocations of the code under test, and makes them fail as requested: the
 *  linker replaces them by the functions of faults.c (--wrap, mk/fuzz.mk). */
#ifndef SP_FAULTS_H
#define SP_FAULTS_H

#include "fuzz.h"

/** Makes calls fail from now on, as `kind` says, after `after` of them have succeeded. */
void faults_set(fuzz_fault kind, int after);

/** The number of allocations that have not been freed, and the number of files and descriptors that have not
 *  been closed. */
int64_t faults_allocated(void);
int64_t faults_open(void);

/** The largest allocation requested since faults_restart(), in bytes. */
int64_t faults_largest(void);
void faults_restart(void);

#endif
