# The settings of the last build, $(BUILDDIR)/settings: variables that `make`, `make build` or `make run` was
# given, on the command line or by the environment, are the defaults of every later target, so that `make
# install` installs what `make CUDA=0` built. A variable that is given again has its new value; `make clean`
# forgets all settings.
REMEMBERED := MPI CUDA METIS METIS_LIBS ISAL BZIP2 LZMA ZSTD HWLOC BLAS BLAS_LIBS NCCL NCCL_HOME SERIES BASELINE PEERS CUSPARSE_HOME MKL_DIR MKLROOT FORTRAN MPIFC FCFLAGS GPU_ARCH MPICC MPIRUN CC NVCC CFLAGS LDFLAGS OPT NVCCFLAGS WERROR

include $(wildcard $(BUILDDIR)/settings)
# the settings that are not given now
recalled := $(strip $(foreach v,$(REMEMBERED),$(and $(filter-out undefined,$(origin last_$v)), \
    $(filter undefined default $(if $(filter CC MPI,$v),environment),$(origin $v)),$v)))
$(foreach v,$(recalled),$(eval $v := $$(last_$v)))
setting = $(1)=$(if $(word 2,$($(1))),'$($(1))',$($(1)))
ifneq ($(and $(recalled),$(filter 0,$(MAKELEVEL)),$(filter-out clean help format lint uninstall,$(or $(MAKECMDGOALS),all))),)
  $(info settings of the last build: $(foreach v,$(recalled),$(call setting,$v)))
endif

# $(remember) stores the settings at the end of the recipes of those targets, except in a build with
# sanitizers, which nobody installs. A recursive make stores nothing: the make above it gave it its variables,
# not a user. CC and MPI in the environment are meant for other software (mk/config.mk).
hash := \#
quoted = '$(subst ','\'',$(1))'
told = $(foreach v,$(REMEMBERED),$(if $(filter command $(if $(filter CC MPI,$v),,environment),$(firstword $(origin $v))),$v))
lines = $(foreach v,$(recalled) $(told),$(call quoted,last_$v := $(subst $(hash),\$(hash),$(subst $$,$$$$,$(or $(said_$v),$($v))))))
remember = $(if $(and $(filter 0,$(MAKELEVEL)),$(if $(SANITIZED),,1),$(told)),mkdir -p $(BUILDDIR) && printf '%s\n' $(lines) > $(BUILDDIR)/settings,:)
