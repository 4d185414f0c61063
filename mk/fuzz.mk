# Fuzz targets, tests/fuzz/. clang links each of them with libFuzzer. Any compiler links all of them into
# tests/test_fuzz_corpus, a test that runs them on the stored corpus.

FUZZ_S ?= 60
FUZZ_TOTAL_S ?=
FUZZ_CC ?= clang
FUZZ_TARGETS ?= $(notdir $(basename $(wildcard tests/fuzz/fuzz_*.c))) jobs

# the functions that tests/fuzz/faults.c wraps
FUZZ_WRAP := $(addprefix -Wl$(comma)--wrap=,malloc calloc realloc aligned_alloc strdup free newlocale inflateInit2_ \
                 open fcntl close fopen fmemopen fclose fdopen fflush flock fchmod mkdir stat fstat ftruncate fsync rename \
                 pread read pwrite write writev)
# if it is installed, fast_float parses numbers for comparison, in addition to strtod
FUZZ_ORACLE := $(if $(FUZZ),$(shell printf '\043include <fast_float/fast_float.h>\n' | $(FUZZ_CC) -xc++ -fsyntax-only - 2>/dev/null \
    && echo oracle_fast_float))
FUZZ_SHARED = $(patsubst %,$(B)/tests/fuzz/%.o,fuzz faults files ways $(if $(WITH_SERIES),series,series_none) $(or $(FUZZ_ORACLE),oracle_none))
FUZZ_OBJECTS = $(FUZZ_SHARED) $(patsubst tests/fuzz/%.c,$(B)/tests/fuzz/%.o,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_PROGRAMS = $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_ARCHIVES = $(if $(WITH_SERIES),$(B)/series.a) $(ARCHIVES) $(B)/libmm.a

$(B)/tests/fuzz/%.o: tests/fuzz/%.cpp $(B)/flags
	@mkdir -p $(@D)
	$(call say,CXX,$<)
	$(Q)$(FUZZ_CC) -xc++ $(OPT) -MMD -MP -c $< -o $@

# The corpus has a folder of inputs for each target. It is unpacked under another name first, so that an
# interrupted make does not leave a part of it under the final name.
FUZZ_ARCHIVE := tests/fuzz/corpus.tar.gz
FUZZ_CORPUS := $(B)/fuzz-corpus
$(FUZZ_CORPUS): $(FUZZ_ARCHIVE)
	$(Q)rm -rf $@ $@.new && mkdir -p $@.new && gzip -dc $< | tar xf - -o -C $@.new && touch $@.new && mv $@.new $@
# Adds an input to the folder of its target, and packs the corpus (GNU tar). The same inputs make the same
# archive, whoever packs them.
fuzz_add_target = $(patsubst %/,%,$(dir $(AS)))
fuzz-add: $(FUZZ_CORPUS)
	$(Q)[ -f '$(INPUT)' ] && [ -f 'tests/fuzz/$(fuzz_add_target).c' ] && [ -n '$(notdir $(AS))' ] || \
	    { echo 'usage: make fuzz-add INPUT=FILE AS=TARGET/NAME; TARGET is one of $(filter fuzz_%,$(FUZZ_TARGETS))' >&2; exit 2; }
	$(Q)mkdir -p '$(FUZZ_CORPUS)/$(fuzz_add_target)' && cp '$(INPUT)' '$(FUZZ_CORPUS)/$(AS)'
	$(Q)LC_ALL=C tar -C $(FUZZ_CORPUS) --format=ustar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner \
	    --mode=a=rX,u+w -cf $(FUZZ_CORPUS).tar . && gzip -9nf $(FUZZ_CORPUS).tar && mv $(FUZZ_CORPUS).tar.gz $(FUZZ_ARCHIVE)

# the corpus as a test
$(FUZZ_TEST): | $(FUZZ_CORPUS)
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

ifneq ($(FUZZ),)
# kernels are linked but not fuzzed, and with sanitizers some take minutes to compile
$(B)/kernels/%.o: override OPT := -O0 -Wno-pass-failed
endif

# a make of this Makefile with clang and only what the fuzz targets need
fuzz_make = $(MAKE) $(J) CC='$(FUZZ_CC)' CUDA=0 METIS=0 BLAS=0 FUZZ=$(1)

# the sources that the targets test, for the coverage report
FUZZ_SOURCES := $(filter-out %/generators.c,$(wildcard src/io/*.c src/files/*.c)) contrib/mmio/mmio.c $(filter src/codec/%,$(LIB_SOURCES)) src/cli/option_table.c \
                    $(PROGRAMS:%=src/%/options.c)
fuzz-coverage:
	$(Q)$(call deps,build fuzz)
	@+$(call fuzz_make,coverage) $(BUILDDIR)/fuzz-coverage/tests/test_fuzz_corpus
	$(Q)FUZZ_CC='$(FUZZ_CC)' tests/fuzz/coverage $(BUILDDIR)/fuzz-coverage $(FUZZ_SOURCES)

.PHONY: fuzz fuzz-build fuzz-programs fuzz-coverage fuzz-add
fuzz-programs: $(FUZZ_PROGRAMS) $(FUZZ_CORPUS)
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
