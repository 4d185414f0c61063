# make install and make uninstall; DESTDIR is for packagers, PREFIX is where things will be used.

INSTALL ?= install
D = $(DESTDIR)$(PREFIX)
# the OpenMP library that the objects call; clang's lies two folders above those of its own headers
OPENMP_LIBS = $(if $(CLANG_USED),-L$(abspath $(shell $(mpicc) -print-resource-dir)/../..) -lomp,-lgomp)
PRIVATE_LIBS = $(strip $(CUDA_LIBS) $(LIBS) $(OPENMP_LIBS))

# What can be in the library, and what of it is in this one: other build systems are told yes or no.
FEATURES := cuda nccl metis isal lzma zstd hwloc openmp baseline fortran
FEATURES_FOUND = openmp $(if $(filter 1,$(WITH_CUDA)),cuda) $(if $(NCCL_FOUND),nccl) $(if $(METIS_FOUND),metis) $(if $(ISAL_FOUND),isal) \
    $(if $(LZMA_FOUND),lzma) $(if $(ZSTD_FOUND),zstd) $(if $(HWLOC_FOUND),hwloc) $(if $(WITH_BASELINE),baseline) $(if $(FORTRAN_FOUND),fortran)
yes_no = $(if $(filter $(1),$(FEATURES_FOUND)),yes,no)
PC_FEATURES = $(foreach f,$(FEATURES),-e '/^@features@$$/i $f=$(call yes_no,$f)')
CMAKE_FEATURES = -e '/^@features@$$/i set(spmm_FEATURES $(FEATURES))' $(foreach f,$(FEATURES),-e '/^@features@$$/i set(spmm_$f $(call yes_no,$f))')
# $(call write,FOLDER,FILE,sed's words for the features): a file for another build system, made of mk/FILE.in
write = sed -e 's|@prefix@|$(PREFIX)|' -e 's|@version@|$(VERSION)|g' -e 's|@interface@|$(INTERFACE)|g' -e 's|@soname@|$(SONAME)|g' \
    -e 's|@mpifort@|$(shell command -v $(firstword $(MPIFC) none))|g' \
    -e 's|@mpicc@|$(shell command -v $(firstword $(MPICC)))|g' -e 's|@private@|$(PRIVATE_LIBS)|' $(3) -e '/^@features@$$/d' \
    mk/$(2).in > $(D)/lib/$(1)/$(2) && chmod 644 $(D)/lib/$(1)/$(2)

# the library's man page, made of the headers; a page of a function's name leads to it (the last closing one of the pattern is for make,
# which counts them)
$(B)/spmm.3: docs/spmm.3.in mk/man.awk docs/spmm_mpi.1 examples/product.c $(wildcard include/*.h)
	@mkdir -p $(@D)
	$(call say,MAN,$@)
	$(Q)awk -f mk/man.awk $< > $@
FUNCTIONS = $(shell sed -n 's/^[a-z].*[ *]\(spmm_[a-z_0-9]*\)(.*)*/\1/p' include/spmm.h include/spmm_types.h)

install:
	@+$(MAKE) $(J) build $(B)/spmm.3
	$(call say,INST,$(D))
	$(Q)$(INSTALL) -d $(D)/bin $(D)/lib/pkgconfig $(D)/lib/cmake/spmm $(D)/include $(D)/share/man/man1 $(D)/share/man/man3
	$(Q)$(INSTALL) -m 755 $(PROGRAMS:%=$(B)/%) $(D)/bin/
	$(if $(PEER_OBJECTS),$(Q)$(INSTALL) -d $(D)/lib/spmm_mpi/peers && $(INSTALL) -m 755 $(PEER_OBJECTS) $(D)/lib/spmm_mpi/peers/)
	$(Q)$(INSTALL) -m 644 $(B)/libspmm.a $(D)/lib/
	$(Q)$(INSTALL) -m 755 $(B)/libspmm.so.$(VERSION) $(D)/lib/
	$(Q)ln -sf libspmm.so.$(VERSION) $(D)/lib/$(SONAME) && ln -sf $(SONAME) $(D)/lib/libspmm.so
	$(Q)$(INSTALL) -m 644 $(wildcard include/*.h) $(D)/include/
	$(Q)$(call write,pkgconfig,spmm.pc,$(PC_FEATURES))
	$(Q)$(call write,cmake/spmm,spmmConfig.cmake,$(CMAKE_FEATURES))
	$(Q)$(call write,cmake/spmm,spmmConfigVersion.cmake)
	$(Q)$(INSTALL) -d $(D)/share/spmm && $(INSTALL) -m 644 fortran/spmm.f90 $(D)/share/spmm/
	$(if $(FORTRAN_FOUND),$(Q)$(INSTALL) -d $(D)/include/spmm_fortran && $(INSTALL) -m 644 $(B)/fortran/*.mod $(D)/include/spmm_fortran/ && \
	    $(INSTALL) -m 644 $(B)/fortran/libspmm_fortran.a $(D)/lib/)
	$(if $(FORTRAN_FOUND),$(Q)$(call write,pkgconfig,spmm-fortran.pc))
	$(Q)$(INSTALL) -m 644 $(PROGRAMS:%=docs/%.1) $(D)/share/man/man1/
	$(Q)$(INSTALL) -m 644 $(B)/spmm.3 $(D)/share/man/man3/
	$(Q)for name in spmm.h $(FUNCTIONS); do \
	    echo '.so man3/spmm.3' > $(D)/share/man/man3/$$name.3 && chmod 644 $(D)/share/man/man3/$$name.3 || exit 1; done

uninstall:
	$(call say,RM,$(D))
	$(Q)rm -f $(D)/bin/spmm_mpi $(D)/bin/series_mpi $(D)/lib/libspmm.a $(addprefix $(D)/lib/,libspmm.so $(SONAME) libspmm.so.$(VERSION)) \
	    $(patsubst include/%,$(D)/include/%,$(wildcard include/*.h)) \
	    $(D)/lib/libspmm_fortran.a $(addprefix $(D)/lib/pkgconfig/,spmm.pc spmm-fortran.pc) $(D)/share/man/man1/spmm_mpi.1 $(D)/share/man/man1/series_mpi.1
	$(Q)rm -f $(patsubst %,$(D)/share/man/man3/%.3,spmm spmm.h $(FUNCTIONS))
	$(Q)rm -rf $(D)/lib/spmm_mpi $(D)/lib/cmake/spmm $(D)/share/spmm $(D)/include/spmm_fortran
