# Studies: runs of spmm_mpi for the points that jobs/studies/NAME.study lists, and their records, tables,
# plots and page.
RECORDS ?= records
SET ?=
STUDIES := $(patsubst jobs/studies/%.study,%,$(wildcard jobs/studies/*.study))
# in some studies {ranks} exceeds the number of cores
study_launcher = $(MPIRUN) $(strip $(call mpirun_flags,1000000)) -np {ranks}
study_command = SPMM_LAUNCHER='$(study_launcher)' jobs/study
study-hosts: study_command = MPIRUN='$(MPIRUN)' '$(PYTHON)' bench/study_hosts.py

.PHONY: study-conversions study-series study-series-large $(STUDIES:%=study-%)
$(STUDIES:%=study-%): study-%:
	@+$(MAKE) $(J) link
	$(Q)mkdir -p '$(RECORDS)'
	$(Q)$(study_command) $(SET:%=--set '%') --records '$(RECORDS)/$*.jsonl' jobs/studies/$*.study
	$(Q)$(call deps,figures)
	$(Q)$(study_python) jobs/report '$(RECORDS)/$*.jsonl' -o '$(RECORDS)/$*.html'
	$(Q)$(study_python) jobs/scaling '$(RECORDS)/$*.jsonl' --out '$(RECORDS)/$*'

study-conversions:
	@+$(MAKE) $(J) link
	$(Q)mkdir -p '$(RECORDS)'
	$(Q)$(call deps,figures)
	$(Q)SPMM_LAUNCHER='$(study_launcher)' $(study_python) jobs/conversions --records '$(RECORDS)/conversions.jsonl' \
	    --out '$(RECORDS)/conversions'

# make study-series, generated series on one GPU: walk_thread by threads per block; sums with several blocks
# per series by the number of blocks; values in each memory, also with generation's constants in constant
# memory.
# SERIES_ARGS: e.g. -m 2048 -p f32; a second run adds rounds to the records
SERIES_BLOCK_SIZES ?= 32 64 128 256 512 1024
SERIES_BLOCKS ?= 2,4,8
SERIES_MEMORIES ?= device mapped managed
SERIES_ARGS ?=
SERIES_KERNELS := sum_blocks,sum_ordered_blocks,sum_two_launches,sum_host
series_run = $(MPIRUN) $(strip $(call mpirun_flags,1)) -np 1 ./series_mpi -d cuda $(SERIES_ARGS) --json '$(RECORDS)/$(@:study-%=%).jsonl'
define series_begin
	@+$(MAKE) $(J) link
	$(Q)mkdir -p '$(RECORDS)'
endef
define series_end
	$(Q)$(call deps,figures)
	$(Q)$(study_python) jobs/report '$(RECORDS)/$(@:study-%=%).jsonl' -o '$(RECORDS)/$(@:study-%=%).html'
	$(Q)$(study_python) jobs/scaling '$(RECORDS)/$(@:study-%=%).jsonl' --out '$(RECORDS)/$(@:study-%=%)'
endef
study-series:
	$(series_begin)
	$(Q)set -e; for size in $(SERIES_BLOCK_SIZES); do \
	    $(series_run) --steps generate --kernel walk_thread --block-size $$size; done; \
	$(series_run) --steps mean --kernel $(SERIES_KERNELS) --blocks-per-series $(SERIES_BLOCKS); \
	for memory in $(SERIES_MEMORIES); do \
	    $(series_run) --steps generate --kernel walk_thread,walk_constant --block-size 32 --memory $$memory; \
	    $(series_run) --steps generate,mean --kernel walk_tiles,sum_stream --memory $$memory; done
	$(series_end)

# generation and sums of more and longer series on one GPU, up to 16384 x 65536, the size at which the time in
# the course report jumped: 8 GiB in f64, 4 GiB with SERIES_ARGS='-p f32'; a size that does not fit ends the
# study with exit code 4
SERIES_SIZES ?= 8192x8192 2048x65536 4096x65536 8192x65536 16384x65536
study-series-large:
	$(series_begin)
	$(Q)set -e; for size in $(SERIES_SIZES); do \
	    of="-m $${size%x*} -n $${size#*x}"; \
	    $(series_run) $$of --steps generate --kernel walk_thread --block-size 32; \
	    $(series_run) $$of --steps generate,mean --kernel walk_tiles,sum_interleaved,sum_stream; done
	$(series_end)

# counters of the kernels, by Nsight Compute, without nested launches, which it does not count. PROFILE:
# another command line
PROFILE ?=
PROFILE_SERIES := ./series_mpi -d cuda --steps generate,mean,deviation -r 1 --warmup 0 --kernel \
    walk_thread,walk_constant,walk_tiles,sum_neighboured,sum_interleaved,sum_unrolled,sum_shuffle,sum_stream,spread_block
PROFILE_PRODUCTS := ./spmm_mpi -d cuda -k 16 -r 1 --warmup 0 --kernel all lap3d27:64
.PHONY: profile
profile:
	@+$(MAKE) $(J) link
	$(Q)$(study_python) jobs/profile $(or $(PROFILE),$(if $(WITH_SERIES),$(PROFILE_SERIES),$(PROFILE_PRODUCTS)))
	$(Q)$(if $(PROFILE),,$(if $(WITH_SERIES),$(study_python) jobs/profile $(PROFILE_PRODUCTS)))

# the pages of docs/STUDIES.md, from the records in docs/studies/. --peak: NVIDIA's figure for the FP64 tensor
# cores of an H200, in GFLOP/s
PAGES := $(patsubst %.jsonl,%.html,$(wildcard docs/studies/*.jsonl))
PAGE_OPTIONS = $(if $(findstring H200,$@),--peak H200=67000)
.PHONY: pages $(PAGES)
pages:
	$(Q)$(call deps,figures)
	@+$(MAKE) $(J) $(PAGES)
$(PAGES): %.html: %.jsonl
	$(Q)$(study_python) jobs/report $< $(PAGE_OPTIONS) -o $@

# a Python; if it lacks matplotlib, the commands look for one that has it (jobs/spmm_study/pythons.py),
# $PYTHON first
study_python = PYTHON='$(PYTHON)' '$(PYTHON)'

# make NAME: a run on matrices/NAME.mtx
MATRIX_NAMES := $(sort $(patsubst %.mtx,%,$(patsubst %.gz,%,$(notdir $(wildcard matrices/*.mtx matrices/*.mtx.gz)))))
.PHONY: $(MATRIX_NAMES)
$(MATRIX_NAMES):
	@+$(MAKE) run MATRIX='$(firstword $(wildcard matrices/$@.mtx matrices/$@.mtx.gz))'
# make NAME for another name: fetches the matrix and runs on it; a name with a dot or slash is a file that a
# rule needs
.DEFAULT:
	@case '$@' in \
	*[./]*) echo "make: no rule to make '$@'" >&2; exit 2 ;; \
	study-*) echo "make: there is no jobs/studies/$(@:study-%=%).study; there are: $(STUDIES) (and conversions, series, series-large)" >&2; exit 2 ;; \
	openmp-*) echo "make: no target '$@'; the targets of the reports are: $(REPORT_TARGETS)" >&2; exit 2 ;; \
	$(subst $(space),|,$(strip $(REPORT_MODES)))) echo "make: no target '$@'; to run the reports' kernel: make all MODE=$@" >&2; exit 2 ;; \
	esac
	@matrix=$$(matrices/get --offline --print '$@' 2>/dev/null) || \
	{ matrices/get --tries 1 --dry-run '$@' >/dev/null && matrix=$$(matrices/get --print '$@'); } || \
	{ echo "make: '$@' is no target (make help-all lists them), matrices/$@.mtx is not there, and it was not fetched from the" \
	    "SuiteSparse Collection (the line above says why; run matrices/get $@ where there is a network)" >&2; exit 2; }; \
	$(MAKE) run MATRIX="$$matrix"
