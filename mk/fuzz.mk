# Fuzz targets, tests/fuzz/: with libFuzzer by clang, and by any compiler as tests/test_fuzz_corpus.

FUZZ_S ?= 60
FUZZ_TOTAL_S ?=
FUZZ_CC ?= clang
FUZZ_TARGETS ?= $(notdir $(basename $(wildcard tests/fuzz/fuzz_*.c)))
# lines and files are short, so that a second has many of them
FUZZ_OPT = -O1 -g -fno-omit-frame-pointer -DSP_LINE_MAX=2048

# what tests/fuzz/faults.c puts itself in front of
FUZZ_WRAP := $(addprefix -Wl$(comma)--wrap=,malloc calloc realloc aligned_alloc strdup free newlocale inflateInit2_ \
                 open fcntl close fopen fclose fstat ftruncate fsync rename pread read pwrite write)
FUZZ_SHARED = $(B)/tests/fuzz/fuzz.o $(B)/tests/fuzz/faults.o
FUZZ_OBJECTS = $(FUZZ_SHARED) $(patsubst tests/fuzz/%.c,$(B)/tests/fuzz/%.o,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_PROGRAMS = $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_ARCHIVES = $(B)/series.a $(B)/program.a $(B)/libspmm.a

# the corpus as a test
$(FUZZ_TEST): private MORE_LIBS = $(SERIES_LIBS) $(FUZZ_WRAP)
$(FUZZ_TEST): $(B)/tests/test_fuzz_corpus.o $(FUZZ_OBJECTS) $(KEEP) $(FUZZ_ARCHIVES)
	$(call say,LD,$@)
	$(Q)$(link_program)

# a target for libFuzzer (FUZZ=run)
$(FUZZ_PROGRAMS): private MORE_LIBS = $(SERIES_LIBS) $(FUZZ_WRAP) -fsanitize=fuzzer -Wl,--defsym=LLVMFuzzerTestOneInput=$(@F)
$(FUZZ_PROGRAMS): $(B)/fuzz/%: $(B)/tests/fuzz/%.o $(FUZZ_SHARED) $(FUZZ_ARCHIVES)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(link_program)

# this Makefile again, with clang and no more than the targets need
fuzz_make = OMPI_CC='$(FUZZ_CC)' MPICH_CC='$(FUZZ_CC)' $(MAKE) $(J) CUDA=0 METIS=0 BLAS=0 FUZZ=$(1)

.PHONY: fuzz fuzz-build fuzz-programs fuzz-coverage
fuzz-programs: $(FUZZ_PROGRAMS)
fuzz-build:
	@+$(call fuzz_make,run) fuzz-programs
fuzz:
	$(Q)$(call deps,build fuzz)
	@+if why=$$(FUZZ_CC='$(FUZZ_CC)' tests/fuzz/run --missing); then \
	    echo "SKIP make fuzz: $$why"; echo "0 passed, 0 failed, 1 skipped"; \
	else \
	    $(MAKE) fuzz-build && \
	    FUZZ_S='$(FUZZ_S)' FUZZ_TOTAL_S='$(FUZZ_TOTAL_S)' PYTHON='$(PYTHON)' tests/fuzz/run $(BUILDDIR) $(FUZZ_TARGETS); \
	fi
