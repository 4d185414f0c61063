/** A second opinion on decimal numbers. */
#ifndef SP_FUZZ_ORACLE_H
#define SP_FUZZ_ORACLE_H

#ifdef __cplusplus
extern "C" {
#endif

/** The double that a text is. Returns 0 where there is no oracle, or none for this text. */
int fuzz_oracle(const char *text, double *value);

#ifdef __cplusplus
}
#endif
#endif
