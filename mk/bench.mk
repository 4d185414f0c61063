# make bench-all: this machine; bench-cpu and bench-cpu-deps: our CPU kernels beside other sparse libraries; bench-mpi; bench/README.md.
#
# Each library is called through an adaptor in bench/peers or kernels/peers/adaptors (mk/peers.mk). An adaptor
# is built if its library's header is found.

BENCH_PEERS := kokkos eigen graphblas librsb petsc scipy mkl
# results are appended to the file CSV. Without CSV=, bench-cpu overwrites its default file, bench-mpi writes
# none
CSV ?=
bench_csv = $(or $(CSV),$(B)/bench/bench_cpu.csv)
PETSC_PC := PETSc petsc

petsc_config = $(shell for pc in $(PETSC_PC); do pkg-config $(1) $$pc 2>/dev/null && break; done)

kokkos_header = <KokkosSparse_spmv.hpp>
kokkos_flags = -std=c++14 -march=native -isystem /usr/include/trilinos -Wno-maybe-uninitialized
kokkos_libs = -ltrilinos_kokkoskernels -ltrilinos_kokkoscore
graphblas_header = <GraphBLAS.h>
graphblas_libs = -lgraphblas
librsb_header = <rsb.h>
librsb_libs = -lrsb
petsc_header = <petscmat.h>
petsc_flags = $(patsubst -I%,-isystem %,$(call petsc_config,--cflags-only-I))
petsc_libs = $(call petsc_config,--libs)
probe_scipy = $(PYTHON) -c 'import scipy.sparse' 2>/dev/null

# the libraries are looked for only by targets that need them
ifneq ($(filter bench-cpu-built bench-cpu-adaptors,$(MAKECMDGOALS)),)
  BENCH_PEERS_FOUND := $(foreach p,$(BENCH_PEERS),$(shell $(if $(filter scipy,$(p)),$(probe_scipy),$(call probe,$(p))) && echo $(p)))
endif

bench-cpu:
	@+$(MAKE) $(J) CUDA=0 SANITIZE=0 bench-cpu-built
	@+$(MAKE) CUDA=0 SANITIZE=0 bench-cpu-run
bench-cpu-built: $(B)/bench/bench_cpu bench-cpu-adaptors
bench-cpu-adaptors: $(BENCH_PEERS_FOUND:%=$(B)/peers/peer_%.so)
	@rm -f $(patsubst %,$(B)/peers/peer_%.so,$(filter-out $(BENCH_PEERS_FOUND),$(BENCH_PEERS)))
bench-cpu-run:
	$(if $(CSV),,@rm -f $(bench_csv))
	$(Q)COMMIT='$(shell git describe --always --dirty 2>/dev/null)' PYTHON='$(PYTHON)' \
	    $(B)/bench/bench_cpu --csv $(bench_csv) $(ARGS); status=$$?; \
	    [ ! -f $(bench_csv) ] || $(PYTHON) bench/summary_cpu.py $(bench_csv) || [ $$status != 0 ] || status=1; exit $$status
bench-cpu-deps:
	$(Q)export MPICC='$(MPICC)' PYTHON='$(PYTHON)' MKL_DIR='$(MKL_DIR)'; status=0; \
	    sh mk/deps.sh adaptors peers || status=1; sh bench/peers/mkl.sh || status=1; exit $$status
.PHONY: bench-cpu bench-cpu-built bench-cpu-adaptors bench-cpu-run bench-cpu-deps

# what all benches share
BENCH_COMMON := $(call object,$(wildcard bench/common/*.c))
$(B)/bench/common.a: $(BENCH_COMMON) mk/bench.mk
	$(Q)rm -f $@ && ar rcs $@ $(BENCH_COMMON)
# compiled as by a user of an installed libspmm: it sees spmm.h and the adaptors' interface only
$(B)/bench/common/own.o: private INCLUDES = -Iinclude -I.

# (bench_read also times a loop that calls NIST's functions)
$(BENCH_PROGRAMS): $(B)/%: $(B)/%.o $(KEEP) $(B)/bench/common.a $(ARCHIVES) $(B)/libmm.a
	$(call say,LD,$@)
	$(Q)$(link_program)

$(B)/bench/bench_cpu: $(B)/bench/cpu/bench_cpu.o $(KEEP) $(B)/bench/common.a $(ARCHIVES)
	$(call say,LD,$@)
	$(Q)$(link_program)

$(B)/peers/peer_%.so: bench/peers/%.c kernels/peers/peer.h mk/bench.mk $(B)/flags
	$(make_peer)
$(B)/peers/peer_%.so: bench/peers/%.cpp kernels/peers/peer.h mk/bench.mk $(B)/flags
	$(make_peer)
$(B)/peers/peer_scipy.so: $(B)/peers/peer_scipy.py
$(B)/peers/peer_scipy.py: bench/peers/scipy_child.py
	@mkdir -p $(@D)
	$(Q)cp $< $@

# --- make bench-mpi: the distributed product beside PETSc's ------------------------------------

ifneq ($(filter %/bench/bench_mpi build-tests,$(MAKECMDGOALS)),)
  PETSC_FOUND := $(shell $(call probe,petsc) && echo 1)
endif
# with the adaptor's object, if PETSc is found
BENCH_MPI := $(B)/bench/mpi/bench_mpi.o $(if $(PETSC_FOUND),$(B)/bench/peers/petsc.o)
# one rank per core, unless NP= is given
bench_np = $(if $(filter file,$(origin NP)),$(NPROC),$(NP))

bench-mpi:
	@+$(MAKE) $(J) CUDA=0 SANITIZE=0 $(BUILDDIR)/cpu/bench/bench_mpi
	$(Q)COMMIT='$(shell git describe --always --dirty 2>/dev/null)' $(MPIRUN) \
	    $(strip $(call mpirun_flags,$(bench_np)) -np $(bench_np)) $(BUILDDIR)/cpu/bench/bench_mpi $(if $(CSV),--csv $(CSV)) $(ARGS)
.PHONY: bench-mpi

$(B)/bench/peers/petsc.o: private INCLUDES = -I. $(petsc_flags)

# a stamp: bench_mpi is linked again when PETSc is installed or removed
$(B)/bench/mpi/peer: FORCE
	@$(call stamp,$(BENCH_MPI) $(if $(PETSC_FOUND),$(petsc_libs)))
$(B)/bench/bench_mpi: $(BENCH_MPI) $(KEEP) $(B)/bench/common.a $(ARCHIVES) $(B)/bench/mpi/peer
	$(call say,LD,$@)
	$(Q)$(link_program) $(if $(PETSC_FOUND),$(petsc_libs))

# --- what tests/test_bench_*.sh and test_adaptors.sh run

NEEDED_BY_test_bench_cpu = $(B)/bench/bench_cpu $(filter $(B)/bench/bench_%,$(BENCH_PROGRAMS)) $(if $(filter 1,$(WITH_CUDA)),$(B)/bench/bench_gpu $(B)/bench/bench_multigpu)
NEEDED_BY_test_bench_mpi = $(B)/bench/bench_mpi $(B)/tests/bench_mpi_made
NEEDED_BY_test_adaptors = $(B)/bench/bench_cpu test-adaptors
# bench_mpi beside a made library, whose adaptor sees peer.h alone
$(B)/tests/bench_peer.o: private INCLUDES = -I.
$(B)/tests/bench_peer.o: private DEFINES = -DPACKAGE='"made"' -DFORMS='{"made here", PEER_COLUMN, 1, 0, 1, 1}'
$(B)/tests/bench_mpi_made: $(B)/bench/mpi/bench_mpi.o $(B)/tests/bench_peer.o $(KEEP) $(B)/bench/common.a $(ARCHIVES)
	$(call say,LD,$@)
	$(Q)$(link_program)
# the adaptors to all libraries that are found, without optimization, as Kokkos takes minutes with it; the test reads `log`
TEST_ADAPTORS := $(BUILDDIR)/adaptors
.PHONY: test-adaptors
test-adaptors:
	$(call say,PEERS,$(TEST_ADAPTORS))
	@mkdir -p $(TEST_ADAPTORS)
	@+{ $(MAKE) -k $(J) OPT=-O0 WERROR=1 BUILDDIR=$(TEST_ADAPTORS) MKL_DIR='$(MKL_DIR)' bench-cpu-adaptors 2>&1; echo "exit status $$?"; } >$(TEST_ADAPTORS)/log

# --- make bench-all: layouts, kernels and libraries on this machine, then the Python package beside others ------------------
MATRICES ?= $(wildcard matrices/*.mtx.gz) lap3d27:100 lap3d7:150 fem3:40 rmat:18,16
all_csv = $(RECORDS)/all.csv
.PHONY: bench-all
bench-all:
	@+$(MAKE) $(J) link
	$(Q)mkdir -p '$(RECORDS)'
	$(Q)'$(PYTHON)' bench/all.py --mpirun '$(MPIRUN) $(call unbound_flags,1000000)' --csv '$(all_csv)' $(MATRICES)
	$(Q)for device in cpu:scipy cuda:cupy; do \
	    '$(PYTHON)' -c "import $${device#*:}" 2>/dev/null || continue; \
	    SPMM_LIBRARY='$(abspath $(B))' PYTHONPATH=python '$(PYTHON)' bench/beside_python.py --device $${device%:*} \
	        $(wildcard $(MATRICES)) >'$(RECORDS)/all-python-'$${device%:*}.csv || exit 1; done
	$(Q)'$(PYTHON)' bench/all.py --table '$(all_csv)'
	$(Q)set -- '$(RECORDS)'/all-python-*.csv; [ ! -f "$$1" ] || '$(PYTHON)' bench/beside_python.py --table "$$@"
