/** Which vector instructions the CPU kernels use, found at run time. */
#ifndef SP_CPU_ISA_H
#define SP_CPU_ISA_H

typedef enum sp_isa { SP_ISA_GENERIC = 0, SP_ISA_AVX2 = 1, SP_ISA_AVX512 = 2 } sp_isa;

/** The best that this machine has. */
sp_isa sp_machine_isa(void);

/** The same, capped by the environment's SPMM_ISA = generic, avx2 or avx512
 *  (for tests; anything else is no cap here: sp_environment_check() refuses it). The results are the same bits with each. */
sp_isa sp_cpu_isa(void);

/** "generic", "avx2" or "avx512". */
const char *sp_isa_name(sp_isa isa);

#endif
