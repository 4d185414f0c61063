#!/bin/bash
# make install, a client built against what it put in place, make uninstall.
# limit: 240
. tests/lib.sh
scratch
prefix=$scratch/usr
# the build under test; `make` finds it up to date
cuda=0
case $BUILD in *cuda) cuda=1 ;; *asan* | *tsan*) skip "make install puts libspmm in place" "not with sanitizers"; finish ;; esac
install() { command make NO_DEPS=1 CUDA=$cuda BUILDDIR="$(dirname "$BUILD")" MPICC="$MPICC" "$@" 2>&1; }

ok "make install PREFIX= works" install install PREFIX="$prefix"
missing=
for file in bin/spmm_mpi lib/libspmm.a lib/libspmm.so include/spmm.h include/spmm_types.h lib/pkgconfig/spmm.pc; do
    [ -e "$prefix/$file" ] || missing+=" $file"
done
for file in include/*.h; do [ -f "$prefix/$file" ] || missing+=" $file"; done
[ ! -f docs/spmm_mpi.1 ] || [ -f "$prefix/share/man/man1/spmm_mpi.1" ] || missing+=" spmm_mpi.1"
ok "program, libraries, headers, spmm.pc and man page are there" test -z "$missing"
text "the shared library has a versioned soname" "libspmm.so." \
    "$(readelf -d "$prefix/lib/libspmm.so" 2>&1 | grep SONAME)"
cp tests/install_client.c "$scratch/" && cd "$scratch" || exit 1

export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
if ! command -v pkg-config >/dev/null; then
    skip "a client builds and runs against the installed library" "no pkg-config"
else
    ok "spmm.pc has the version of spmm.h" grep -q "\"$(pkg-config --modversion spmm)\"" "$prefix/include/spmm_types.h"
    # (Open MPI's old C++ bindings and MPICH's are not ours; a wrapper that is told another compiler takes it)
    printf '#include <spmm.h>\nint main() { spmm_plan_options o = {}; return o.format != SPMM_CSR; }\n' >client.cpp
    if command -v c++ >/dev/null; then
        ok "spmm.h is C++11 without a warning" env OMPI_CC=c++ MPICH_CC=c++ \
            $MPICC -x c++ -std=c++11 -Wall -Wextra -Werror -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX -fsyntax-only \
            $(pkg-config --cflags spmm) client.cpp
    else
        skip "spmm.h is C++11 without a warning" "no C++ compiler"
    fi
    ok "a client builds against the shared library" \
        $MPICC -std=c11 -Wall -Wextra -Werror install_client.c $(pkg-config --cflags --libs spmm) -o client_shared
    out=$(env -u LD_LIBRARY_PATH $MPIRUN -np 2 ./client_shared 2>&1)
    text "and runs with it on 2 ranks" "2 ranks, 400 rows" "$out"
    text "with the right row sums" ", 0 wrong" "$out"
    ok "a client builds against the static library" \
        $MPICC -std=c11 -Wall -Wextra -Werror install_client.c $(pkg-config --cflags spmm) \
        $(pkg-config --static --libs spmm | sed 's/-lspmm/-l:libspmm.a/') -o client_static
    ok "and needs no libspmm.so then" sh -c '! ldd ./client_static | grep -q libspmm'
    text "and runs on 2 ranks" ", 0 wrong" "$($MPIRUN -np 2 ./client_static 2>&1)"
fi
text "the installed program runs from any folder" "$(sed -n 's/^.define SPMM_VERSION "\(.*\)"/\1/p' "$prefix/include/spmm_types.h")" \
    "$("$prefix/bin/spmm_mpi" --version 2>&1)"

cd "$root" || exit 1
# what the README says to type, in one shell: the tree is where `make` runs, and solver.c lies there
readme() { sed -n '/^## The library/,/^## /s/^    //p' README.md; }
text "the README installs the library and compiles a program" "solver.c \$(pkg-config --cflags --libs spmm)" "$(readme)"
if command -v pkg-config >/dev/null; then
    out=$(
        unset PKG_CONFIG_PATH LD_LIBRARY_PATH
        HOME=$scratch/home
        make() { install "$@"; }
        mpicc() { (cd "$scratch" && cp install_client.c solver.c && command $MPICC "$@"); }
        mpirun() { (cd "$scratch" && command $MPIRUN "$@"); }
        eval "$(readme)" 2>&1
    )
    text "what the README says to type installs, compiles and runs a program" "2 ranks, 400 rows" "$out"
    text "which is right" ", 0 wrong" "$out"
fi

install uninstall PREFIX="$prefix" >/dev/null
ok "make uninstall removes every file" test -z "$(find "$prefix" ! -type d)"
install install PREFIX=/opt/spmm DESTDIR="$scratch/stage" >/dev/null
ok "DESTDIR is put before PREFIX" test -x "$scratch/stage/opt/spmm/bin/spmm_mpi"
ok "but not into spmm.pc" grep -q '^prefix=/opt/spmm$' "$scratch/stage/opt/spmm/lib/pkgconfig/spmm.pc"
finish
