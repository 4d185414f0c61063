/** The vector instruction set of the processor, for the CPU kernels. */
#ifndef SP_CPU_ISA_H
#define SP_CPU_ISA_H

typedef enum sp_isa { SP_ISA_GENERIC = 0, SP_ISA_AVX2 = 1, SP_ISA_AVX512 = 2 } sp_isa;

/** Returns the best of these instruction sets that this processor supports. Local. */
sp_isa sp_machine_isa(void);

/** Returns sp_machine_isa() or, if it is lower, the instruction set that the environment variable SPMM_ISA
 *  names: generic, avx2 or avx512 (for tests). Other values are ignored here; sp_environment_check() rejects
 *  them. The results of the kernels are bitwise the same with every instruction set. Local. */
sp_isa sp_cpu_isa(void);

/** Returns the name of an instruction set, "generic", "avx2" or "avx512", in static storage. Local. */
const char *sp_isa_name(sp_isa isa);

#endif
