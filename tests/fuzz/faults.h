/** The system calls and allocations of the code under test, counted, and failing when told to: the linker
 *  puts the functions of faults.c in their places (--wrap, mk/fuzz.mk). */
#ifndef SP_FAULTS_H
#define SP_FAULTS_H

#include "fuzz.h"

/** From now on calls fail as `kind` says, after so many of them have not. */
void faults_set(fuzz_fault kind, int after);

/** Allocations that were not freed, files and descriptors that were not closed. */
int64_t faults_allocated(void);
int64_t faults_open(void);

/** The largest allocation asked for since faults_restart(), bytes. */
int64_t faults_largest(void);
void faults_restart(void);

#endif
