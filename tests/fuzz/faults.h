/** Counts the system calls and allocations of the code under test, and makes them fail as requested: the
 *  linker replaces them by the functions of faults.c (--wrap, mk/fuzz.mk). */
#ifndef SP_FAULTS_H
#define SP_FAULTS_H

#include "fuzz.h"

/** Makes calls fail from now on, by `kind`, after `after` of them have succeeded. */
void faults_set(fuzz_fault kind, int after);

/** Allocations that were not freed, files and descriptors that were not closed. */
int64_t faults_allocated(void);
int64_t faults_open(void);

/** The largest allocation requested since faults_restart(), in bytes. */
int64_t faults_largest(void);
void faults_restart(void);

#endif
