# The Python package with libspmm inside, for pip: separate builds, one with MPI=0 and one for the MPIs with
# MPICH's binary interface, which need only glibc, zlib, an OpenMP runtime and that MPI. With nvcc they contain
# the CUDA kernels, and the CUDA runtime and C++'s library are linked statically.

WHEEL_BUILD := $(BUILDDIR)/wheel
WHEEL_LEFT_OUT := METIS=0 ISAL=0 BZIP2=0 LZMA=0 ZSTD=0 HWLOC=0 BLAS=0 NCCL=0 FORTRAN=0 SERIES=0 BASELINE=0 PEERS=0 SANITIZE=0
wheel_make = $(MAKE) $(J) CUDA=$(WITH_CUDA) $(WHEEL_LEFT_OUT) BUILDDIR=$(WHEEL_BUILD) OPT=-O3 LDFLAGS=-s CFLAGS= \
    GPU_ARCH='$(or $(GPU_ARCH),80 90)' STDCXX=-l:libstdc++.a
.PHONY: dist wheel library-of-wheel wheel-of-build
wheel:
	$(Q)$(if $(filter 1,$(NO_DEPS)),:,MPI=0 NVCC='$(if $(filter 1,$(WITH_CUDA)),$(NVCC))' MPICC_mpich='$(MPICC_mpich)' \
	    MPIRUN_mpich='$(MPIRUN_mpich)' sh mk/deps.sh build mpich)
	@command -v $(firstword $(MPICC_mpich)) >/dev/null || { echo 'make wheel: there is no $(MPICC_mpich): install MPICH, or set MPICC_mpich=' >&2; exit 1; }
	@+$(wheel_make) MPI=1 MPICC='$(MPICC_mpich)' library-of-wheel
	@+$(wheel_make) MPI=0 wheel-of-build

library-of-wheel: $(B)/libspmm.so
	@:
wheel-of-build: $(B)/libspmm.so
	@$(if $(CLANG_USED),echo 'make wheel: the wheel includes the OpenMP runtime of gcc: build with CC=gcc' >&2; exit 1)
	$(call say,WHEEL,$(WHEEL_BUILD))
	$(Q)$(PYTHON) mk/wheel.py --library $(B)/libspmm.so.$(VERSION) --mpich $(B:-one=)/libspmm.so.$(VERSION) \
	    --openmp "$$($(MPICC) -print-file-name=libgomp.so.1)" --out $(BUILDDIR)
