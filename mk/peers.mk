# Adaptors to other sparse libraries: shared objects in $(B)/peers, which spmm_mpi (--kernel) and the benches
# load; no program is linked with these libraries. kernels/peers/adaptors/ contains the adaptors of --kernel,
# which every build makes if it finds the library, and bench/peers/ those that only benches use (mk/bench.mk).

CXX ?= g++
MKL_DIR ?= $(or $(MKLROOT),$(abspath $(BUILDDIR))/peers/mkl)

H := \#
# $(call mkl_so,NAME): the file of MKL's library NAME, whose folder and ending depend on the distribution
mkl_so = $(firstword $(wildcard $(addprefix $(MKL_DIR)/lib/,libmkl_$(1).so libmkl_$(1).so.* intel64/libmkl_$(1).so)))
ifeq ($(and $(CUSPARSE_HOME),$(filter 1,$(WITH_CUDA))),)
  CUSPARSE_SO := $(call cuda_library,cusparse)
  CUSPARSE_H := $(if $(CUSPARSE_SO),$(call cuda_header,cusparse.h))
else
  # a toolkit, a wheel that was unpacked, or a folder with both files
  CUSPARSE_SO := $(firstword $(wildcard $(foreach d,lib64 lib .,$(CUSPARSE_HOME)/$(d)/libcusparse.so $(CUSPARSE_HOME)/$(d)/libcusparse.so.??)))
  CUSPARSE_H := $(firstword $(wildcard $(CUSPARSE_HOME)/include/cusparse.h $(CUSPARSE_HOME)/cusparse.h))
  ifeq ($(and $(CUSPARSE_SO),$(CUSPARSE_H)),)
    problem := CUSPARSE_HOME=$(CUSPARSE_HOME): there is no $(if $(CUSPARSE_SO),cusparse.h in it or its include,libcusparse.so in it$(comma) its lib64 or its lib)
  endif
endif

eigen_header = <Eigen/SparseCore>
# Eigen's products are compiled in its adaptor: for this machine, as its users would
eigen_flags = -std=c++14 -march=native -g0 -isystem /usr/include/eigen3
mkl_header = <mkl_spblas.h>
mkl_flags = -isystem $(MKL_DIR)/include -DMKL_CORE='"$(call mkl_so,core)"'
mkl_libs = $(foreach l,intel_lp64 gnu_thread core,$(call mkl_so,$(l))) -Wl,-rpath,$(dir $(call mkl_so,core))
cusparse_flags = $(addprefix -isystem ,$(dir $(CUSPARSE_H)) $(abspath $(CUDA_INCLUDE)))
cusparse_libs = $(CUSPARSE_SO) -Wl,-rpath,$(abspath $(dir $(CUSPARSE_SO)))

peer_source = $(wildcard $(foreach f,kernels/peers/adaptors bench/peers,$(f)/$(1).c $(f)/$(1).cpp))
peer_language = $(if $(filter %.cpp,$(peer_source)),c++,c)
PEER_FLAGS = $(OPT) -fopenmp -fPIC -shared -I. -Wall -Wextra $(if $(filter 1,$(WERROR)),-Werror)
# MPI's wrapper for C: PETSc's header includes mpi.h
peer_compiler = $(if $(filter c,$(peer_language)),$(MPICC) -std=c11 -D_GNU_SOURCE,$(CXX)) $(PEER_FLAGS) $($(1)_flags)
# probe succeeds if the header of library $(1) is found; probed is $(1) then, else empty
probe = printf '%s\n' '$(H)if !__has_include($($(1)_header))' '$(H)error' '$(H)endif' \
    | $(peer_compiler) -E -x $(peer_language) -o /dev/null - 2>/dev/null
probed = $(shell $(probe) && echo $(1))

# the adaptors of --kernel: those that this build can have, and those that it has
KERNEL_PEERS := eigen mkl $(if $(filter 1,$(WITH_CUDA)),cusparse)
FOUND_eigen = $(call probed,eigen)
FOUND_mkl = $(if $(call mkl_so,core),$(call probed,mkl))
FOUND_cusparse = $(if $(CUSPARSE_H),cusparse)
PEERS_BUILT := $(if $(filter 0,$(PEERS))$(SANITIZED)$(FUZZ),,$(strip $(foreach p,$(KERNEL_PEERS),$(FOUND_$(p)))))
PEER_OBJECTS := $(PEERS_BUILT:%=$(B)/peers/peer_%.so)
ifeq ($(filter auto 0 1,$(PEERS)),)
  problem := PEERS=$(PEERS) is not one of auto, 1 and 0
else ifneq ($(and $(filter 1,$(PEERS)),$(if $(problem),,1),$(filter-out $(PEERS_BUILT),$(KERNEL_PEERS))),)
  problem := PEERS=1 needs $(filter-out $(PEERS_BUILT),$(KERNEL_PEERS)): run `make bench-cpu-deps` (eigen, mkl), set MKL_DIR=, or use PEERS=auto
endif

define make_peer
	@mkdir -p $(@D)
	$(call say,PEER,$<)
	$(Q)$(call peer_compiler,$*) -o $@ $< $($*_libs)
endef
$(B)/peers/peer_%.so: kernels/peers/adaptors/%.c kernels/peers/peer.h $(B)/peers/flags
	$(make_peer)
$(B)/peers/peer_%.so: kernels/peers/adaptors/%.cpp kernels/peers/peer.h $(B)/peers/flags
	$(make_peer)
# a stamp: adaptors are made again when a library has moved
$(B)/peers/flags: FORCE
	@$(call stamp,$(MPICC) $(COMPILER) $(CXX) $(PEER_FLAGS) $(foreach p,$(KERNEL_PEERS),$(if $(FOUND_$(p)),$($(p)_flags) $($(p)_libs))))

# also removes adaptors of an earlier build that this one does not have
.PHONY: peers
peers: $(PEER_OBJECTS)
	@rm -f $(patsubst %,$(B)/peers/peer_%.so,$(filter-out $(PEERS_BUILT),$(KERNEL_PEERS)))
