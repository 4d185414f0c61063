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
for file in bin/spmm_mpi lib/libspmm.a lib/libspmm.so include/spmm.h include/spmm_types.h lib/pkgconfig/spmm.pc \
    lib/cmake/spmm/spmmConfig.cmake lib/cmake/spmm/spmmConfigVersion.cmake; do
    [ -e "$prefix/$file" ] || missing+=" $file"
done
for file in include/*.h; do [ -f "$prefix/$file" ] || missing+=" $file"; done
[ ! -f docs/spmm_mpi.1 ] || [ -f "$prefix/share/man/man1/spmm_mpi.1" ] || missing+=" spmm_mpi.1"
for name in spmm spmm.h spmm_apply; do [ -f "$prefix/share/man/man3/$name.3" ] || missing+=" $name.3"; done
ok "program, libraries, headers, spmm.pc and man pages are there" test -z "$missing"
version=$(sed -n 's/^.define SPMM_VERSION "\(.*\)"/\1/p' include/spmm_types.h)
# before 1.0 a minor version is an interface of its own
case $version in 0.*) interface=${version%.*} ;; *) interface=${version%%.*} ;; esac
text "the soname of the shared library follows the version" "[libspmm.so.$interface]" \
    "$(readelf -d "$prefix/lib/libspmm.so" 2>&1 | grep SONAME)"
ok "the program says the same version" test "$("$prefix/bin/spmm_mpi" --version)" = "spmm_mpi $version"
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
    text "spmm.pc tells whether the library is for GPUs" "[$([ $cuda = 1 ] && echo yes || echo no)]" "[$(pkg-config --variable=cuda spmm)]"
    # what is linked dynamically shows in the library
    told= found=
    for feature in metis lzma zstd hwloc; do
        told+=" $feature=$(pkg-config --variable=$feature spmm)"
        found+=" $feature=$(readelf -d "$prefix/lib/libspmm.so" | grep -q "NEEDED.*lib$feature\." && echo yes || echo no)"
    done
    text "and for METIS, xz, zstd and hwloc" "$found" "$told"
    text "and by which wrapper it was compiled" "$(command -v "${MPICC%% *}")" "$(pkg-config --variable=mpicc spmm)"
fi

# by CMake, where the prefix is not the one that it was installed under
cmake_project() {
    mkdir -p project && cat >project/CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.13)
project(client C)
find_package(spmm 0.2 REQUIRED)
foreach(library spmm spmm_static)
  add_executable(by_${library} ../install_client.c)
  target_link_libraries(by_${library} PRIVATE spmm::${library} m)
endforeach()
message(STATUS "spmm ${spmm_VERSION} cuda=${spmm_cuda} of ${spmm_FEATURES}")
CMAKE
    sed -i "s/spmm 0.2 REQ/spmm $version REQ/" project/CMakeLists.txt
}
if command -v cmake >/dev/null; then
    cmake_project
    cp -a "$prefix" "$scratch/moved"
    ok "CMake finds the library in another place than it was installed in" cmake -S project -B by_cmake -DCMAKE_PREFIX_PATH="$scratch/moved"
    ok "a client builds by CMake's targets" cmake --build by_cmake
    text "with the library that was found" "$scratch/moved/lib/libspmm.so.$interface" "$(ldd by_cmake/by_spmm)"
    text "runs on 2 ranks" ", 0 wrong" "$(env -u LD_LIBRARY_PATH $MPIRUN -np 2 by_cmake/by_spmm 2>&1)"
    ok "and by the static one needs no libspmm.so" sh -c '! ldd by_cmake/by_spmm_static | grep -q libspmm'
    text "and runs, too" ", 0 wrong" "$($MPIRUN -np 2 by_cmake/by_spmm_static 2>&1)"
    text "CMake is told what is in the library" "spmm $version cuda=$([ $cuda = 1 ] && echo yes || echo no) of cuda nccl" \
        "$(cmake -S project -B by_cmake 2>&1 | tr ';' ' ')"
    # versions: what is asked for, whether this one will do
    for asked in "0.1 no" "$interface yes" "$version yes" "${version%%.*} yes" "${version%.*}.99 no" "99 no" "$version;EXACT yes"; do
        sed -i "s/^find_package.*/find_package(spmm ${asked% *} REQUIRED)/; s/;EXACT/ EXACT/" project/CMakeLists.txt
        rm -rf by_cmake
        cmake -S project -B by_cmake -DCMAKE_PREFIX_PATH="$scratch/moved" >cmake.log 2>&1 && found=yes || found=no
        text "CMake's version ${asked% *}: ${asked##* }" "${asked##* }" "$found"
    done
    rm "$scratch"/moved/lib/libspmm.so*
    sed -i "s/^find_package.*/find_package(spmm REQUIRED)/" project/CMakeLists.txt
    rm -rf by_cmake
    cmake -S project -B by_cmake -DCMAKE_PREFIX_PATH="$scratch/moved" >cmake.log 2>&1
    cmake --build by_cmake >>cmake.log 2>&1
    text "where there is libspmm.a alone, CMake links that" ", 0 wrong" "$($MPIRUN -np 2 by_cmake/by_spmm 2>&1 || cat cmake.log)"
else
    skip "a client builds and runs by CMake" "no cmake"
fi
text "the installed program runs from any folder" "$(sed -n 's/^.define SPMM_VERSION "\(.*\)"/\1/p' "$prefix/include/spmm_types.h")" \
    "$("$prefix/bin/spmm_mpi" --version 2>&1)"
# an adaptor lies where the program looks for it
others=$(cd "$root" && ls "$BUILD"/peers/peer_eigen.so 2>/dev/null)
if [ -n "$others" ]; then
    text "the installed program finds the adaptors to other libraries" "(Eigen " "$("$prefix/bin/spmm_mpi" --list-kernels 2>&1)"
else
    skip "the installed program finds the adaptors to other libraries" "this build has none to Eigen"
fi

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
