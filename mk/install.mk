# make install and make uninstall; DESTDIR is for packagers, PREFIX is where things will be used.

INSTALL ?= install
D = $(DESTDIR)$(PREFIX)
# the OpenMP library that the objects call; clang's is two folders above its resource directory
OPENMP_LIBS = $(if $(CLANG_USED),-L$(abspath $(shell $(mpicc) -print-resource-dir)/../..) -lomp,-lgomp)
PRIVATE_LIBS = $(strip $(CUDA_LIBS) $(LIBS) $(OPENMP_LIBS))

# the C++ wrapper in the folder of the C wrapper: CMake asks it how to link a C++ program
wrapper := $(firstword $(MPICC))
MPICXX := $(if $(findstring /,$(wrapper)),$(dir $(wrapper)))$(patsubst cc,CC,$(subst mpicc,mpicxx,$(subst \
    mpiicc,mpiicpc,$(notdir $(wrapper)))))

# Features that a library can have, and those that this one has: other build systems read yes or no for each.
FEATURES := mpi cuda nccl metis isal bzip2 lzma zstd hwloc openmp baseline fortran
FEATURES_FOUND = openmp $(if $(filter 1,$(MPI)),mpi) $(if $(filter 1,$(WITH_CUDA)),cuda) $(if $(NCCL_FOUND),nccl) $(if $(METIS_FOUND),metis) $(if $(ISAL_FOUND),isal) \
    $(if $(BZIP2_FOUND),bzip2) $(if $(LZMA_FOUND),lzma) $(if $(ZSTD_FOUND),zstd) $(if $(HWLOC_FOUND),hwloc) $(if $(WITH_BASELINE),baseline) $(if $(FORTRAN_FOUND),fortran)
yes_no = $(if $(filter $(1),$(FEATURES_FOUND)),yes,no)
PC_FEATURES = $(foreach f,$(FEATURES),-e '/^@features@$$/i $f=$(call yes_no,$f)')
CMAKE_FEATURES = -e '/^@features@$$/i set(spmm_FEATURES $(FEATURES))' $(foreach f,$(FEATURES),-e '/^@features@$$/i set(spmm_$f $(call yes_no,$f))')
# COMMAND $(call into,FILE): its output is an installed file, which others can read whatever the umask is
into = > $(1) && chmod 644 $(1)
# $(call write,FOLDER,FILE,sed's words for the features): a file for another build system, made from
# mk/FILE.in
write = sed -e 's|@prefix@|$(PREFIX)|' -e 's|@version@|$(VERSION)|g' -e 's|@interface@|$(INTERFACE)|g' -e 's|@soname@|$(SONAME)|g' \
    -e 's|@mm_soname@|$(MM_SONAME)|g' \
    -e 's|@mpifort@|$(shell command -v $(firstword $(MPIFC) none))|g' \
    -e 's|@mpicxx@|$(shell command -v $(MPICXX))|g' \
    -e 's|@mpicc@|$(shell command -v $(firstword $(MPICC)))|g' -e 's|@one_rank@|$(if $(filter 0,$(MPI)), -I$${includedir}/spmm/one_rank)|' -e 's|@private@|$(PRIVATE_LIBS)|' $(3) -e '/^@features@$$/d' \
    mk/$(2).in $(call into,$(D)/lib/$(1)/$(2))

# the library's man page, made from the headers; a page per function refers to it (the last parenthesis of the
# pattern is for make, which counts them)
$(B)/spmm.3: docs/spmm.3.in mk/man.awk docs/spmm_mpi.1 examples/product.c $(wildcard include/*.h)
	@mkdir -p $(@D)
	$(call say,MAN,$@)
	$(Q)awk -f mk/man.awk $< > $@
FUNCTIONS = $(shell sed -n 's/^[a-z].*[ *]\(spmm_[a-z_0-9]*\)(.*)*/\1/p' include/spmm.h include/spmm_types.h include/spmm_extended.h)

# The installed archives have no global symbols except those that the shared libraries export
# (mk/libNAME.map), so that a program may define functions with the other names. Each archive is one object,
# whose other symbols are local. (-d defines common symbols, such as OpenMP's, so that they can be local.)
# NIST's functions are weak, for programs that define some of them. (--weaken would also make references weak,
# for which a linker adds no libm.) Tests and our programs are linked with $(B)/lib*.a, which keep all symbols.
# These archives are installed unchanged if objects contain no machine code yet (-flto), or if sanitizers look
# for their own symbols.
PUBLIC := $(B)/public/libspmm.a $(B)/public/libmm.a
NEEDED_BY_test_install := $(PUBLIC) $(B)/spmm.3
NEEDED_BY_test_examples := $(NEEDED_BY_test_install)
NEEDED_BY_test_fortran := $(NEEDED_BY_test_install)
LD ?= ld
OBJCOPY ?= objcopy
# nvcc's objects contain C++, whose section groups are dissolved: a linker takes groups of one name for copies
# of each other, even if the name is local. And objcopy makes a unique symbol local only if the symbol was made
# weak before.
public_object = $(LD) -r -d $(if $(filter 1,$(WITH_CUDA)),--force-group-allocation) -o $@.o --whole-archive $< \
    $(if $(filter 1,$(WITH_CUDA)),&& $(OBJCOPY) --wildcard --weaken-symbol='_Z*' $@.o) \
    && $(OBJCOPY) --wildcard $(patsubst %,--keep-global-symbol='%',$(exported)) $(WEAK) $@.o
exported = $(subst ;, ,$(shell sed -n 's/^ *global: //p' $(filter %.map,$^)))
$(B)/public/libspmm.a: $(B)/libspmm.a mk/libspmm.map $(B)/flags
$(B)/public/libmm.a: $(B)/libmm.a mk/libmm.map $(B)/flags
$(B)/public/libmm.a: private WEAK = $(patsubst %,--weaken-symbol='%',$(exported))
$(PUBLIC):
	@mkdir -p $(@D)
	$(call say,LOCAL,$@)
	$(Q)rm -f $@ && $(if $(SANITIZED)$(findstring -flto,$(ALL_CFLAGS)),cp $< $@,$(public_object) && ar rcs $@ $@.o && rm $@.o)

# Shells, sed, compilers, pkg-config, CMake and loaders read the path, and each gives other characters a
# meaning. The path in spmm.pc must be valid from every folder. Thus a path that one of them may misread is
# rejected before anything is built.
PATH_CHARACTERS := A-Za-z0-9/._+@=~-
# $(call check_path,VARIABLE,how its first character has to compare,what is expected)
check_path = path='$(subst ','\'',$($(1)))'; begin=$${path%%"$${path\#?}"}; \
    [ -z "$$(printf %s "$$path" | LC_ALL=C tr -d '\200-\377$(PATH_CHARACTERS)')" ] && [ "$$begin" $(2) ] || { \
    printf '%s\n' "make install: $(1)=$$path"': expected $(3) of letters, digits and /._+@=~-' >&2; exit 1; }
.PHONY: check-prefix
check-prefix:
	@$(call check_path,PREFIX,= /,an absolute path$(comma) as PREFIX=$$HOME/spmm$(comma))
	@$(call check_path,DESTDIR,!= '~',a path)

install: check-prefix
	@+$(MAKE) $(J) build $(B)/spmm.3 $(PUBLIC)
	$(call say,INST,$(D))
	$(Q)$(INSTALL) -d $(D)/bin $(D)/lib/pkgconfig $(D)/lib/cmake/spmm $(D)/include $(D)/share/man/man1 $(D)/share/man/man3
	$(Q)$(INSTALL) -m 755 $(PROGRAMS:%=$(B)/%) $(D)/bin/
	$(if $(PEER_OBJECTS),$(Q)$(INSTALL) -d $(D)/lib/spmm_mpi/peers && $(INSTALL) -m 755 $(PEER_OBJECTS) $(D)/lib/spmm_mpi/peers/)
	$(Q)$(INSTALL) -m 644 $(PUBLIC) $(D)/lib/
	$(Q)$(INSTALL) -m 755 $(B)/libspmm.so.$(VERSION) $(B)/libmm.so.$(VERSION) $(D)/lib/
	$(Q)for so in libspmm.so libmm.so; do \
	    ln -sf $$so.$(VERSION) $(D)/lib/$$so.$(INTERFACE) && ln -sf $$so.$(INTERFACE) $(D)/lib/$$so || exit 1; done
	$(Q)$(INSTALL) -m 644 $(wildcard include/*.h) $(D)/include/
	$(Q)$(call write,pkgconfig,spmm.pc,$(PC_FEATURES))
	$(Q)$(call write,cmake/spmm,spmmConfig.cmake,$(CMAKE_FEATURES))
	$(Q)$(call write,cmake/spmm,spmmConfigVersion.cmake)
	$(if $(filter 0,$(MPI)),$(Q)$(INSTALL) -d $(D)/include/spmm/one_rank && $(INSTALL) -m 644 contrib/one_rank/mpi.h $(D)/include/spmm/one_rank/)
	$(if $(filter 1,$(MPI)),$(Q)$(INSTALL) -d $(D)/share/spmm && $(INSTALL) -m 644 fortran/spmm.f90 $(D)/share/spmm/)
	$(if $(FORTRAN_FOUND),$(Q)$(INSTALL) -d $(D)/include/spmm_fortran && $(INSTALL) -m 644 $(B)/fortran/*.mod $(D)/include/spmm_fortran/ && \
	    $(INSTALL) -m 644 $(B)/fortran/libspmm_fortran.a $(D)/lib/)
	$(if $(FORTRAN_FOUND),$(Q)$(call write,pkgconfig,spmm-fortran.pc))
	$(Q)$(INSTALL) -m 644 $(PROGRAMS:%=docs/%.1) $(D)/share/man/man1/
	$(Q)$(INSTALL) -m 644 $(B)/spmm.3 $(D)/share/man/man3/
	$(Q)for name in spmm.h spmm_extended.h $(FUNCTIONS); do \
	    echo '.so man3/spmm.3' $(call into,$(D)/share/man/man3/$$name.3) || exit 1; done

uninstall: check-prefix
	$(call say,RM,$(D))
	$(Q)rm -f $(D)/bin/spmm_mpi $(D)/bin/series_mpi $(D)/lib/libspmm.a $(addprefix $(D)/lib/,libspmm.so $(SONAME) libspmm.so.$(VERSION)) \
	    $(addprefix $(D)/lib/,libmm.a libmm.so $(MM_SONAME) libmm.so.$(VERSION)) \
	    $(patsubst include/%,$(D)/include/%,$(wildcard include/*.h)) \
	    $(D)/lib/libspmm_fortran.a $(addprefix $(D)/lib/pkgconfig/,spmm.pc spmm-fortran.pc) $(D)/share/man/man1/spmm_mpi.1 $(D)/share/man/man1/series_mpi.1
	$(Q)rm -f $(patsubst %,$(D)/share/man/man3/%.3,spmm spmm.h spmm_extended.h $(FUNCTIONS))
	$(Q)rm -rf $(D)/lib/spmm_mpi $(D)/lib/cmake/spmm $(D)/share/spmm $(D)/include/spmm_fortran $(D)/include/spmm
