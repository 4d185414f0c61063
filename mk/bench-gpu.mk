# bench_gpu: our CUDA kernels beside cuSPARSE, where it is found (mk/peers.mk).

BENCH_GPU := $(call object,$(wildcard bench/gpu/*.c))
# the adaptor that the GPU benches load
BENCH_CUSPARSE := $(if $(CUSPARSE_H),$(B)/peers/peer_cusparse.so)
COMMIT = $(shell git describe --always --dirty --exclude '*' 2>/dev/null)

BENCH_MULTIGPU := $(call object,$(wildcard bench/multigpu/*.c))
multigpu_missing := $(if $(filter 1,$(WITH_CUDA)),,[nvcc] )$(if $(NCCL_FOUND),,[nccl.h and libnccl: NCCL_HOME=] \
    )$(if $(CUSPARSE_H),,[cusparse.h and libcusparse])
# mpirun's options for $(1) ranks that are not bound to one core each
unbound_flags = $(strip $(call mpirun_flags,$(1)) $(if $(OPEN_MPI),$(if $(findstring --bind-to,$(call mpirun_flags,$(1))),,--bind-to none)))
multigpu_flags = $(call unbound_flags,$(NP))

.PHONY: bench-gpu bench-multigpu bench-figures calibrate
bench-gpu:
	@+$(MAKE) $(J) $(B)/bench/bench_gpu
	@$(if $(CUSPARSE_H),:,echo 'bench-gpu: cuSPARSE was not found: building without it')
	$(Q)$(B)/bench/bench_gpu --commit '$(COMMIT)' $(ARGS)

# make calibrate makes the order in which CUDA kernels are tried. CALIBRATE lists folders of further matrices,
# CALIBRATE_MORE earlier records.
CALIBRATE_MORE ?= $(wildcard bench/records/*-calibrate-*.csv.gz)
CALIBRATE_SPECS = lap3d7:30 lap3d7:60 lap3d7:100 lap3d7:140 lap3d27:20 lap3d27:40 lap3d27:64 lap3d27:90 fem3:12 fem3:24 fem3:40 \
    fem3:56 lap2d5:200 lap2d5:500 lap2d5:1000 band:100000,16,2000 band:300000,8,100 band:50000,40,400 \
    band:1000000,16,4000 uniform:100000,4 uniform:30000,30 uniform:300000,10 uniform:10000,100 uniform:1000000,16 \
    rmat:14,16 rmat:16,20 rmat:18,8 rmat:20,12 longrows:100000,5,4,50000 longrows:20000,10,50,2000 \
    longrows:3000,150,2,2900 longrows:1000000,5,4,500000
CALIBRATE_RUN = $(B)/bench/bench_gpu --own ours --precision both \
    --columns 1,2,3,4,8,16,32,64,128 --commit '$(COMMIT)'
calibrate:
	$(Q)$(call deps,calibrate)
	@+$(MAKE) $(J) $(B)/bench/bench_gpu
	@rm -f $(B)/calibrate-*.csv
	$(Q)$(CALIBRATE_RUN) $(CALIBRATE_SPECS) --csv $(B)/calibrate-0.csv
	$(Q)n=0; for folder in $(CALIBRATE); do n=$$((n + 1)); \
	    $(CALIBRATE_RUN) --matrices $$folder --csv $(B)/calibrate-$$n.csv || exit; done
	$(Q)python3 bench/calibrate.py $(CALIBRATE_MORE) $(B)/calibrate-*.csv > $(B)/choose_trees.h
	$(Q)mv $(B)/choose_trees.h src/product/choose_trees.h

# ranks are not bound: the program divides the cores among them
bench-multigpu:
	@$(if $(strip $(multigpu_missing)),echo 'bench-multigpu: missing: $(strip $(multigpu_missing))' >&2; exit 2)
	@+$(MAKE) $(J) $(B)/bench/bench_multigpu
	$(Q)$(MPIRUN) $(strip $(multigpu_flags)) -np $(NP) $(B)/bench/bench_multigpu --commit '$(COMMIT)' $(ARGS)

bench-figures:
	$(Q)$(call deps,figures)
	$(Q)python=; for p in '$(PYTHON)' python3 /usr/bin/python3; do \
	    $$p -c 'import matplotlib' 2>/dev/null && python=$$p && break; done; \
	if [ -z "$$python" ]; then echo 'bench-figures: no Python here has matplotlib' >&2; exit 1; fi; \
	$$python bench/tables.py && $$python bench/plots.py

$(B)/bench/bench_gpu: $(BENCH_GPU) $(KEEP) $(B)/bench/common.a $(ARCHIVES) | $(BENCH_CUSPARSE)
	$(call say,LD,$@)
	$(Q)$(link_program)
$(B)/bench/bench_multigpu: $(BENCH_MULTIGPU) $(KEEP) $(B)/bench/common.a $(ARCHIVES) | $(BENCH_CUSPARSE)
	$(call say,LD,$@)
	$(Q)$(link_program)
