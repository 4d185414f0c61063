# The targets and variables of the course reports under their own names, on the reports' own kernels; docs/REPORTS.md.
#
#     make openmp-csr-compare-serial-parallel [MATRIX=] [SET=]   and so on for openmp-ellpack-
#     make openmp-csr-check-conversions [MATRIX=] [ARGS=]
#     make openmp-csr-parallel-samplings [SAMPLING_SIZE=N]       and openmp-csr-serial-, openmp-ellpack-
#     make all MODE=csr_vector [SAMPLING=yes [SAMPLING_SIZE=N]] [MATRIX=] [ARGS=]
#
# Unknown values are rejected here, variables that a target does not use in the Makefile.

REPORT_COMPARISONS := openmp-csr-compare-serial-parallel openmp-ellpack-compare-serial-parallel
REPORT_CONVERSIONS := openmp-csr-check-conversions openmp-ellpack-check-conversions
REPORT_SAMPLINGS := openmp-csr-serial-samplings openmp-ellpack-serial-samplings openmp-csr-parallel-samplings openmp-ellpack-parallel-samplings
REPORT_TARGETS := $(REPORT_COMPARISONS) $(REPORT_CONVERSIONS) $(REPORT_SAMPLINGS)

# MODE: the kernel that it stands for
REPORT_MODES := csr csr_adaptive csr_adaptive_sub_block csr_vector csr_vector_by_row csr_vector_sub_warp ellpack_sw ellpack
report_kernel_csr := csr_scalar3
report_kernel_csr_adaptive := csr_adaptive
report_kernel_csr_adaptive_sub_block := csr_adaptive_subblocks
report_kernel_csr_vector := csr_vector
report_kernel_csr_vector_by_row := csr_vector_by_row
report_kernel_csr_vector_sub_warp := csr_vector_subwarp
report_kernel_ellpack_sw := ell_subwarp
report_kernel_ellpack := ell_scalar

# --- what was given ---------------------------------------------------------------------------

# Only the command line counts: a MODE in the environment may be meant for other software.
said = $(filter command,$(firstword $(origin $(1))))
report_sampling := $(if $(call said,SAMPLING),$(SAMPLING))
# SAMPLING= without MODE= means the first kernel
report_mode := $(if $(call said,MODE),$(MODE),$(if $(report_sampling),csr))
report_size := $(if $(call said,SAMPLING_SIZE),$(SAMPLING_SIZE),30)
report_kernel = $(report_kernel_$(report_mode))

report_goals := $(or $(MAKECMDGOALS),all)
space := $() $()
# $(call one_of,VARIABLE,words)
one_of = $(if $(call said,$(1)),$(if $(and $(filter 1,$(words $($(1)))),$(filter $(2),$($(1)))),,$(error $(1)=$($(1)) is not one of $(subst $(space),$(comma) ,$(strip $(2))))))
# $(1) without the digits $(2): empty for a number
digits_off = $(if $(2),$(call digits_off,$(subst $(firstword $(2)),,$(1)),$(wordlist 2,10,$(2))),$(1))

$(call one_of,MODE,$(REPORT_MODES))
$(call one_of,SAMPLING,yes no)
ifneq ($(and $(call said,SAMPLING_SIZE),$(or $(if $(filter 1,$(words $(SAMPLING_SIZE))),,no number),$(call digits_off,$(SAMPLING_SIZE),0 1 2 3 4 5 6 7 8 9),$(filter 0%,$(SAMPLING_SIZE)))),)
  $(error SAMPLING_SIZE=$(SAMPLING_SIZE) is not a number of products: expected 1$(comma) 2$(comma) 3 ..)
endif
ifneq ($(and $(or $(report_mode),$(filter $(REPORT_TARGETS),$(report_goals))),$(if $(WITH_BASELINE),,1)),)
  $(error the reports' kernels are not in a build with BASELINE=0: build with BASELINE=1)
endif

# --- OpenMP -----------------------------------------------------------------------------------

.PHONY: $(REPORT_TARGETS) report-mode
report_matrix := $(if $(call said,MATRIX),--set 'matrices=$(MATRIX)')
openmp-csr-%: report_serial := cpu_serial
openmp-csr-%: report_parallel := cpu_csr_static
openmp-csr-%: report_formats := csr
openmp-ellpack-%: report_serial := cpu_serial_ell,cpu_serial_ell_nopad
openmp-ellpack-%: report_parallel := cpu_ell_transposed,cpu_ell_nopad_transposed
openmp-ellpack-%: report_formats := ell,ell-nopad

# $(call report_study,study,name of the records,its settings): prints tables and makes a page, with figures if
# matplotlib is installed
define report_study
	$(Q)mkdir -p '$(RECORDS)'
	$(Q)$(study_command) $(3) $(report_matrix) $(SET:%=--set '%') --records '$(RECORDS)/$(2).jsonl' \
	    jobs/studies/$(1).study
	$(Q)$(call deps,figures)
	$(Q)$(study_python) jobs/report '$(RECORDS)/$(2).jsonl' -o '$(RECORDS)/$(2).html'
	$(Q)$(study_python) jobs/scaling '$(RECORDS)/$(2).jsonl'
endef

$(REPORT_COMPARISONS):
	@+$(MAKE) $(J) link
	$(call report_study,openmp,$@,--set kernels=$(report_parallel) --set formats=$(report_formats))

# all conversions are in one table
$(REPORT_CONVERSIONS):
	@+$(MAKE) $(J) link
	$(Q)set -x; $(MPIRUN) $(strip $(call mpirun_flags,1) -np 1) ./spmm_mpi -d cpu --check-conversions $(ARGS) $(MATRIX)

# the number of products is part of the name: records of one file are of one sampling
%-serial-samplings: report_choice = --set kernels=$(report_serial) --set threads=1
%-parallel-samplings: report_choice = --set kernels=$(report_parallel)
$(REPORT_SAMPLINGS):
	@+$(MAKE) $(J) link
	$(call report_study,samplings,$@-$(report_size),--set serial=no --set repeats=$(report_size) $(report_choice))

# --- CUDA -------------------------------------------------------------------------------------

# threads per block as in the reports; an adaptive kernel derives its number from the matrix
report_block = $(if $(findstring adaptive,$(report_kernel)),,--block-size 512)
report_run = $(MPIRUN) $(strip $(call mpirun_flags,1) -np 1) ./spmm_mpi

# after the build, if there is a GPU: runs the serial product and the kernel, or the kernel's samples over K
report-mode:
	@none=$$($(report_run) --list-devices | sed -n 's/^cuda  *none: //p'); \
	if [ -n "$$none" ]; then echo "MODE=$(report_mode): built; $(report_kernel) needs a GPU, but none can be used: $$none"; \
	else $(MAKE) report-$(if $(filter yes,$(report_sampling)),samples,run); fi
report-run:
	$(Q)set -x; $(report_run) -d cpu --kernel cpu_serial $(ARGS) $(MATRIX) && \
	    $(report_run) -d cuda --kernel $(report_kernel) $(report_block) $(ARGS) $(MATRIX)
report-samples:
	$(call report_study,samplings,cuda-$(report_mode)-samplings-$(report_size),--set serial=no --set repeats=$(report_size) --set devices=cuda \
	    --set kernels=$(report_kernel) --set threads=0 $(if $(report_block),--set 'options=$(report_block)'))
.PHONY: report-run report-samples
