# What is built, and with what. All detection of the machine's compilers, libraries and GPUs is here.

## BUILDDIR=build    the folder for cpu/, cuda/, asan/ .. and for the settings of the last build
BUILDDIR ?= build
include mk/settings.mk

## MPI=1             0: libspmm and the programs for one process, without an MPI; contrib/one_rank replaces it
MPI ?= 1
# (MPI in the environment is meant for other software)
ifneq ($(filter environment,$(origin MPI)),)
  MPI := 1
endif
## CUDA=auto|1|0     build the GPU side when nvcc is found | demand it | leave it out
CUDA ?= auto
## METIS=auto|1|0    cut graphs of matrices with METIS 5 when it is found | demand it | leave it out
METIS ?= auto
##                   METIS_LIBS="-lmetis -lGKlib"  what to link if -lmetis is not enough
METIS_LIBS ?= -lmetis
## ISAL=auto|1|0     inflate gzip files with ISA-L when it is found | demand it | leave it to zlib
ISAL ?= auto
## BZIP2=auto|1|0    read bzip2 files when libbz2 is found | demand it | leave it out
BZIP2 ?= auto
## LZMA=auto|1|0 ZSTD=auto|1|0   read xz and zstd files when liblzma and libzstd are found | demand it | leave it out
LZMA ?= auto
ZSTD ?= auto
## HWLOC=auto|1|0    ask hwloc 2 for cores, and for the cores near a GPU, when it is found | demand it | leave it out
HWLOC ?= auto
## BLAS=auto|1|0     multiply series with a BLAS when it and cblas.h are found | demand it | leave it out
BLAS ?= auto
##                   BLAS_LIBS=-lopenblas  what to link
BLAS_LIBS ?= -lopenblas
## NCCL=auto|1|0     move rows between GPUs with NCCL when it is found | demand it | leave it out
NCCL ?= auto
##                   NCCL_HOME=DIR  where NCCL is, if not with the system's headers and libraries
NCCL_HOME ?=
## FORTRAN=auto|1|0  make libspmm's module for Fortran when MPI's Fortran wrapper and mpi_f08 are found | demand it | leave it out
FORTRAN ?= auto
##                   MPIFC=mpifort  the wrapper (default: the one beside MPICC);  FCFLAGS=  added to ours
MPIFC ?= $(if $(findstring /,$(MPICC)),$(dir $(MPICC)))$(patsubst cc,ftn,$(subst mpicc,mpifort,$(subst mpiicc,mpiifort,$(notdir $(MPICC)))))
## GPU_ARCH="80 90"  GPUs to make machine code for (default: this machine's, else 80 and 90; and PTX)
GPU_ARCH ?=
## SERIES=1          0: leave out series_mpi, its kernels, tests and bench
SERIES ?= 1
## BASELINE=1        0: leave out the baseline kernels of earlier course work, with which others are compared
BASELINE ?= 1
## PEERS=auto|1|0    build adaptors to the other libraries of --kernel that are found (Eigen, MKL, cuSPARSE) | demand all | none
PEERS ?= auto
##                   CUSPARSE_HOME=DIR  another cuSPARSE than that of the CUDA toolkit
##                   MKL_DIR=DIR  where MKL is (default: $MKLROOT, else where make bench-cpu-deps puts it)
## MPICC=mpicc       the MPI compiler wrapper;  NVCC=nvcc  the CUDA compiler;  MPIRUN=mpirun
##                   e.g. MPICC=mpicc.mpich MPIRUN=mpirun.mpich, if there is more than one MPI
## CC=               the C compiler that MPICC calls, e.g. clang (default: the wrapper's own; from the command line only)
MPICC ?= mpicc
## GCC=gcc CLANG=clang   the compilers of check-asan, check-tsan and check-toolchains
GCC ?= gcc
CLANG ?= clang
MPIRUN ?= mpirun
# MPI=0 needs no wrapper and no launcher. The file of settings (settings.mk) still remembers the given MPICC and
# MPIRUN, for a later build with MPI
ifeq ($(MPI),0)
  said_MPICC := $(MPICC)
  said_MPIRUN := $(MPIRUN)
  override MPICC := $(if $(filter command file,$(firstword $(origin CC))),$(CC),cc)
  override MPIRUN := $(if $(word 2,$(CURDIR)),,$(CURDIR)/)mk/alone
endif
NVCC ?= $(firstword $(shell command -v nvcc) \
                    $(wildcard $(CUDA_HOME)/bin/nvcc $(CUDA_PATH)/bin/nvcc /usr/local/cuda/bin/nvcc))
## CFLAGS= LDFLAGS= NVCCFLAGS=  are added to ours;  OPT="-O3 -g"  replaces the optimization (not nvcc's)
##                   flags that change the values of results, such as -ffast-math, are errors
OPT ?= -O3 -g
## WERROR=0          1: warnings are errors, as in .ci/run
WERROR ?= 0
## V=0               1: show every command and every test
V ?= 0
## PREFIX=/usr/local DESTDIR=   where `make install` puts things
PREFIX ?= /usr/local
DESTDIR ?=

Q := $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),@:,@printf '  %-6s %s\n' $(1) $(2))

NPROC := $(shell nproc 2>/dev/null || echo 2)
# a recursive make uses all cores, unless the user gave -j
J = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(NPROC))

VERSION := $(shell sed -n 's/^.define SPMM_VERSION "\(.*\)"/\1/p' include/spmm_types.h)
# before 1.0 the minor version is part of the name, since programs may have to be compiled again for it
INTERFACE := $(subst $() ,.,$(wordlist 1,$(if $(VERSION:0.%=),1,2),$(subst ., ,$(VERSION))))
SONAME := libspmm.so.$(INTERFACE)
MM_SONAME := libmm.so.$(INTERFACE)

# --- which compiler ---------------------------------------------------------------------------

# Modules often set CC in the environment, for builds without MPI. Thus CC counts only on the command line, or
# if it was given there for the last build. Open MPI, MPICH and Intel MPI each read another variable; $(shell)
# does not see exported variables.
comma := ,
ifneq ($(and $(filter-out 0,$(MPI)),$(filter command file,$(firstword $(origin CC)))),)
  export OMPI_CC := $(CC)
  export MPICH_CC := $(CC)
  export I_MPI_CC := $(CC)
  MPI_ENV := OMPI_CC='$(CC)' MPICH_CC='$(CC)' I_MPI_CC='$(CC)'
endif
# the wrapper, as $(shell) must call it
mpicc = $(MPI_ENV) $(MPICC)
COMPILER := $(shell $(mpicc) --version 2>/dev/null | head -1)
CLANG_USED := $(findstring clang,$(COMPILER))
# what the wrapper runs: as Open MPI's wrapper reports it, else as MPICH's does
MPI_COMMAND := $(if $(filter-out 0,$(MPI)),$(shell $(mpicc) --showme:command 2>/dev/null || $(mpicc) -show 2>/dev/null))
MPI_LINK := $(if $(filter-out 0,$(MPI)),$(shell $(mpicc) --showme:link 2>/dev/null))
MPI_COMPILE := $(if $(filter-out 0,$(MPI)),$(shell $(mpicc) --showme:compile 2>/dev/null || $(mpicc) -show 2>/dev/null))

# --- which build ------------------------------------------------------------------------------

NVCC_FOUND := $(if $(strip $(NVCC)),$(shell command -v $(firstword $(NVCC))))
ifeq ($(CUDA),auto)
  WITH_CUDA := $(if $(NVCC_FOUND),1,0)
else
  WITH_CUDA := $(CUDA)
endif
# SANITIZE=1: address and undefined-behavior sanitizers; SANITIZE=thread: the thread sanitizer
SANITIZE ?= 0
SANITIZED := $(filter 1 thread,$(SANITIZE))
# FUZZ=run, FUZZ=coverage: the two builds of mk/fuzz.mk, by clang
FUZZ ?=
ifneq ($(FUZZ),)
  override WITH_CUDA := 0
  KIND := fuzz-$(FUZZ)
else ifneq ($(SANITIZED),)
  override WITH_CUDA := 0
  KIND := $(if $(filter thread,$(SANITIZE)),tsan,asan)$(if $(CLANG_USED),-clang)
else ifeq ($(WITH_CUDA),1)
  KIND := cuda
else
  KIND := cpu
endif
B := $(BUILDDIR)/$(KIND)$(if $(filter 0,$(MPI)),-one)

problem :=
ifeq ($(filter auto 0 1,$(CUDA)),)
  problem := CUDA=$(CUDA) is not one of auto, 1 and 0
else ifeq ($(WITH_CUDA)$(NVCC_FOUND),1)
  problem := CUDA=1 needs nvcc, and there is none: put it on PATH (module load cuda), set NVCC=, or use CUDA=0
else ifeq ($(filter 0 1,$(MPI)),)
  problem := MPI=$(MPI) is not one of 1 and 0
else ifeq ($(MPI)$(shell command -v $(firstword $(MPICC))),0)
  problem := there is no $(MPICC): install a C compiler, or set CC=
else ifeq ($(shell command -v $(firstword $(MPICC))),)
  problem := there is no $(MPICC): run `make deps`, or load an MPI (module load openmpi), or set MPICC=
else ifneq ($(if $(MPI_ENV),$(findstring $(CC),$(MPI_COMMAND)),$(CC)),$(CC))
  problem := CC=$(CC) is not what $(MPICC) calls: choose the compiler by MPICC=
else ifeq ($(if $(MPI_ENV),$(shell command -v $(firstword $(CC))),found),)
  problem := there is no $(firstword $(CC)): install it, load it, or set CC=
else ifneq ($(CLANG_USED),)
  # gcc includes its OpenMP; clang's is often a separate package
  ifeq ($(shell echo '\043include <omp.h>' | $(mpicc) $(CFLAGS) -fopenmp -fsyntax-only -x c - 2>/dev/null && echo 1),)
    problem := $(MPICC) calls clang, which finds no omp.h: install its OpenMP (libomp-dev; libomp-19-dev for clang-19; llvm-openmp in Spack and conda), or use CC=gcc
  endif
endif

# 1 or empty
WITH_SERIES := $(filter-out 0,$(SERIES))
WITH_BASELINE := $(filter-out 0,$(BASELINE))
ifeq ($(filter 0 1,$(SERIES)),)
  problem := SERIES=$(SERIES) is not one of 1 and 0
else ifeq ($(filter 0 1,$(BASELINE)),)
  problem := BASELINE=$(BASELINE) is not one of 1 and 0
endif

METIS_FOUND :=
ifneq ($(METIS),0)
  # checks header and library with a program that must link
  METIS_FOUND := $(shell t=$$(mktemp) && printf '\043include <metis.h>\nint main(void) { idx_t o[METIS_NOPTIONS]; return METIS_SetDefaultOptions(o); }\n' \
      | $(mpicc) $(CFLAGS) -x c - -o $$t $(LDFLAGS) $(METIS_LIBS) >/dev/null 2>&1 && echo 1; rm -f $$t)
endif
ifeq ($(filter auto 0 1,$(METIS)),)
  problem := METIS=$(METIS) is not one of auto, 1 and 0
else ifeq ($(problem)$(METIS)$(METIS_FOUND),1)
  problem := METIS=1 needs metis.h and libmetis: install libmetis-dev, load METIS (CFLAGS=-I, LDFLAGS=-L), or use METIS=0
endif

# $(call optional,KNOB,header,a call,what to link,package) sets KNOB_FOUND to 1 if header and library are
# found, i.e. if a program links
define optional
$(1)_LIBS := $(4)
$(1)_FOUND := $(if $(filter-out 0,$($(1))),$(shell t=$$(mktemp) && printf '\043include <$(2)>\nint main(void) { return (int)$(3); }\n' \
    | $(mpicc) $(CFLAGS) -x c - -o $$t $(LDFLAGS) $(4) >/dev/null 2>&1 && echo 1; rm -f $$t))
ifeq ($(filter auto 0 1,$($(1))),)
  problem := $(1)=$($(1)) is not one of auto, 1 and 0
else ifeq ($$(problem)$($(1))$$($(1)_FOUND),1)
  problem := $(1)=1 needs $(2) and what $(4) links: install $(5), set CFLAGS=-I and LDFLAGS=-L, or use $(1)=0
endif
endef
$(eval $(call optional,ISAL,isa-l/igzip_lib.h,isal_inflate(0) + ISAL_GZIP_NO_HDR_VER,-lisal,libisal-dev))
$(eval $(call optional,BZIP2,bzlib.h,(BZ2_bzlibVersion() != 0),-lbz2,libbz2-dev))
$(eval $(call optional,LZMA,lzma.h,lzma_version_number(),-llzma,liblzma-dev))
$(eval $(call optional,ZSTD,zstd.h,ZSTD_DCtx_setParameter(0$(comma)ZSTD_d_windowLogMax$(comma)27),-lzstd,libzstd-dev))
# (hwloc 1 lacks this function)
$(eval $(call optional,HWLOC,hwloc.h,hwloc_topology_set_components(0$(comma)HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST$(comma)0),-lhwloc,libhwloc-dev))
OPTIONAL_LIBS := $(foreach k,ISAL BZIP2 LZMA ZSTD HWLOC,$(if $($(k)_FOUND),$($(k)_LIBS)))

NCCL_FOUND :=
# (nccl.h has declarations that our warnings object to)
NCCL_FLAGS := $(if $(NCCL_HOME),-isystem $(abspath $(NCCL_HOME))/include)
NCCL_LIBS := $(if $(NCCL_HOME),-L$(abspath $(NCCL_HOME))/lib -Wl$(comma)-rpath$(comma)$(abspath $(NCCL_HOME))/lib) -lnccl
ifeq ($(WITH_CUDA)$(filter 0,$(NCCL)),1)
  # checks header and library with nvcc, which finds CUDA's headers
  NCCL_FOUND := $(shell t=$$(mktemp) && printf '\043include <nccl.h>\nint main(void) { int v; return ncclGetVersion(&v); }\n' \
      | $(NVCC) $(NCCL_FLAGS) -x cu - -o $$t $(subst -Wl$(comma)-rpath$(comma),-Xlinker -rpath -Xlinker ,$(NCCL_LIBS)) >/dev/null 2>&1 && echo 1; rm -f $$t)
endif
ifeq ($(filter auto 0 1,$(NCCL)),)
  problem := NCCL=$(NCCL) is not one of auto, 1 and 0
else ifeq ($(problem)$(NCCL)$(NCCL_FOUND),1)
  problem := NCCL=1 needs a build with CUDA, nccl.h and libnccl: install libnccl-dev, set NCCL_HOME=, or use NCCL=0
endif

# --- flags ------------------------------------------------------------------------------------

# for #include "FOLDER/FILE.h" (in src) and "kernels/.."
INCLUDES := $(if $(filter 0,$(MPI)),-Icontrib/one_rank) -Iinclude -Isrc -I.
DEFINES := $(if $(WITH_BASELINE),,-DSP_NO_BASELINE)
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
# clang warns of loops that it does not vectorize, e.g. with sanitizers or OPT=-O0
WARNINGS += $(if $(CLANG_USED),-Wno-pass-failed)
ifeq ($(WERROR),1)
  WARNINGS += -Werror
endif
ifneq ($(SANITIZED),)
  UNDEFINED := undefined,float-cast-overflow
  override OPT := -g1 -fno-omit-frame-pointer $(if $(filter thread,$(SANITIZE)),-O2 -fsanitize=thread,-O1 -fsanitize=address$(comma)$(UNDEFINED) -fno-sanitize-recover=$(UNDEFINED))
endif
# a low limit for the length of a line, for speed
FUZZ_OPT := -O1 -g1 -fno-omit-frame-pointer -Wno-pass-failed -DSP_LINE_MAX=2048
ifeq ($(FUZZ),run)
  override OPT := $(FUZZ_OPT) -fsanitize=fuzzer-no-link,address,undefined,float-cast-overflow -fno-sanitize-recover=all
else ifeq ($(FUZZ),coverage)
  override OPT := $(FUZZ_OPT) -fprofile-instr-generate -fcoverage-mapping
endif
# Flags by which compilers reorder sums, fuse products, or do without inf, nan, -0 and denormal numbers. When
# gcc links with the first three, the library makes every process that loads it flush denormal numbers.
UNSAFE := -ffast-math -Ofast -funsafe-math-optimizations -ffinite-math-only -fassociative-math -freciprocal-math -fno-signed-zeros \
    -fno-honor-nans -fno-honor-infinities -fapprox-func -fsingle-precision-constant -mdaz-ftz -fdenormal-fp-math% -ffp-contract=fast% -ffp-contract=on \
    -ffp-model=fast% -ffp-model=aggressive -fp-model=fast% -fast -Mflushz -Mdaz -ftz \
    -use_fast_math --use_fast_math -ftz=true --ftz=true -prec-div=false --prec-div=false -prec-sqrt=false --prec-sqrt=false
# the flags of $(1) as words, also those of -Xcompiler A,B
flags_of = $(subst $(comma), ,$(subst ",,$(subst ',,$($(1)))))
unsafe_flags := $(strip $(foreach v,CFLAGS LDFLAGS OPT MPICC MPI_COMPILE MPI_LINK CC CXX NVCC NVCCFLAGS NVCC_PREPEND_FLAGS NVCC_APPEND_FLAGS FCFLAGS MPIFC, \
    $(foreach f,$(filter $(UNSAFE),$(call flags_of,$v)),$f|$v)))
ifneq ($(unsafe_flags),)
  problem := $(subst |, in ,$(firstword $(unsafe_flags))) would change the values of results (inf$(comma) nan$(comma) denormal numbers$(comma) the order of sums): leave it out
endif
# no contraction: the source, and not the compiler, decides which products and sums are one fma, so that all
# compilers produce the same bits
ALL_CFLAGS = -std=c11 -ffp-contract=off -D_GNU_SOURCE $(OPT) $(WARNINGS) -fopenmp -fPIC $(INCLUDES) $(DEFINES) $(NCCL_FLAGS) $(CFLAGS)
LIBS := $(if $(NCCL_FOUND),$(NCCL_LIBS)) $(if $(METIS_FOUND),$(METIS_LIBS)) $(OPTIONAL_LIBS) -lz -lm

MPI_INCLUDES := $(patsubst -I%,-isystem %,$(filter -I%,$(MPI_COMPILE)))

ifeq ($(WITH_CUDA)$(if $(NVCC_FOUND),1),11)
  # nvcc may be a wrapper, or a link: ask it where its toolkit is
  CUDA_TOP := $(shell $(NVCC) --dryrun -x cu /dev/null 2>&1 | sed -n 's/^.\$$ TOP=//p')
  CUDA_TARGET := $(shell $(NVCC) --dryrun -x cu /dev/null 2>&1 | sed -n 's/^.\$$ _TARGET_DIR_=\(..*\)/\1/p')
  CUDA_LIB := $(patsubst %/libcudart_static.a,%,$(firstword $(wildcard \
      $(addsuffix /libcudart_static.a,$(CUDA_TOP)/$(CUDA_TARGET)/lib $(CUDA_TOP)/lib64 $(CUDA_TOP)/lib \
          /usr/lib/x86_64-linux-gnu))))
  CUDA_INCLUDE := $(patsubst %/cuda_runtime.h,%,$(firstword $(wildcard \
      $(addsuffix /cuda_runtime.h,$(CUDA_TOP)/$(CUDA_TARGET)/include $(CUDA_TOP)/include /usr/include))))
  # (mk/wheel.mk links another one)
  STDCXX ?= -lstdc++
  CUDA_LIBS := $(if $(CUDA_LIB),-L$(abspath $(CUDA_LIB))) -lcudart_static -ldl -lrt -lpthread $(STDCXX)

  NVCC_KNOWS := $(patsubst sm_%,%,$(shell $(NVCC) --list-gpu-code 2>/dev/null))
  ARCHS := $(patsubst sm_%,%,$(subst .,,$(subst $(comma), ,$(GPU_ARCH))))
  ifeq ($(strip $(ARCHS)),)
    ARCHS := $(filter $(NVCC_KNOWS),$(shell nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null \
                 | sed -n 's/^\([0-9]*\)\.\([0-9]*\)$$/\1\2/p' | sort -nu))
  endif
  ifeq ($(strip $(ARCHS)),)
    ARCHS := $(filter $(NVCC_KNOWS),80 90)
  endif
  NEWEST := $(lastword $(shell printf '%s\n' $(ARCHS) | sort -n))
  GENCODE := $(foreach a,$(ARCHS),-gencode arch=compute_$(a),code=sm_$(a)) \
             $(NEWEST:%=-gencode arch=compute_%$(comma)code=compute_$(NEWEST))
  ALL_NVCCFLAGS = -std=c++17 -O3 -g -lineinfo $(GENCODE) -Xcompiler -fPIC,-Wall,-Wextra,-Wno-unused-parameter \
                  $(if $(filter 1,$(WERROR)),-Werror all-warnings -Xcompiler -Werror) \
                  $(INCLUDES) $(DEFINES) $(MPI_INCLUDES) -DOMPI_SKIP_MPICXX=1 -DMPICH_SKIP_MPICXX=1 $(NVCCFLAGS)
  ALL_CFLAGS += $(if $(CUDA_INCLUDE),-isystem $(abspath $(CUDA_INCLUDE)))
endif

# a library of the toolkit, or a mathematical library of the HPC SDK, which keeps them in another folder;
# $(1): cublas, cusparse, ..; cuda_header likewise: a header
cuda_library = $(if $(filter 1,$(WITH_CUDA)),$(firstword $(wildcard $(addsuffix /lib$(1).so,$(CUDA_LIB) \
    $(CUDA_TOP)/lib64 $(addprefix $(CUDA_TOP)/../,../math_libs/lib64 math_libs/lib64) /usr/lib/x86_64-linux-gnu))))
cuda_header = $(firstword $(wildcard $(addsuffix /$(1),$(CUDA_INCLUDE) $(CUDA_TOP)/include \
    $(addprefix $(CUDA_TOP)/../,../math_libs/include math_libs/include) /usr/include)))
# links the library $(1); the loader also looks in its folder, which contains the libraries that it needs
cuda_link = -L$(dir $(1)) -Wl$(comma)-rpath$(comma)$(abspath $(dir $(1)))

# --- what there is to build -------------------------------------------------------------------

# of each pair of files, the one that this build does not link (for series_mpi: mk/series.mk)
UNUSED := $(if $(filter 1,$(WITH_CUDA)),src/device/device_none.c kernels/no_cuda.c,$(wildcard src/device/device_cuda*.c)) \
          $(if $(filter 0,$(MPI)),src/plan/fortran.c) \
          $(if $(NCCL_FOUND),src/comm/nccl_none.c,src/comm/nccl_found.c) \
          $(if $(METIS_FOUND),src/order/graph_cut_none.c,src/order/graph_cut_metis.c) \
          src/codec/gzip_$(if $(ISAL_FOUND),zlib,isal).c src/codec/bzip2_$(if $(BZIP2_FOUND),none,found).c \
          src/codec/xz_$(if $(LZMA_FOUND),none,found).c \
          src/codec/zstd_$(if $(ZSTD_FOUND),none,found).c src/device/topology_$(if $(HWLOC_FOUND),none,hwloc).c
# all files of these folders that this build compiles
sources = $(filter-out $(UNUSED),$(wildcard $(addsuffix /*.c,$(1)) $(if $(filter 1,$(WITH_CUDA)),$(addsuffix /*.cu,$(1)))))
# libspmm; what both programs share; a program (docs/DESIGN.md, "Layers")
LIB_FOLDERS := $(addprefix src/,base device formats dense codec io files order comm distribute halo exchange product plan) kernels \
    $(if $(filter 0,$(MPI)),contrib/one_rank) $(addprefix kernels/,loops cpu cuda cuda_complex cuda_ops $(if $(WITH_BASELINE),baseline))
LIB_SOURCES := $(call sources,$(LIB_FOLDERS))
CLI_SOURCES := $(call sources,src/cli)
PROGRAM_SOURCES := $(filter-out %/main.c,$(call sources,src/spmm_mpi kernels/peers))
object = $(patsubst %.c,$(B)/%.o,$(patsubst %.cu,$(B)/%.cu.o,$(1)))
LIB_OBJECTS := $(call object,$(LIB_SOURCES))
CLI_OBJECTS := $(call object,$(CLI_SOURCES))
PROGRAM_OBJECTS := $(call object,$(PROGRAM_SOURCES))
PROGRAMS := spmm_mpi $(if $(WITH_SERIES),series_mpi)
ARCHIVES := $(B)/program.a $(B)/cli.a $(B)/libspmm.a
# libmm, NIST's functions for Matrix Market files: libspmm calls none of them; both read banners, sizes and numbers by the same functions
MM_OBJECTS := $(call object,contrib/mmio/mmio.c src/io/mtx_banner.c src/io/numparse.c)
# tests/install_client.c is compiled by its test, against an installed libspmm
# tests/test_fuzz_corpus.c has its own rule (mk/fuzz.mk)
FUZZ_TEST := $(B)/tests/test_fuzz_corpus
SERIES_TESTS := $(patsubst %.c,$(B)/%,$(wildcard tests/test_series*.c tests/test_gpu_series*.c tests/test_gpu_pearson.c))
TEST_PROGRAMS := $(filter-out $(SERIES_TESTS) $(FUZZ_TEST),$(patsubst %.c,$(B)/%,$(filter-out tests/install_client.c tests/bench_peer.c,$(wildcard tests/*.c))))
BENCH_PROGRAMS := $(patsubst %.c,$(B)/%,$(filter-out bench/bench_series.c,$(wildcard bench/*.c)))

# --- running ----------------------------------------------------------------------------------

# a Python that has SciPy, for tests
PYTHON ?= $(shell for p in python3 /usr/bin/python3 python; do \
              $$p -c 'import scipy.sparse' 2>/dev/null && { command -v $$p; exit; }; done; echo python3)
# ("mpirun (Open MPI) 4.1.4"; called by another name, as mpirun.openmpi: "mpirun.openmpi (OpenRTE) 4.1.4")
OPEN_MPI := $(if $(and $(filter-out 0,$(MPI)),$(shell $(MPIRUN) --version 2>/dev/null | head -1 | grep -i 'open *mpi\|openrte')),1)
# Open MPI needs options to run as root, and to run more ranks ($(1)) than cores
mpirun_flags = $(if $(OPEN_MPI),$(if $(filter 0,$(shell id -u)),--allow-run-as-root) \
    $(shell test $(1) -le $(NPROC) || echo --oversubscribe --bind-to none))
