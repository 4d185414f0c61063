# spmm_mpi: `make help` lists the targets. mk/config.mk finds compilers, libraries and GPUs.

.DEFAULT_GOAL := all
MAKEFLAGS += --no-print-directory --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:

include mk/config.mk

.PHONY: all run run-built check check-slurm check-gpu soak bench-read deps deps-build deps-lint install uninstall format \
        lint clean help help-all FORCE build build-unit build-tests link check-builds

# `make all build-unit`: the make that all starts and this one would write the same libraries at the same time
ifneq ($(and $(filter all,$(MAKECMDGOALS)),$(word 2,$(MAKECMDGOALS))),)
.NOTPARALLEL:
endif

##* all (default)  build under build/cpu or build/cuda, and link ./spmm_mpi and ./series_mpi to it
all:
	@+$(MAKE) $(J) link
	@$(remember)
	$(if $(report_mode),@+$(MAKE) report-mode)

## spmm_mpi, series_mpi, lib   build and link one program; build libspmm, libmm and the Fortran module
.PHONY: spmm_mpi series_mpi lib
spmm_mpi series_mpi:
	@+$(MAKE) $(J) $(B)/$@
	@[ "$$(readlink $@)" = $(B)/$@ ] || ln -sfn $(B)/$@ $@
	@$(remember)
lib:
	@+$(MAKE) $(J) $(B)/libspmm.a $(B)/libspmm.so $(B)/libmm.a $(B)/libmm.so $(FORTRAN_FILES)
	@$(remember)

##* run            set up, build, and run 4 ranks on a real matrix (MATRIX=, NP=, ARGS= change it)
NP ?= $(if $(filter 0,$(MPI)),1,4)
MATRIX ?= matrices/bcsstk16.mtx.gz
run: deps-build
	@+$(MAKE) $(J) link
	@$(remember)
	@+$(MAKE) run-built # a make of its own: this one looked for mpirun before deps installed it
run-built:
	$(Q)set -x; $(MPIRUN) $(strip $(call mpirun_flags,$(NP)) -np $(NP)) ./spmm_mpi $(MATRIX) $(ARGS)

##* check          set up, build with and without CUDA, run every test (TESTS="test_plan ..." builds and runs some; CHANGED=1: also those that
##                changed files reach, CHANGED=COMMIT since that commit; JUNIT=FILE: a report for CI systems)
check: deps
	@+$(MAKE) $(if $(filter 0,$(MPI)),check-one-rank,check-builds) $(if $(CHANGED),TESTS="$(TESTS) $$(tests/changed.py $(CHANGED))")

##* check-quick    build, and run tests for about a minute: the core, the command on 1, 2 and 4 ranks, an example (JUNIT=FILE as for check)
##* check-gpu      run the GPU tests, on a machine with a GPU; keep the output in bench/records/
check-gpu: deps
	@+$(MAKE) $(J) CUDA=1 link build-unit
	$(Q)$(RUN_TESTS) --gpu --record bench/records $(BUILDDIR)/cuda $(TESTS)

##* check-slurm    start a SLURM in a separate folder, submit the jobs to it, stop it (as root; installs SLURM)
check-slurm:
	$(Q)$(if $(filter 0,$(shell id -u)),$(call deps,build slurm),$(call deps,build))
	@+$(MAKE) $(J) link
	$(Q)MPICC='$(MPICC)' MPIRUN='$(MPIRUN)' PYTHON='$(PYTHON)' tests/slurm/check

## asan           build with address and undefined-behavior sanitizers, in build/asan
## check-asan     run the C tests on that build, and on one by clang if it is installed (TESTS= for others)
## check-tsan     run the C tests on a build with clang's thread sanitizer (TESTS= for others)
## check-one-rank build with MPI=0, for one process where no MPI is installed, and run the C tests of one rank (TESTS= for others)
## check-emulated build the CUDA code for a GPU emulated on the CPU, and run its tests there (slow; TESTS= for others)
## check-toolchains  build with gcc and clang, Open MPI and MPICH, run the C tests and a sweep on each (TOOLCHAINS= for some)
include mk/checks.mk

##* check-all      everything, for a release: check, check-one-rank, check-asan, check-tsan, check-toolchains, check-emulated, check-slurm (as
##                root), two minutes of fuzzing
.PHONY: check-all
check-all:
	@+status=0; for target in check check-one-rank check-asan check-tsan check-toolchains check-emulated check-slurm "fuzz FUZZ_TOTAL_S=120"; do \
	    echo "== make $$target"; begin=$$(date +%s); $(MAKE) $$target || { status=1; failed="$$failed, $$target"; }; \
	    times="$$times; $$target $$(($$(date +%s) - begin)) s"; done; echo "check-all: $${times#; }"; \
	[ $$status = 0 ] || echo "check-all: failed: $${failed#, }"; exit $$status

## soak           run N=2000 random combinations of options drawn from SEED=1 (ARGS="--only I" for one), then random products by the
##                library for SOAK_S=600 seconds, each compared with exact arithmetic (N=0: only these products)
soak: deps
	@+$(MAKE) $(J) link $(B)/tests/test_differential
	$(Q)export MPIRUN='$(MPIRUN)' PYTHON='$(PYTHON)' && . tests/env.sh && \
	    BUILD='$(abspath $(B))' SPMM_MPI='$(abspath $(B))/spmm_mpi' $$PYTHON tests/soak.py -n $(N) --library $(SOAK_S) --seed $(SEED) $(ARGS)
N ?= 2000
SOAK_S ?= 600
SEED ?= 1

## fuzz           a minute of libFuzzer on each reader (FUZZ_S=60 or FUZZ_TOTAL_S=, FUZZ_TARGETS="fuzz_mtx ..."; clang)
## fuzz-add       put an input into the corpus (INPUT=build/fuzz/found/FILE AS=fuzz_mtx/NAME)
## fuzz-coverage  show which lines of the readers the corpus reaches
include mk/fuzz.mk

## bench-read     time the reader (ARGS=)
bench-read:
	@+$(MAKE) $(J) $(B)/bench/bench_read
	$(Q)$(B)/bench/bench_read $(ARGS)

##* bench-all      measure this machine: cores, ranks x threads, GPUs, other libraries, Python; CSV in records/, tables (MATRICES="FILE..")
##* bench-cpu      time the CPU kernels and the sparse libraries that are installed (ARGS=, CSV=)
## bench-cpu-deps install these libraries (apt-get; MKL by pip, into build/)
## bench-mpi      time the product of NP ranks, and PETSc's if it is found (ARGS=, NP=, CSV=)
include mk/peers.mk
include mk/bench.mk

##* bench-gpu      time the CUDA kernels, and cuSPARSE if it is found (ARGS=, e.g. "--csv FILE")
## calibrate      time the CUDA kernels on this GPU and, from these and earlier times (CALIBRATE_MORE="CSV.."), update the order in
##                which --kernel auto tries them; CALIBRATE="FOLDER.." adds matrices
## bench-multigpu time products on NP GPUs, and those by NCCL and cuSPARSE (NP=, ARGS=)
## bench-figures  update the tables of bench/records/TABLES.md and the plots of docs/performance/ from the records in bench/records/
include mk/bench-gpu.mk

##* study-NAME     run jobs/studies/NAME.study, with tables, plots and a page in records/ (SET="key=words ...")
## study-hosts    run jobs/studies/hosts.study on two hosts that are network namespaces of this machine (root, Open MPI 4)
## study-series   run series_mpi on a GPU: walk_thread by threads per block, sums by blocks per series, values by memory, with tables in records/
## study-series-large  the same for generation and sums of up to 16384 series of 65536 values (SERIES_SIZES; 8 GiB of GPU memory)
## profile        print a table of counters of the CUDA kernels, by Nsight Compute (PROFILE="./series_mpi -d cuda ..": another program or arguments)
## pages          make the pages of the studies whose records are in docs/studies/
## NAME           run 4 ranks on matrices/NAME.mtx, e.g. make cage9, or on a matrix of the SuiteSparse Collection: make ML_Laplace
include mk/study.mk

## openmp-csr-.., openmp-ellpack-..   run what the course reports' targets of these names ran (docs/REPORTS.md): -compare-serial-parallel,
##                -check-conversions, -serial-samplings, -parallel-samplings (SAMPLING_SIZE=N products)
## all MODE=csr_vector   build, and run that kernel of the reports if there is a GPU (SAMPLING=yes: its times over K; MATRIX=, ARGS=)
include mk/reports.mk

## deps           install what is missing (Debian, Ubuntu: apt-get), or print what to load; NO_DEPS=1 skips it
deps:
	$(Q)$(call deps,build test optional adaptors)
deps-build:
	$(Q)$(call deps,build optional)
deps-lint:
	$(Q)$(call deps,build lint)
deps = $(if $(filter 1,$(NO_DEPS)),:,MPI='$(MPI)' MPICC='$(MPICC)' NVCC='$(if $(filter 0,$(CUDA)),,$(NVCC))' METIS='$(METIS)' ISAL='$(ISAL)' BZIP2='$(BZIP2)' LZMA='$(LZMA)' ZSTD='$(ZSTD)' HWLOC='$(HWLOC)' CLANG='$(CLANG)' CLANG_USED='$(CLANG_USED)' $(foreach v,MPICC_openmpi MPIRUN_openmpi MPICC_mpich MPIRUN_mpich,$(v)='$($(v))') BLAS='$(if $(WITH_SERIES),$(BLAS),0)' BLAS_LIBS='$(BLAS_LIBS)' CFLAGS='$(CFLAGS)' FUZZ_CC='$(FUZZ_CC)' sh mk/deps.sh $(1))

##* install        put the programs, libspmm, libmm, headers, the Fortran module, spmm.pc, CMake's files and man pages under PREFIX
## uninstall      remove these files
include mk/fortran.mk
include mk/install.mk

## wheel          the Python package with libspmm inside, for pip, in build/wheel (with nvcc for GPUs, too; GPU_ARCH="80 90"); needs MPICC_mpich=
include mk/wheel.mk

## dist           the committed tree as an archive in build, and its SHA-256 (DIST=v0.3.0: that tag)
DIST ?= HEAD
dist:
	$(Q)mkdir -p $(BUILDDIR) && cd $(BUILDDIR) && git -C $(CURDIR) archive --prefix=spmm_mpi-$(VERSION)/ --format=tar.gz $(DIST) \
	    >spmm_mpi-$(VERSION).tar.gz && sha256sum spmm_mpi-$(VERSION).tar.gz

## format         clang-format all sources in place
## lint           run clang-format, clang-tidy and cppcheck with the settings in the repository; findings fail
FORMATTED = $(wildcard include/*.h src/*/*.[ch] contrib/*/*.[ch] kernels/*.[ch] kernels/*/*.[ch] kernels/*/*.cu kernels/*/*.cuh kernels/peers/adaptors/* tests/*.[ch] tests/fuzz/*.[ch] bench/*.[ch] \
                bench/common/*.[ch] bench/cpu/*.c bench/gpu/*.[ch] bench/mpi/*.c bench/multigpu/*.[ch] bench/peers/*.c bench/peers/*.cpp \
                examples/*.[ch] examples/*.cpp)
format: deps-lint
	$(Q)clang-format -i $(FORMATTED)
lint: deps-lint
	$(Q)MPICC='$(MPICC)' JOBS=$(NPROC) sh mk/lint.sh $(FORMATTED)

##* clean          remove build/, ./spmm_mpi and ./series_mpi
clean:
	$(Q)rm -rf $(BUILDDIR) spmm_mpi series_mpi

##* help           print this list; make help-all: every target, and the variables of a build
help:
	@sed -n 's/^##\* //p' Makefile | sed 's/^/  make /'
help-all:
	@sed -n 's/^##\*\{0,1\} //p' Makefile | sed 's/^/  make /'
	@echo
	@sed -n 's/^## //p' mk/config.mk | sed 's/^/  /'

# --- below: parts of the targets above ---------------------------------------------------------

# Variables that only some targets use, for each the targets: NAME is a matrix, all[..] is all with that
# variable. On the command line of other targets they are errors. A recursive make gets all variables.
takes_MATRIX := run run-built $(REPORT_TARGETS) all[MODE=] all[SAMPLING=yes]
takes_ARGS := run run-built NAME soak bench-read bench-cpu bench-cpu-run bench-mpi bench-gpu bench-multigpu $(REPORT_CONVERSIONS) all[MODE=]
takes_NP := run run-built NAME bench-mpi bench-multigpu
takes_TESTS := check check-builds check-gpu check-unit check-one-rank run-one-rank asan check-asan check-tsan check-toolchains check-emulated build-unit build-tests
takes_ONLY := $(filter check%,$(takes_TESTS)) run-one-rank
takes_CHANGED := check
takes_JUNIT := check check-builds check-quick check-one-rank run-one-rank
takes_TOOLCHAINS := check-toolchains
takes_MOST_RANKS := check-asan check-toolchains
takes_RANKS := check-asan check-toolchains
takes_TESTED := check-unit check-asan check-tsan check-toolchains check-one-rank run-one-rank
takes_QUICK_TESTS := check-quick build-quick
takes_EMULATED_GPUS := check-emulated
takes_N := soak
takes_SOAK_S := soak
takes_SEED := soak
takes_FUZZ_S := fuzz
takes_FUZZ_TOTAL_S := fuzz
takes_FUZZ_TARGETS := fuzz fuzz-add
takes_INPUT := fuzz-add
takes_AS := fuzz-add
takes_CSV := bench-cpu bench-cpu-run bench-mpi
takes_MATRICES := bench-all
takes_CALIBRATE := calibrate
takes_CALIBRATE_MORE := calibrate
takes_SET := $(STUDIES:%=study-%) $(REPORT_COMPARISONS) $(REPORT_SAMPLINGS) all[SAMPLING=yes]
takes_RECORDS := study-% $(REPORT_COMPARISONS) $(REPORT_SAMPLINGS) all[SAMPLING=yes] bench-all
takes_SERIES_ARGS := study-series study-series-large
takes_SERIES_BLOCK_SIZES := study-series
takes_SERIES_BLOCKS := study-series
takes_SERIES_MEMORIES := study-series
takes_SERIES_SIZES := study-series-large
takes_PROFILE := profile
takes_MODE := all[MODE=] all[SAMPLING=yes]
takes_SAMPLING := $(takes_MODE)
takes_SAMPLING_SIZE := $(REPORT_SAMPLINGS) all[SAMPLING=yes]
targets = $(shell sed -n 's/^\([a-z][a-z-]*\):.*/\1/p' Makefile mk/*.mk) study-% openmp-%
# the goal $(1) as it is named above
taker = $(if $(filter all,$(1)),all$(if $(report_mode),[$(if $(filter yes,$(report_sampling)),SAMPLING=yes,MODE=)]),$(if \
    $(filter $(targets),$(1))$(findstring /,$(1))$(findstring .,$(1)),$(1),NAME))
given := $(if $(filter 0,$(MAKELEVEL)),$(foreach v,$(patsubst takes_%,%,$(filter takes_%,$(.VARIABLES))),$(if $(call said,$v),$v)))
takers := $(if $(given),$(foreach g,$(report_goals),$(call taker,$g)))
untaken := $(strip $(foreach v,$(given),$(if $(filter $(takes_$v),$(takers)),,$v)))
ifneq ($(untaken),)
  $(error make $(report_goals) takes no $(untaken:%=%=): leave it out; $(firstword $(untaken))= is for $(takes_$(firstword $(untaken))))
endif

# (with SERIES=0, removes the series_mpi of an earlier build)
build: $(PROGRAMS:%=$(B)/%) $(B)/libspmm.a $(B)/libspmm.so $(B)/libmm.a $(B)/libmm.so $(FORTRAN_FILES) peers
	@$(if $(WITH_SERIES),,rm -f $(B)/series_mpi)
	@$(remember)
# all test programs, or those of TESTS; a script test_gpu_NAME runs the program test_NAME
all_tests := $(TEST_PROGRAMS) $(if $(WITH_SERIES),$(SERIES_TESTS)) $(FUZZ_TEST)
build-unit: $(if $(TESTS),$(filter $(patsubst %,$(B)/tests/%,$(TESTS) $(TESTS:test_gpu_%=test_%)),$(all_tests)),$(all_tests)) $(YIELD)
	@:
# .. and what scripts need (NEEDED_BY_*), so that their limits are of running alone
build-tests: build-unit $(if $(SANITIZED)$(filter 0,$(MPI)),,$(foreach t,$(or $(TESTS),$(basename $(notdir $(wildcard tests/test_*.sh)))),$(NEEDED_BY_$t)))
link: build
	@$(if $(WITH_SERIES),,rm -f series_mpi)
	@for p in $(PROGRAMS); do \
	    [ "$$(readlink $$p)" = $(B)/$$p ] || ln -sfn $(B)/$$p $$p; done

REPORT = $(if $(JUNIT),--junit '$(JUNIT)')
RUN_TESTS = V=$(V) MPICC='$(MPICC)' MPIRUN='$(MPIRUN)' PYTHON='$(PYTHON)' tests/run $(if $(ONLY),--only '$(subst ','\'',$(ONLY))')

# run after deps. With nvcc, both builds are made. The tests run on the GPU build (also on a machine without a
# GPU), and a few of them again on the CPU build.
check-builds:
ifeq ($(WITH_CUDA),1)
	$(if $(TESTS),,@+$(MAKE) $(J) CUDA=0 TESTS="$$(sed -n 's/^smoke_tests="\(.*\)"/\1/p' tests/run)" build build-unit)
	@+$(MAKE) $(J) CUDA=1 link build-tests
	$(Q)$(RUN_TESTS) $(REPORT) $(if $(TESTS),,--smoke $(BUILDDIR)/cpu) $(BUILDDIR)/cuda $(TESTS)
else
	@+$(MAKE) $(J) link build-tests
	$(Q)$(RUN_TESTS) $(REPORT) $(B) $(TESTS)
endif

# Stamps, rewritten only when their text changes: targets that depend on them are made again when a flag, a
# compiler or the list of sources changes.
stamp = mkdir -p $(@D); printf '%s\n' '$(subst ','\'',$(1))' | cmp -s - $@ || printf '%s\n' '$(subst ','\'',$(1))' > $@
$(B)/flags: FORCE
	@$(if $(problem),echo '$(problem)' >&2; exit 1)
	@$(call stamp,$(MPICC) $(MPI_COMPILE) $(COMPILER) $(ALL_CFLAGS) $(VERSION))
$(B)/nvcc-flags: FORCE
	@$(call stamp,$(NVCC) $(shell $(NVCC) --version 2>/dev/null | tail -1) $(ALL_NVCCFLAGS))
$(B)/link-flags: FORCE
	@$(call stamp,$(LIB_OBJECTS) $(CLI_OBJECTS) $(PROGRAM_OBJECTS) $(LDFLAGS) $(CUDA_LIBS) $(LIBS))

# the commit, for records: only main() of each program is compiled again when it changes
COMMIT = $(if $(wildcard .git),$(shell git describe --always --dirty 2>/dev/null))
$(B)/commit: FORCE
	@$(call stamp,$(COMMIT))
MORE_CFLAGS :=
MAINS := $(B)/src/spmm_mpi/main.o $(B)/src/series_mpi/main.o
$(MAINS): $(B)/commit
$(MAINS): MORE_CFLAGS = -DSPMM_COMMIT='"$(COMMIT)"'

$(B)/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(MPICC) $(ALL_CFLAGS) $(MORE_CFLAGS) -MMD -MP -c $< -o $@

$(B)/%.cu.o: %.cu $(B)/flags $(B)/nvcc-flags
	@mkdir -p $(@D)
	$(call say,NVCC,$<)
	$(Q)$(NVCC) $(ALL_NVCCFLAGS) -MMD -MP -MF $(@:.o=.d) -MT $@ -c $< -o $@

$(B)/libspmm.a: $(LIB_OBJECTS) $(B)/link-flags
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $(LIB_OBJECTS)

# cli.a: what both programs share; program.a: spmm_mpi without main(), also for tests
$(B)/cli.a: $(CLI_OBJECTS) $(B)/link-flags
	$(Q)rm -f $@ && ar rcs $@ $(CLI_OBJECTS)
$(B)/program.a: $(PROGRAM_OBJECTS) $(B)/link-flags
	$(Q)rm -f $@ && ar rcs $@ $(PROGRAM_OBJECTS)

$(B)/libspmm.so.$(VERSION): $(LIB_OBJECTS) $(B)/link-flags mk/libspmm.map
	$(call say,LD,$@)
	$(Q)$(MPICC) -shared -Wl,-soname,$(SONAME) -Wl,--version-script=mk/libspmm.map $(if $(SANITIZED),,-Wl,-z,defs) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $(LIB_OBJECTS) -Wl,--as-needed $(CUDA_LIBS) $(LIBS)
$(B)/libspmm.so: $(B)/libspmm.so.$(VERSION)
	@ln -sf $(<F) $(B)/$(SONAME) && ln -sf $(SONAME) $@ && touch -h $@

$(B)/libmm.a: $(MM_OBJECTS)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^
$(B)/libmm.so.$(VERSION): $(MM_OBJECTS) $(B)/flags mk/libmm.map
	$(call say,LD,$@)
	$(Q)$(MPICC) -shared -Wl,-soname,$(MM_SONAME) -Wl,--version-script=mk/libmm.map $(if $(SANITIZED),,-Wl,-z,defs) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $(MM_OBJECTS) -Wl,--as-needed -lm
$(B)/libmm.so: $(B)/libmm.so.$(VERSION)
	@ln -sf $(<F) $(B)/$(MM_SONAME) && ln -sf $(MM_SONAME) $@ && touch -h $@

KEEP := $(if $(SANITIZED),$(B)/mk/keep_modules.o)
# MORE_LIBS: further libraries, set for the programs that need them
MORE_LIBS :=
link_program = $(MPICC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $(filter %.o %.a,$^) -Wl,--as-needed $(MORE_LIBS) $(CUDA_LIBS) $(LIBS) -ldl
$(B)/spmm_mpi: $(B)/src/spmm_mpi/main.o $(KEEP) $(ARCHIVES)
	$(call say,LD,$@)
	$(Q)$(link_program)

$(B)/tests/test_mmio $(B)/tests/test_fp_environment $(B)/tests/nist_client: $(B)/libmm.a
$(TEST_PROGRAMS): $(B)/%: $(B)/%.o $(KEEP) $(ARCHIVES)
	$(call say,LD,$@)
	$(Q)$(link_program)
.SECONDARY:
# the tests that call CUDA themselves
$(B)/tests/test_gpu_stream.o $(B)/tests/test_gpu_unread.o: ALL_CFLAGS += $(if $(filter 1,$(WITH_CUDA)),-DTEST_CUDA)

ifneq ($(WITH_SERIES),)
  include mk/series.mk
endif

-include $(wildcard $(B)/*/*.d $(B)/*/*/*.d)
