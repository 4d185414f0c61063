# make install and make uninstall; DESTDIR is for packagers, PREFIX is where things will be used.

INSTALL ?= install
D = $(DESTDIR)$(PREFIX)
# the OpenMP library that the objects call; clang's lies two folders above those of its own headers
OPENMP_LIBS = $(if $(CLANG_USED),-L$(abspath $(shell $(mpicc) -print-resource-dir)/../..) -lomp,-lgomp)
PRIVATE_LIBS = $(strip $(CUDA_LIBS) $(LIBS) $(OPENMP_LIBS))

install:
	@+$(MAKE) $(J) build
	$(call say,INST,$(D))
	$(Q)$(INSTALL) -d $(D)/bin $(D)/lib/pkgconfig $(D)/include $(D)/share/man/man1
	$(Q)$(INSTALL) -m 755 $(PROGRAMS:%=$(B)/%) $(D)/bin/
	$(Q)$(INSTALL) -m 644 $(B)/libspmm.a $(D)/lib/
	$(Q)$(INSTALL) -m 755 $(B)/libspmm.so.$(VERSION) $(D)/lib/
	$(Q)ln -sf libspmm.so.$(VERSION) $(D)/lib/$(SONAME) && ln -sf $(SONAME) $(D)/lib/libspmm.so
	$(Q)$(INSTALL) -m 644 $(wildcard include/*.h) $(D)/include/
	$(Q)sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' -e 's|@PRIVATE@|$(PRIVATE_LIBS)|' spmm.pc.in \
	    > $(D)/lib/pkgconfig/spmm.pc && chmod 644 $(D)/lib/pkgconfig/spmm.pc
	$(Q)$(INSTALL) -m 644 $(PROGRAMS:%=docs/%.1) $(D)/share/man/man1/

uninstall:
	$(call say,RM,$(D))
	$(Q)rm -f $(D)/bin/spmm_mpi $(D)/bin/series_mpi $(D)/lib/libspmm.a $(addprefix $(D)/lib/,libspmm.so $(SONAME) libspmm.so.$(VERSION)) \
	    $(patsubst include/%,$(D)/include/%,$(wildcard include/*.h)) \
	    $(D)/lib/pkgconfig/spmm.pc $(D)/share/man/man1/spmm_mpi.1 $(D)/share/man/man1/series_mpi.1
