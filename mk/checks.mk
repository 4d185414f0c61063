# Builds that are made for their tests alone: with sanitizers, by every compiler with every MPI, and for an
# emulated GPU.

.PHONY: check-quick build-quick check-one-rank run-one-rank asan check-asan check-tsan check-toolchains check-unit check-emulated

asan:
	@+$(MAKE) $(J) SANITIZE=1 build build-tests

# MOST_RANKS=3    C tests on 1 rank and on at most 3; RANKS="1 4": on these, and on those that a test's source names
# TESTED=mpi      of the C tests, those that run under mpirun
TESTED ?= unit
rank_options = $(if $(RANKS),--ranks '$(RANKS)')$(MOST_RANKS:%=--most-ranks %)
NEEDED_BY_test_runner = $(patsubst %,$(B)/tests/%,test_always_fails test_scatter test_stats)
NEEDED_BY_test_soak = $(B)/tests/test_differential
# runs the C tests of the build that the variables (SANITIZE, CC, ..) select
check-unit: build build-unit
	$(Q)$(UNIT_SETTINGS) $(RUN_TESTS) --$(TESTED) $(UNIT_OPTIONS) $(B) $(TESTS)

# a minute on two cores: the tests that find most mistakes in the core, the command once, and a program that
# embeds the library
QUICK_TESTS ?= test_status test_stats test_memory test_numparse test_mtx_read test_csr test_formats test_multivector test_serial test_generators \
    test_csr_file test_options test_partition test_scatter test_halo test_comm test_exchange test_reduce test_plan test_cpu_runs test_verify test_api \
    test_first_run test_layers test_examples
check-quick: deps
	@+$(MAKE) $(J) link build-quick
	$(Q)$(RUN_TESTS) $(REPORT) --most-ranks 4 $(B) $(QUICK_TESTS)
build-quick: $(patsubst tests/%.c,$(B)/tests/%,$(wildcard $(QUICK_TESTS:%=tests/%.c))) $(YIELD)
	@:

# the build of make MPI=0: all C tests that run on one rank, and the scripts that test such a build
check-one-rank:
	$(Q)$(if $(filter 1,$(NO_DEPS)),:,MPI=0 CLANG_USED= MPICC_mpich='$(MPICC_mpich)' MPIRUN_mpich='$(MPIRUN_mpich)' sh mk/deps.sh build test optional mpich)
	@+$(MAKE) $(J) MPI=0 CUDA=0 build build-unit
	$(if $(TESTS),,@+$(MAKE) CUDA=0 NO_DEPS=1 wheel)
	@+$(MAKE) MPI=0 CUDA=0 run-one-rank
run-one-rank:
	$(Q)$(RUN_TESTS) $(REPORT) --$(TESTED) --most-ranks 1 $(if $(TESTS),,--also 'test_one_rank test_layers test_wheel') $(B) $(TESTS)

# clang's sanitizers instrument other code than gcc's
clang_sanitizes = $(shell t=$$(mktemp) && printf '\043include <omp.h>\nint main(void) { return omp_get_max_threads() == 0; }\n' \
    | $(CLANG) -fopenmp -fsanitize=address,undefined -x c - -o $$t >/dev/null 2>&1 && echo 1; rm -f $$t)
asan_options = $(or $(rank_options),--most-ranks 4)
check-asan: deps
	@+status=0; $(MAKE) $(J) SANITIZE=1 check-unit UNIT_OPTIONS="$(asan_options)" || status=1; \
	$(if $(CLANG_USED),:,$(if $(clang_sanitizes),$(MAKE) $(J) SANITIZE=1 CC='$(CLANG)' check-unit UNIT_OPTIONS="$(asan_options)" || status=1, \
	    echo 'check-asan: found no $(CLANG) with OpenMP and sanitizers (libomp-dev, libclang-rt-dev): checked with gcc only')); \
	exit $$status

# The thread sanitizer learns of OpenMP's barriers only from archer, which clang's libomp loads. It does not
# see races between ranks.
check-tsan: deps
	$(Q)$(call deps,clang)
	@+$(MAKE) $(J) SANITIZE=thread CC='$(CLANG)' check-unit UNIT_OPTIONS='--most-ranks 2'

# --- every compiler with every MPI, each in a folder of its own under build/toolchains/

# TOOLCHAINS="gcc-openmpi gcc-mpich clang-openmpi clang-mpich"   those of check-toolchains
TOOLCHAINS ?= $(known_toolchains)
# Debian's names; to use others: MPICC_mpich=/opt/mpich/bin/mpicc MPIRUN_mpich=/opt/mpich/bin/mpirun ..
MPICC_openmpi ?= mpicc.openmpi
MPIRUN_openmpi ?= mpirun.openmpi
MPICC_mpich ?= mpicc.mpich
MPIRUN_mpich ?= mpirun.mpich
CC_gcc = $(GCC)
CC_clang = $(CLANG)
TOOLCHAIN_TESTS ?= test_install test_command test_series_command test_sweep
first = $(firstword $(subst -, ,$(1)))
last = $(lastword $(subst -, ,$(1)))
run_toolchain = echo '-- $(1)'; $(MAKE) $(J) CUDA=0 SANITIZE=0 WERROR=1 BUILDDIR=$(BUILDDIR)/toolchains/$(1) \
    CC='$(CC_$(call first,$(1)))' MPICC='$(MPICC_$(call last,$(1)))' MPIRUN='$(MPIRUN_$(call last,$(1)))' \
    UNIT_OPTIONS="$(rank_options) --also '$(TOOLCHAIN_TESTS)'" UNIT_SETTINGS="SWEEP_RANKS='1 3'" check-unit || status=1;
known_toolchains := $(foreach c,gcc clang,$(c)-openmpi $(c)-mpich)
unknown_toolchains = $(filter-out $(known_toolchains),$(TOOLCHAINS))
check-toolchains:
	@$(if $(unknown_toolchains),echo 'TOOLCHAINS=$(strip $(unknown_toolchains)) is unknown: expected some of $(known_toolchains)' >&2; exit 2)
	$(Q)$(call deps,build test $(filter clang openmpi mpich,$(subst -, ,$(TOOLCHAINS))))
	@+status=0; $(foreach t,$(TOOLCHAINS),$(call run_toolchain,$(t))) exit $$status

# --- the CUDA code without a GPU: a toolkit whose nvcc compiles for an emulated one (tests/emulated_gpu/emulated_gpu.cpp)

EMULATED := $(BUILDDIR)/emulated
TOOLKIT := $(abspath $(EMULATED))/toolkit
# with 3 GPUs, each of 2 ranks has one of its own, and two of 4 ranks share one
EMULATED_GPUS ?= 3
# tests that take at most a minute or two on the emulated GPU
EMULATED_TESTS ?= test_choose test_gpu test_gpu_shapes test_gpu_query test_gpu_series test_gpu_lists test_gpu_reduce test_gpu_digests test_gpu_plan test_gpu_steps test_gpu_exchange test_gpu_rounded test_gpu_cut test_gpu_stream test_gpu_unread test_gpu_transposed test_gpu_diagonal test_gpu_values_gradient test_gpu_update_rows test_gpu_at_once test_gpu_multivector_ops test_widths test_gpu_widths test_gpu_python
# when the toolkit changes, everything that was built with it is built again
$(TOOLKIT)/lib64/libcudart_static.a: $(shell find tests/emulated_gpu -type f) | deps
	$(Q)[ "$$(uname -m)" = x86_64 ] || { echo 'check-emulated: the emulated GPU is written for x86-64' >&2; exit 1; }
	$(Q)command -v g++ >/dev/null || { echo 'check-emulated: needs g++' >&2; exit 1; }
	$(Q)rm -rf $(EMULATED)/cuda $(TOOLKIT)
	$(Q)mkdir -p $(TOOLKIT)/bin $(TOOLKIT)/lib64
	$(Q)ln -s $(CURDIR)/tests/emulated_gpu/include $(TOOLKIT)/include
	$(Q)cp tests/emulated_gpu/nvcc $(TOOLKIT)/bin/nvcc
	$(call say,CXX,tests/emulated_gpu/emulated_gpu.cpp)
	$(Q)g++ -std=c++17 -O2 -g -Wall -Wextra -fPIC -ffp-contract=off -isystem $(TOOLKIT)/include \
	    -c tests/emulated_gpu/emulated_gpu.cpp -o $(TOOLKIT)/lib64/emulated_gpu.o
	$(Q)ar rcs $(TOOLKIT)/lib64/libcudadevrt.a
	$(Q)ar rcs $@ $(TOOLKIT)/lib64/emulated_gpu.o
emulated_tests = $(or $(TESTS),$(EMULATED_TESTS))
ifneq ($(word 2,$(CURDIR)),)
check-emulated:
	@echo 'check-emulated: $(CURDIR): expected a folder without a space in its path' >&2; exit 1
else
check-emulated: deps $(TOOLKIT)/lib64/libcudart_static.a
	@+$(MAKE) $(J) CUDA=1 NVCC=$(TOOLKIT)/bin/nvcc GPU_ARCH=90 NCCL=0 SERIES=1 BASELINE=1 BLAS=0 CUBLAS_SO= PEERS=0 SANITIZE=0 BUILDDIR=$(EMULATED) \
	    TESTS='$(emulated_tests)' build build-tests
	$(Q)EMULATED_GPUS=$(EMULATED_GPUS) $(RUN_TESTS) $(EMULATED)/cuda $(emulated_tests)
endif

# Waiting ranks yield their core: Open MPI's by a setting (tests/env.sh), MPICH's by this library
YIELD := $(if $(OPEN_MPI)$(filter 0,$(MPI)),,$(B)/yield.so)
$(B)/yield.so: mk/yield.c $(B)/flags
	$(call say,LD,$@)
	$(Q)$(MPICC) -std=c11 -D_GNU_SOURCE -O2 $(WARNINGS) -fPIC -shared -o $@ $< -ldl

ifeq ($(KIND),asan-clang)
# clang would take minutes for the loops that are expanded for each K: gcc's build checks them for undefined
# behavior
$(B)/kernels/loops/cpu_loops_%.o: override OPT += -fno-sanitize=$(UNDEFINED)
endif
