#!/bin/bash
# make install, clients built against the installed files, make uninstall.
# limit: 240
. tests/lib.sh
scratch
prefix=$scratch/usr
# the build under test; `make` finds it up to date
cuda=0
case $BUILD in *cuda) cuda=1 ;; *asan* | *tsan*) skip "make install puts libspmm in place" "not with sanitizers"; finish ;; esac
install() { command make NO_DEPS=1 MPI=1 CUDA=$cuda BUILDDIR="$(dirname "$BUILD")" MPICC="$MPICC" "$@" 2>&1; }

# prefixes that spmm.pc cannot contain, or that a shell should have expanded; with DESTDIR, so that a mistake
# changes no folder of this machine
for wrong in "/my software" '~/spmm' software/spmm '/a&b' '/a|b' "/a'b" ''; do
    out=$(install install DESTDIR="$scratch/wrong" PREFIX="$wrong") && fail "make install PREFIX='$wrong' is refused" ||
        text "make install PREFIX='$wrong' is refused" "make install: PREFIX=$wrong: expected an absolute path" "$out"
    ok "before anything is built or installed" test "$(grep -c '^  ' <<<"$out") $(ls "$scratch")" = "0 "
done
out=$(install install PREFIX=/opt/spmm DESTDIR="$scratch/my stage")
text "so is a DESTDIR with a space" "make install: DESTDIR=$scratch/my stage: expected a path of letters" "$out"
umask 077
ok "make install PREFIX= works" install install PREFIX="$prefix"
chmod 600 "$prefix/lib/pkgconfig/spmm.pc"
ok "also over files that others cannot read" install install PREFIX="$prefix"
umask 022
ok "whatever the umask is, others can read all files and enter all folders" test -z "$(
    find "$prefix" ! -type l \( ! -perm -444 -o -type d ! -perm -111 -o -path '*/bin/*' ! -perm -111 \) -ls)"
missing=
for file in bin/spmm_mpi lib/libspmm.a lib/libspmm.so lib/libmm.a lib/libmm.so include/spmm.h include/spmm_types.h include/spmm_extended.h lib/pkgconfig/spmm.pc \
    lib/cmake/spmm/spmmConfig.cmake lib/cmake/spmm/spmmConfigVersion.cmake; do
    [ -e "$prefix/$file" ] || missing+=" $file"
done
for file in include/*.h; do [ -f "$prefix/$file" ] || missing+=" $file"; done
[ ! -f docs/spmm_mpi.1 ] || [ -f "$prefix/share/man/man1/spmm_mpi.1" ] || missing+=" spmm_mpi.1"
for name in spmm spmm.h spmm_apply; do [ -f "$prefix/share/man/man3/$name.3" ] || missing+=" $name.3"; done
ok "program, libraries, headers, spmm.pc and man pages are there" test -z "$missing"
version=$(sed -n 's/^.define SPMM_VERSION "\(.*\)"/\1/p' include/spmm_types.h)
# before 1.0 each minor version is a new interface
case $version in 0.*) interface=${version%.*} ;; *) interface=${version%%.*} ;; esac
text "the soname of the shared library follows the version" "[libspmm.so.$interface]" \
    "$(readelf -d "$prefix/lib/libspmm.so" 2>&1 | grep SONAME)"
text "so does that of libmm" "[libmm.so.$interface]" "$(readelf -d "$prefix/lib/libmm.so" 2>&1 | grep SONAME)"
ok "the program says the same version" test "$("$prefix/bin/spmm_mpi" --version)" = "spmm_mpi $version"
# the library's internal names, each as a function of a program (names with two underscores are the
# compilers')
nm -g --defined-only "$BUILD/libspmm.a" "$BUILD/libmm.a" | awk '$2 == "T" && $3 !~ /^(spmm|mm|__|\.)/ && !seen[$3]++ {
    print "int " $3 "(void);\nint " $3 "(void) { return 0; }" }' >"$scratch/names.c"
cp tests/install_client.c tests/nist_client.c matrices/cage4.mtx "$scratch/" && cd "$scratch" || exit 1

export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
# as in docs/INSTALL.md
static="pkg-config --static --libs spmm | sed 's/-lspmm -lmm/-l:libspmm.a -l:libmm.a/'"
moved="pkg-config --define-prefix --cflags --libs spmm"
if ! command -v pkg-config >/dev/null; then
    skip "a client builds and runs against the installed library" "no pkg-config"
else
    ok "spmm.pc has the version of spmm.h" grep -q "\"$(pkg-config --modversion spmm)\"" "$prefix/include/spmm_types.h"
    # (without the MPIs' old C++ bindings; OMPI_CC and MPICH_CC set the wrapper's compiler)
    printf '#include <spmm_extended.h>\nint main() { spmm_plan_options o = {}; return o.format != SPMM_FORMAT_AUTO; }\n' >client.cpp
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
        $(eval "$static") -o client_static
    ok "and needs no libspmm.so then" sh -c '! ldd ./client_static | grep -q -e libspmm -e libmm'
    text "and runs on 2 ranks" ", 0 wrong" "$($MPIRUN -np 2 ./client_static 2>&1)"
    ok "the static libraries have no global names but spmm_* and mm_*" \
        test -z "$(nm -g --defined-only "$prefix/lib/libspmm.a" "$prefix/lib/libmm.a" | awk 'NF == 3 && $3 !~ /^(spmm|mm)_/')"
    ok "there are others inside" test "$(grep -c return names.c)" -gt 100
    ok "so that a program may have functions of these names" $MPICC -std=c11 -w \
        install_client.c names.c $(pkg-config --cflags spmm) \
        $(eval "$static") -o client_names
    text "and runs on 2 ranks" ", 0 wrong" "$($MPIRUN -np 2 ./client_names 2>&1)"
    # a program that has some of NIST's functions itself
    cat >some_mm.c <<'C'
#include <mmio.h>
int mm_read_mtx_crd_size(FILE *f, int *m, int *n, int *nnz) { return f && m && n && nnz ? 77 : 0; }
int main(void)
{
    MM_typecode code;
    int n = 0;
    return mm_read_banner(stdin, &code) == 0 && mm_read_mtx_crd_size(stdin, &n, &n, &n) == 77 ? 0 : 1;
}
C
    ok "a program may have some of NIST's functions of its own" sh -c \
        "${CC:-cc} some_mm.c -I'$prefix/include' '$prefix/lib/libmm.a' -lm -o some_mm && ./some_mm <cage4.mtx"
    text "docs/INSTALL.md says how to link the static libraries" "$static" "$(<"$root/docs/INSTALL.md")"
    text "and how a prefix that was moved is found" "$moved" "$(<"$root/docs/INSTALL.md")"
    cp -a "$prefix" "$scratch/moved" && mv "$prefix" "$prefix.away"
    ok "so that a client builds there" env PKG_CONFIG_PATH="$scratch/moved/lib/pkgconfig" sh -c \
        "$MPICC install_client.c \$($moved) -o client_moved"
    text "with the library that lies there" "$scratch/moved/lib/libspmm.so.$interface" "$(env -u LD_LIBRARY_PATH ldd client_moved)"
    text "and runs on 2 ranks, too" ", 0 wrong" "$(env -u LD_LIBRARY_PATH $MPIRUN -np 2 ./client_moved 2>&1)"
    mv "$prefix.away" "$prefix" && rm -r "$scratch/moved"
    # NIST's functions are in a separate library, libmm
    ok "a program written for NIST's mmio.h builds by spmm.pc" $MPICC nist_client.c $(pkg-config --cflags --libs spmm) -o nist_shared
    text "with libmm, of the same folder" "$prefix/lib/libmm.so.$interface" "$(env -u LD_LIBRARY_PATH ldd nist_shared)"
    ok "and reads and writes" env -u LD_LIBRARY_PATH ./nist_shared cage4.mtx cage4_again.mtx
    ok "it needs nothing but libmm and libm" ${CC:-cc} nist_client.c -I"$prefix/include" "$prefix/lib/libmm.a" -lm -o nist_static
    text "spmm.pc tells whether the library is for GPUs" "[$([ $cuda = 1 ] && echo yes || echo no)]" "[$(pkg-config --variable=cuda spmm)]"
    # compared with the libraries that libspmm.so is linked with
    told= found=
    for feature in metis lzma zstd hwloc; do
        told+=" $feature=$(pkg-config --variable=$feature spmm)"
        found+=" $feature=$(readelf -d "$prefix/lib/libspmm.so" | grep -q "NEEDED.*lib$feature\." && echo yes || echo no)"
    done
    text "and for METIS, xz, zstd and hwloc" "$found" "$told"
    text "and by which wrapper it was compiled" "$(command -v "${MPICC%% *}")" "$(pkg-config --variable=mpicc spmm)"
fi

# by CMake, from a prefix that was moved after the installation
cmake_project() {
    mkdir -p project && cat >project/CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.13)
project(client C)
find_package(spmm 0.3 REQUIRED)
foreach(library spmm spmm_static)
  add_executable(by_${library} ../install_client.c)
  target_link_libraries(by_${library} PRIVATE spmm::${library} m)
endforeach()
foreach(library spmm spmm_static)
  add_executable(nist_by_${library} ../nist_client.c)
  target_link_libraries(nist_by_${library} PRIVATE spmm::${library})
endforeach()
message(STATUS "spmm ${spmm_VERSION} cuda=${spmm_cuda} of ${spmm_FEATURES}")
CMAKE
    sed -i "s/spmm 0.3 REQ/spmm $version REQ/" project/CMakeLists.txt
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
    text "a program written for NIST's mmio.h is linked with libmm by CMake" "$scratch/moved/lib/libmm.so.$interface" \
        "$(ldd by_cmake/nist_by_spmm)"
    ok "and reads and writes" env -u LD_LIBRARY_PATH by_cmake/nist_by_spmm cage4.mtx cage4_cmake.mtx
    ok "by the static target, too" by_cmake/nist_by_spmm_static cage4.mtx cage4_cmake.mtx
    ok "which needs no libmm.so" sh -c '! ldd by_cmake/nist_by_spmm_static | grep -q libmm'
    text "CMake is told what is in the library" "spmm $version cuda=$([ $cuda = 1 ] && echo yes || echo no) of mpi cuda nccl" \
        "$(cmake -S project -B by_cmake 2>&1 | tr ';' ' ')"
    # versions: requested version, and whether this one is compatible
    for asked in "0.1 no" "$interface yes" "$version yes" "${version%%.*} yes" "${version%.*}.99 no" "99 no" "$version;EXACT yes"; do
        sed -i "s/^find_package.*/find_package(spmm ${asked% *} REQUIRED)/; s/;EXACT/ EXACT/" project/CMakeLists.txt
        rm -rf by_cmake
        cmake -S project -B by_cmake -DCMAKE_PREFIX_PATH="$scratch/moved" >cmake.log 2>&1 && found=yes || found=no
        text "CMake's version ${asked% *}: ${asked##* }" "${asked##* }" "$found"
    done
    cpp_project() { # NAME LANGUAGES: builds a C++ program in a project of these languages
        mkdir -p "$1" && cat >"$1/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.13)
project(client $2)
find_package(spmm REQUIRED)
foreach(library spmm spmm_static)
  add_executable(by_\${library} ../by_cmake.cpp)
  target_link_libraries(by_\${library} PRIVATE spmm::\${library})
endforeach()
CMAKE
        cmake -S "$1" -B "$1/build" -DCMAKE_PREFIX_PATH="$scratch/moved" && cmake --build "$1/build"
    }
    cat >by_cmake.cpp <<'CPP'
#include <spmm.h>
#include <cstdio>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    spmm_csr a = {};
    const spmm_status s = spmm_csr_generate("lap2d5:4", SPMM_F64, &a);
    std::printf("%s, %d entries\n", spmm_status_string(s), (int)a.nnz);
    spmm_csr_destroy(&a);
    MPI_Finalize();
}
CPP
    if command -v c++ >/dev/null; then
        for languages in "C CXX" CXX; do
            ok "a program of C++ builds by CMake in a project of $languages" cpp_project "cpp${languages% *}" "$languages"
            for library in spmm spmm_static; do
                text "and runs with $library" "64 entries" "$("cpp${languages% *}/build/by_$library" 2>&1)"
            done
        done
    else
        skip "a program of C++ builds by CMake" "no C++ compiler"
    fi
    ok "a project without a language that has MPI is told which there are" sh -c "mkdir none &&
        printf 'cmake_minimum_required(VERSION 3.13)\nproject(client NONE)\nfind_package(spmm REQUIRED)\n' >none/CMakeLists.txt &&
        cmake -S none -B none/build -DCMAKE_PREFIX_PATH='$scratch/moved' 2>&1 | grep -q 'needs MPI of C, CXX or Fortran'"
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
# adaptors are installed where the program looks for them
others=$(cd "$root" && ls "$BUILD"/peers/peer_eigen.so 2>/dev/null)
if [ -n "$others" ]; then
    text "the installed program finds the adaptors to other libraries" "(Eigen " "$("$prefix/bin/spmm_mpi" --list-kernels 2>&1)"
else
    skip "the installed program finds the adaptors to other libraries" "this build has none to Eigen"
fi

cd "$root" || exit 1
# the README's commands, in one shell; mpicc and mpirun run in $scratch, where solver.c is
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
