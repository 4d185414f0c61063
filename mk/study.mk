# Studies: runs of spmm_mpi over what jobs/studies/NAME.study lists, their records, tables, plots and page.
RECORDS ?= records
SET ?=
STUDIES := $(patsubst jobs/studies/%.study,%,$(wildcard jobs/studies/*.study))
# {ranks} are more than the cores in some studies
study_launcher = $(MPIRUN) $(strip $(call mpirun_flags,1000000)) -np {ranks}
study_command = SPMM_LAUNCHER='$(study_launcher)' jobs/study
study-hosts: study_command = MPIRUN='$(MPIRUN)' '$(PYTHON)' bench/study_hosts.py

.PHONY: study-conversions study-series $(STUDIES:%=study-%)
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

# generated series on one GPU: walk_thread by the threads of a block, and the sums of several blocks per series by their number.
# SERIES_ARGS: e.g. -m 2048 -p f32; a second run adds rounds to the records
SERIES_BLOCK_SIZES ?= 32 64 128 256 512 1024
SERIES_BLOCKS ?= 2,4,8
SERIES_ARGS ?=
SERIES_KERNELS := sum_blocks,sum_ordered_blocks,sum_two_launches,sum_host
series_run = $(MPIRUN) $(strip $(call mpirun_flags,1)) -np 1 ./series_mpi -d cuda $(SERIES_ARGS) --json '$(RECORDS)/series.jsonl'
study-series:
	@+$(MAKE) $(J) link
	$(Q)mkdir -p '$(RECORDS)'
	$(Q)set -e; for size in $(SERIES_BLOCK_SIZES); do \
	    $(series_run) --steps generate --kernel walk_thread --block-size $$size; done; \
	$(series_run) --steps mean --kernel $(SERIES_KERNELS) --blocks-per-series $(SERIES_BLOCKS)
	$(Q)$(call deps,figures)
	$(Q)$(study_python) jobs/report '$(RECORDS)/series.jsonl' -o '$(RECORDS)/series.html'
	$(Q)$(study_python) jobs/scaling '$(RECORDS)/series.jsonl' --out '$(RECORDS)/series'

# the pages of docs/STUDIES.md, from the records that are kept; NVIDIA's figure for the FP64 tensor cores of an H200, in GFLOP/s
PAGES := $(patsubst %.jsonl,%.html,$(wildcard docs/studies/*.jsonl))
PAGE_OPTIONS = $(if $(findstring H200,$@),--peak H200=67000)
.PHONY: pages $(PAGES)
pages:
	$(Q)$(call deps,figures)
	@+$(MAKE) $(J) $(PAGES)
$(PAGES): %.html: %.jsonl
	$(Q)$(study_python) jobs/report $< $(PAGE_OPTIONS) -o $@

# a Python; where it has no matplotlib, the commands look for one that has (jobs/spmm_study/pythons.py), $PYTHON first
study_python = PYTHON='$(PYTHON)' '$(PYTHON)'

# make NAME: a run on matrices/NAME.mtx
MATRIX_NAMES := $(sort $(patsubst %.mtx,%,$(patsubst %.gz,%,$(notdir $(wildcard matrices/*.mtx matrices/*.mtx.gz)))))
.PHONY: $(MATRIX_NAMES)
$(MATRIX_NAMES):
	@+$(MAKE) run MATRIX='$(firstword $(wildcard matrices/$@.mtx matrices/$@.mtx.gz))'
# and on one that is not there, which is fetched; a name with a dot or slash is a file that something needs
.DEFAULT:
	@case '$@' in \
	*[./]*) echo "make: no rule to make '$@'" >&2; exit 2 ;; \
	study-*) echo "make: there is no jobs/studies/$(@:study-%=%).study; there are: $(STUDIES) (and conversions, series)" >&2; exit 2 ;; \
	openmp-*) echo "make: no target '$@'; those of the reports are: $(REPORT_TARGETS)" >&2; exit 2 ;; \
	$(subst $(space),|,$(strip $(REPORT_MODES)))) echo "make: no target '$@'; the reports' kernel runs by: make all MODE=$@" >&2; exit 2 ;; \
	esac
	@matrix=$$(matrices/get --offline --print '$@' 2>/dev/null) || \
	{ matrices/get --tries 1 --dry-run '$@' >/dev/null && matrix=$$(matrices/get --print '$@'); } || \
	{ echo "make: '$@' is no target (make help lists them), matrices/$@.mtx is not there, and it was not fetched from the" \
	    "SuiteSparse Collection (the line above says why; matrices/get $@ does it where there is a network)" >&2; exit 2; }; \
	$(MAKE) run MATRIX="$$matrix"
