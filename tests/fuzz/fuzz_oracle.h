/** A second opinion on decimal numbers. */
#ifndef SP_FUZZ_ORACLE_H
#define SP_FUZZ_ORACLE_H

#ifdef __cplusplus
extern "C" {
#endif

/** Converts a text to a double. Returns 0 if there is no oracle, or if it refuses the text. */
int fuzz_oracle(const char *text, double *value);

#ifdef __cplusplus
}
#endif
#endif
