# Studies: runs of spmm_mpi over what jobs/studies/NAME.study lists, their records, tables, plots and page.
RECORDS ?= records
SET ?=
STUDIES := $(patsubst jobs/studies/%.study,%,$(wildcard jobs/studies/*.study))
# {ranks} are more than the cores in some studies
study_launcher = $(MPIRUN) $(strip $(call mpirun_flags,1000000)) -np {ranks}

.PHONY: study-conversions $(STUDIES:%=study-%)
$(STUDIES:%=study-%): study-%:
	@+$(MAKE) $(J) link
	$(Q)mkdir -p '$(RECORDS)'
	$(Q)SPMM_LAUNCHER='$(study_launcher)' jobs/study $(SET:%=--set '%') --records '$(RECORDS)/$*.jsonl' \
	    jobs/studies/$*.study
	$(Q)$(call deps,figures)
	$(Q)$(study_python) jobs/report '$(RECORDS)/$*.jsonl' -o '$(RECORDS)/$*.html'
	$(Q)$(study_python) jobs/scaling '$(RECORDS)/$*.jsonl' --out '$(RECORDS)/$*'

study-conversions:
	@+$(MAKE) $(J) link
	$(Q)mkdir -p '$(RECORDS)'
	$(Q)$(call deps,figures)
	$(Q)SPMM_LAUNCHER='$(study_launcher)' $(study_python) jobs/conversions --records '$(RECORDS)/conversions.jsonl' \
	    --out '$(RECORDS)/conversions'

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
# and of one that is not there, where to get it; a name with a dot or slash is a file that something needs
.DEFAULT:
	@case '$@' in \
	*[./]*) echo "make: no rule to make '$@'" ;; \
	study-*) echo "make: there is no jobs/studies/$(@:study-%=%).study; there are: $(STUDIES) (and conversions)" ;; \
	*) echo "make: no target '$@', and no matrices/$@.mtx: if it is a matrix of the SuiteSparse" \
	    "Collection, matrices/get --to matrices $@ fetches it (make help lists targets)" ;; \
	esac >&2; exit 2
