#!/bin/bash
# The build of make MPI=0: it runs without mpirun, can be installed and found, and does not mix with a build
# for MPI.
# limit: 240
. tests/lib.sh
case $BUILD in *-one) ;; *) skip "make MPI=0 builds for one process" "this build has an MPI (make check-one-rank)"; finish ;; esac
scratch
out=$("$SPMM_MPI" -k 3 -r 2 --json "$scratch/run.jsonl" lap2d5:20 2>&1)
text "spmm_mpi runs without mpirun" "PASS" "$out"
ok "as one rank, whose record says so" grep -q '"ranks":1,' "$scratch/run.jsonl"
ok "neither it nor the library is linked with an MPI" sh -c '! ldd "$0" "$1" | grep -q -e libmpi -e libpmpi' "$SPMM_MPI" "$BUILD/libspmm.so"
text "two ranks are refused by the build's mpirun" "a build of make MPI=0 is for one process" "$(mk/alone -np 2 true 2>&1)"
text "the module for Fortran is not built, which is told" "FORTRAN=1 needs an MPI" "$(command make NO_DEPS=1 MPI=0 CUDA=0 FORTRAN=1 BUILDDIR="$scratch/b" build 2>&1)"

prefix=$scratch/usr
# install PREFIX SETTINGS...: installs the build, which `make` finds up to date; the settings file is restored
# afterwards
install() { command make NO_DEPS=1 BUILDDIR="$(dirname "$BUILD")" install PREFIX="$@" 2>&1; }
cp "$(dirname "$BUILD")/settings" "$scratch/settings" 2>/dev/null
case $BUILD in *cuda-one) cuda=1 ;; *) cuda=0 ;; esac
ok "make MPI=0 install works" install "$prefix" MPI=0 CUDA=$cuda
cp "$scratch/settings" "$(dirname "$BUILD")/settings" 2>/dev/null
ok "what is installed hides no mpi.h" test "$(cd "$prefix" && find . -name 'mpi*.h')" = ./include/spmm/one_rank/mpi.h
ok "and has no module for Fortran" test -z "$(find "$prefix" -name '*.f90' -o -name '*.mod')"
cp tests/install_client.c "$scratch/" && cd "$scratch" || exit 1
if ! command -v pkg-config >/dev/null; then
    skip "a client builds and runs against the installed library" "no pkg-config"
    finish
fi
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
unset LD_LIBRARY_PATH
text "spmm.pc tells that there is no MPI" "[no]" "[$(pkg-config --variable=mpi spmm)]"
cc=$(pkg-config --variable=mpicc spmm)
flags="-std=c11 -Wall -Wextra -Werror"
ok "a client builds with the C compiler that spmm.pc names" \
    $cc $flags install_client.c $(pkg-config --cflags --libs spmm) -o client
text "and runs" "1 ranks, 400 rows" "$(./client 2>&1)"
text "with the right row sums" ", 0 wrong" "$(./client 2>&1)"
ok "a client builds against the static library" sh -c \
    "$cc $flags install_client.c $(pkg-config --cflags spmm) $(pkg-config --static --libs spmm | sed 's/-lspmm -lmm/-l:libspmm.a -l:libmm.a/') -o client_static"
text "and runs" "400 rows" "$(./client_static 2>&1)"
ok "and needs no libspmm.so then" sh -c '! ldd ./client_static | grep -q libspmm'
printf '#include <spmm.h>\nint main() { spmm_plan_options o = {}; return o.format != SPMM_CSR; }\n' >client.cpp
if command -v c++ >/dev/null; then
    ok "its headers are C++11 without a warning" c++ -std=c++11 -Wall -Wextra -Werror -fsyntax-only $(pkg-config --cflags spmm) client.cpp
else
    skip "its headers are C++11 without a warning" "no C++ compiler"
fi
cat >early.c <<'C'
#include <spmm.h>
int main(void)
{
    int size;
    return MPI_Comm_size(MPI_COMM_WORLD, &size);
}
C
$cc early.c $(pkg-config --cflags --libs spmm) -o early
text "a call before MPI_Init ends the program" "MPI_Comm_size was called before MPI_Init" "$(./early 2>&1)"
if command -v cmake >/dev/null; then
    mkdir project && cat >project/CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.13)
project(client C)
find_package(spmm REQUIRED)
foreach(library spmm spmm_static)
  add_executable(by_${library} ../install_client.c)
  target_link_libraries(by_${library} PRIVATE spmm::${library} m)
endforeach()
CMAKE
    ok "a client builds by CMake's targets" sh -c "cmake -S project -B by_cmake -DCMAKE_PREFIX_PATH='$prefix' && cmake --build by_cmake"
    for library in spmm spmm_static; do
        text "and runs with $library" "1 ranks, 400 rows" "$(by_cmake/by_$library 2>&1)"
    done
    ok "CMake looked for no MPI" sh -c '! grep -q "^MPI_" by_cmake/CMakeCache.txt'
else
    skip "a client builds and runs by CMake" "no cmake"
fi

# --- the library of the other kind
real=$root/$(dirname "$BUILD")/cpu
if [ ! -f "$real/libspmm.so" ] || ! command -v mpicc >/dev/null; then
    skip "programs and libraries of the two kinds do not mix" "no build with MPI beside this one, or no mpicc"
    finish
fi
no_mpi="program_compiled_without_MPI_but_libspmm_is_for_MPI__compile_it_with_mpicc"
with_mpi="program_compiled_with_MPI_but_libspmm_is_of_make_MPI_0__link_one_of_its_MPI"
mpicc -c install_client.c -I"$root/include" -o of_mpi.o
$cc -c install_client.c $(pkg-config --cflags spmm) -o of_one.o
libs=$(pkg-config --static --libs spmm | sed 's/-lspmm -lmm//')
for kind in libspmm.so libspmm.a; do
    text "a program for MPI is not linked to $kind of make MPI=0" "$with_mpi" \
        "$(mpicc of_mpi.o -L"$prefix/lib" -l:$kind $libs -o mixed 2>&1)"
    text "nor one without to $kind for MPI" "$no_mpi" "$(mpicc of_one.o -L"$real" -l:$kind $libs -o mixed 2>&1)"
done
ok "each is linked to its own" mpicc of_mpi.o -L"$real" -lspmm -lm -o client_mpi
text "and a program for MPI that finds the other one when it starts does not, and is told" "$with_mpi" \
    "$(LD_LIBRARY_PATH=$prefix/lib ./client_mpi 2>&1)"
text "nor does one without MPI" "$no_mpi" "$(LD_LIBRARY_PATH=$real ./client 2>&1)"
ok "a wrapper's program with this mpi.h runs, too" sh -c \
    "mpicc install_client.c $(pkg-config --cflags --libs spmm) -o by_wrapper && ./by_wrapper | grep -q '1 ranks'"
finish
