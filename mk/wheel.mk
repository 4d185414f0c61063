# The Python package with libspmm inside, for pip: a separate build with MPI=0, which needs only glibc, zlib
# and an OpenMP runtime. With nvcc it contains the CUDA kernels, and the CUDA runtime and C++'s library are
# linked statically.

WHEEL_BUILD := $(BUILDDIR)/wheel
WHEEL_LEFT_OUT := METIS=0 ISAL=0 BZIP2=0 LZMA=0 ZSTD=0 HWLOC=0 BLAS=0 NCCL=0 FORTRAN=0 SERIES=0 BASELINE=0 PEERS=0 SANITIZE=0
.PHONY: wheel wheel-of-build
wheel:
	$(Q)$(if $(filter 1,$(NO_DEPS)),:,MPI=0 NVCC='$(if $(filter 1,$(WITH_CUDA)),$(NVCC))' sh mk/deps.sh build)
	@+$(MAKE) $(J) MPI=0 CUDA=$(WITH_CUDA) $(WHEEL_LEFT_OUT) BUILDDIR=$(WHEEL_BUILD) OPT=-O3 LDFLAGS=-s CFLAGS= \
	    GPU_ARCH='$(or $(GPU_ARCH),80 90)' STDCXX=-l:libstdc++.a wheel-of-build

wheel-of-build: $(B)/libspmm.so
	@$(if $(CLANG_USED),echo 'make wheel: the OpenMP runtime inside is that of gcc: CC=gcc' >&2; exit 1)
	$(call say,WHEEL,$(WHEEL_BUILD))
	$(Q)$(PYTHON) mk/wheel.py --library $(B)/libspmm.so.$(VERSION) \
	    --openmp "$$($(MPICC) -print-file-name=libgomp.so.1)" --out $(BUILDDIR)
