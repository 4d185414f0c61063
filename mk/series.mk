# series_mpi: its kernels, and the libraries with which only it is linked: a BLAS, cuBLAS, CUDA's device
# runtime.

BLAS_FOUND :=
ifneq ($(BLAS),0)
  BLAS_FOUND := $(shell t=$$(mktemp) && printf '\043include <cblas.h>\nint main(void) { return cblas_dasum(0, 0, 1) != 0; }\n' \
      | $(mpicc) $(CFLAGS) -x c - -o $$t $(LDFLAGS) $(BLAS_LIBS) >/dev/null 2>&1 && echo 1; rm -f $$t)
endif
ifeq ($(filter auto 0 1,$(BLAS)),)
  problem := BLAS=$(BLAS) is not one of auto, 1 and 0
else ifeq ($(problem)$(BLAS)$(BLAS_FOUND),1)
  problem := BLAS=1 needs cblas.h and a BLAS: install libopenblas-dev, set BLAS_LIBS= (and CFLAGS=-I, LDFLAGS=-L), or use BLAS=0
endif

CUBLAS_SO := $(call cuda_library,cublas)
CUBLAS_H := $(if $(CUBLAS_SO),$(call cuda_header,cublas_v2.h))
CUBLAS_LIBS := $(if $(CUBLAS_H),$(call cuda_link,$(CUBLAS_SO)) -lcublas)

UNUSED += $(if $(filter 1,$(WITH_CUDA)),kernels/series/no_cuda_series.c) \
          $(if $(BLAS_FOUND),kernels/series/no_blas.c,kernels/series/cpu_series_blas.c) \
          $(if $(CUBLAS_H)$(filter 0,$(WITH_CUDA)),kernels/series/no_cublas.c,kernels/series/cuda_series_blas.cu)
SERIES_SOURCES := $(filter-out %/main.c,$(call sources,src/series_mpi kernels/series))
SERIES_OBJECTS := $(call object,$(SERIES_SOURCES))
NESTED := $(if $(filter 1,$(WITH_CUDA)),$(B)/kernels/series/cuda_series_nested.cu.o $(B)/nested_link.o)
SERIES_LIBS = $(CUBLAS_LIBS) $(if $(NESTED),$(if $(CUDA_LIB),-L$(abspath $(CUDA_LIB))) -lcudadevrt) \
              $(if $(BLAS_FOUND),$(BLAS_LIBS))

# relocatable device code, and the object that its device link makes
$(B)/kernels/series/cuda_series_nested.cu.o: private NVCCFLAGS += -rdc=true
$(B)/nested_link.o: $(B)/kernels/series/cuda_series_nested.cu.o $(B)/nvcc-flags
	$(call say,DLINK,$@)
	$(Q)$(NVCC) $(GENCODE) -Xcompiler -fPIC -dlink $< -o $@ -lcudadevrt

$(B)/series-flags: FORCE
	@$(call stamp,$(SERIES_OBJECTS) $(SERIES_LIBS))
$(B)/series.a: $(SERIES_OBJECTS) $(NESTED) $(B)/series-flags
	$(Q)rm -f $@ && ar rcs $@ $(filter %.o,$(sort $^))
$(B)/series_mpi $(SERIES_TESTS) $(B)/bench/bench_series: private MORE_LIBS = $(SERIES_LIBS)
$(B)/series_mpi: $(B)/src/series_mpi/main.o $(KEEP) $(B)/series.a $(B)/cli.a $(B)/libspmm.a
	$(call say,LD,$@)
	$(Q)$(link_program)
$(B)/bench/bench_series: $(B)/bench/bench_series.o $(KEEP) $(B)/bench/common.a $(B)/series.a $(B)/cli.a $(B)/libspmm.a
	$(call say,LD,$@)
	$(Q)$(link_program)
$(SERIES_TESTS): $(B)/%: $(B)/%.o $(KEEP) $(B)/series.a $(B)/cli.a $(B)/libspmm.a
	$(call say,LD,$@)
	$(Q)$(link_program)
