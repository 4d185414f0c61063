# The module spmm for Fortran: an archive of its functions, which call libspmm, and the .mod file, which only
# this compiler can read; for others the source is installed. libspmm itself needs no Fortran.

FORTRAN_FOUND :=
ifeq ($(SANITIZED)$(FUZZ)$(filter 0,$(FORTRAN))$(filter 0,$(MPI)),)
  # checks with a program that must link; mpi_f08 must be of the same MPI as MPICC
  FORTRAN_FOUND := $(if $(shell command -v $(firstword $(MPIFC) none)),$(shell t=$$(mktemp -d) && cd $$t && \
      printf 'program t\nuse mpi_f08\nuse iso_c_binding\ninteger(c_int) :: e\ncall MPI_Init(e)\nend program\n' > t.f90 \
      && $(MPIFC) $(FCFLAGS) t.f90 -o t >/dev/null 2>&1 && echo 1; rm -rf $$t))
endif
ifeq ($(filter auto 0 1,$(FORTRAN)),)
  problem := FORTRAN=$(FORTRAN) is not one of auto, 1 and 0
else ifeq ($(problem)$(MPI)$(FORTRAN),01)
  problem := FORTRAN=1 needs an MPI, whose module mpi_f08 it uses: with MPI=0 there is no module for Fortran, use FORTRAN=0
else ifeq ($(problem)$(FORTRAN)$(FORTRAN_FOUND),1)
  problem := FORTRAN=1 needs a wrapper of this MPI for Fortran with mpi_f08: install gfortran, set MPIFC=, or use FORTRAN=0
endif
GFORTRAN := $(if $(FORTRAN_FOUND),$(findstring GNU Fortran,$(shell $(MPIFC) --version 2>/dev/null | head -1)))
ALL_FCFLAGS = -O2 -g -fPIC $(if $(GFORTRAN),-std=f2018 -Wall -Wextra $(if $(filter 1,$(WERROR)),-Werror)) $(FCFLAGS)
FORTRAN_FILES := $(if $(FORTRAN_FOUND),$(B)/fortran/libspmm_fortran.a)

$(B)/fortran/flags: FORCE
	@$(call stamp,$(MPIFC) $(ALL_FCFLAGS))
# (compilers put .mod files into the folder where they run; the option for another folder differs between
# them)
$(B)/fortran/libspmm_fortran.a: fortran/spmm.f90 $(B)/fortran/flags
	$(call say,FC,$<)
	$(Q)cd $(@D) && rm -f $(@F) && $(MPIFC) $(ALL_FCFLAGS) -c "$$OLDPWD"/$< -o spmm.o && ar rcs $(@F) spmm.o
