#!/bin/bash
# The Fortran module of an installed libspmm: it has all of spmm.h, with C's values and layouts, and its
# functions work.
# limit: 300
. tests/lib.sh
scratch

# each function of the headers must be in the module, except those in `exceptions`
exceptions=""
missing=
functions=$(sed -n 's/^[a-z].*[ *]\(spmm_[a-z_0-9]*\)(.*/\1/p' include/spmm.h include/spmm_types.h include/spmm_extended.h)
for name in $functions; do
    case " $exceptions " in *" $name "*) continue ;; esac
    grep -qE "^  public ::.*\b$name\b" fortran/spmm.f90 && grep -qE "^  (subroutine|function) $name\(" fortran/spmm.f90 || missing+=" $name"
done
ok "the module has every function of spmm.h" test -z "$missing" -a "$(wc -w <<<"$functions")" -ge 20

case $BUILD in *asan* | *tsan*) skip "the Fortran module works" "not with sanitizers"; finish ;; esac
if [ ! -f "$BUILD/fortran/libspmm_fortran.a" ]; then
    skip "the Fortran module works" "this build has none: no Fortran compiler of this MPI, or FORTRAN=0"
    finish
fi
command -v pkg-config >/dev/null || { skip "the Fortran module works" "no pkg-config"; finish; }
cuda=0
case $BUILD in *cuda) cuda=1 ;; esac
prefix=$scratch/usr
ok "the library is installed with it" make NO_DEPS=1 CUDA=$cuda BUILDDIR="$(dirname "$BUILD")" MPICC="$MPICC" install PREFIX="$prefix"
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
mpifort=$(pkg-config --variable=mpifort spmm-fortran)
text "spmm.pc says so" "yes" "$(pkg-config --variable=fortran spmm)"

# values of constants and offsets of members in C, compared with those of the module
headers=$($MPICC -E -P include/spmm_types.h && sed -n '/^typedef struct spmm_plan_\(options\|study\)/,/^}/p' include/spmm.h include/spmm_extended.h |
    sed 's|/\*\*<.*\*/||; /\/\*\*</,/\*\//{ s|/\*\*<.*||; t; d }')
# every enumerator
constants=$(tr '\n' ' ' <<<"$headers" | grep -oE 'typedef enum [^}]*\}' | grep -oE '\bSPMM_[A-Z0-9_]+\b')
# "TYPE MEMBER" of every struct
members=$(tr '\n' ' ' <<<"$headers" | grep -oE 'typedef struct spmm_[a-z_]+ \{[^}]*\}' |
    awk '{ type = $3; sub(/^[^{]*\{/, ""); sub(/\}.*/, ""); n = split($0, lines, ";")
           for (i = 1; i <= n; i++) { sub(/\[[0-9]+\]/, "", lines[i]); m = split(lines[i], names, ",")
               for (j = 1; j <= m; j++) { k = split(names[j], words, /[ *]+/); while (k && words[k] == "") k--
                   if (k) print type, words[k] } } }')
ok "the headers' constants and members are found" test "$(wc -l <<<"$constants")" -ge 40 -a "$(wc -l <<<"$members")" -ge 40
# Fortran ignores case: the constant SPMM_CSR would clash with the type spmm_csr, thus SPMM_FORMAT_CSR
formats=" $(sed -n 's/^    F(\(SPMM_[A-Z_]*\),.*/\1/p' include/spmm_types.h | tr '\n' ' ')"
{
    printf '#include <stdio.h>\n#include <stddef.h>\n#define SPMM_NO_MPI_CHECK\n#include "spmm_extended.h"\nint main(void) {\n'
    for c in $constants; do echo "printf(\"$c %d\\n\", $c);"; done
    while read -r type member; do echo "printf(\"$type $member %d\\n\", (int)offsetof($type, $member));"; done <<<"$members"
    for type in $(cut -d' ' -f1 <<<"$members" | sort -u); do echo "printf(\"$type %d\\n\", (int)sizeof($type));"; done
    echo 'return 0; }'
} >"$scratch/values.c"
{
    printf 'program values\nuse, intrinsic :: iso_c_binding\nuse spmm\nimplicit none\n'
    types=$(cut -d' ' -f1 <<<"$members" | sort -u)
    for type in $types; do echo "type($type), target :: of_$type"; done
    for c in $constants; do
        case $formats in *" $c "*) name=SPMM_FORMAT_${c#SPMM_} ;; *) name=$c ;; esac
        echo "print '(a,i0)', '$c ', $name"
    done
    while read -r type member; do
        echo "print '(a,i0)', '$type $member ', &"
        echo "    at(c_loc(of_$type%$member)) - at(c_loc(of_$type))"
    done <<<"$members"
    for type in $types; do echo "print '(a,i0)', '$type ', c_sizeof(of_$type)"; done
    printf 'contains\nfunction at(p)\ntype(c_ptr), intent(in) :: p\ninteger(c_intptr_t) :: at\n'
    printf 'at = transfer(p, at)\nend function\nend program\n'
} >"$scratch/values.f90"
calls=$PWD/tests/fortran/calls.f90
example=$PWD/examples/block_power.f90
printf '%%%%MatrixMarket matrix coordinate real general\n3 3 4\n1 1 1\n2 1 2\n2 2 3\n3 3 4\n' >"$scratch/small.mtx"
ok "C's constants and layouts compile" $MPICC -Iinclude "$scratch/values.c" -o "$scratch/values_c"
root_folder=$PWD
cd "$scratch" || exit 1
flags=$(pkg-config --cflags --libs spmm-fortran)
ok "and the module's" "$mpifort" values.f90 -o values_f $flags
ok "they are the same" diff <(./values_c) <(./values_f)
ok "a program of all functions compiles" "$mpifort" "$calls" -o calls $flags
for ranks in 1 2 4; do
    out=$($MPIRUN -np $ranks ./calls small.mtx 2>&1)
    sed "s/^\(PASS\|FAIL\) .*/& ($ranks rank$([ $ranks = 1 ] || echo s))/" <<<"$out"
    ! grep -q '^FAIL' <<<"$out" || tests_failed=1
    text "a plan's kernel is told on $ranks" "kernel      cpu_" "$(grep -v '^PASS' <<<"$out")"
    ok "all of it was done on $ranks" test "$(grep -c '^PASS' <<<"$out")" -ge 80
done

# other file formats, which are recognized by their first bytes: the same tests pass
"$root_folder/$BUILD/spmm_mpi" --convert small.npz small.mtx >converted 2>&1
"$root_folder/$BUILD/spmm_mpi" --convert small.petsc small.mtx >>converted 2>&1
{
    printf '%-72s%-8s\n' "a small matrix" small
    printf '%14d%14d%14d%14d\n' 3 1 1 1
    printf '%-14s%14d%14d%14d%14d\n' RUA 3 3 4 0
    printf '%-16s%-16s%-20s%-20s\n' "(8I3)" "(8I3)" "(4E12.4)" ""
    printf '%3d%3d%3d%3d\n%3d%3d%3d%3d\n' 1 3 4 5 1 2 2 3
    printf '%12s%12s%12s%12s\n' 1.0 2.0 3.0 4.0
} >small.rua
for format in npz petsc rua; do
    out=$($MPIRUN -np 2 ./calls small.$format 2>&1)
    sed "s/^FAIL .*/& (small.$format)/" <<<"$out" | grep '^FAIL' && tests_failed=1
    ok "all of it is done with a matrix of small.$format" test "$(grep -c '^PASS' <<<"$out")" -ge 80
done

# without the compiled module: from its source, as is necessary with another compiler
mkdir other && cd other || exit 1
ok "the module's source compiles with a program" "$mpifort" $(pkg-config --variable=source spmm) "$calls" -o calls \
    $(pkg-config --libs spmm)
text "which runs" "PASS a product has the row sums of A" "$($MPIRUN -np 2 ./calls ../small.mtx 2>&1)"
cd .. || exit 1

# the example
cp "$example" .
ok "block_power.f90 compiles by the command that its head gives" "$mpifort" block_power.f90 -o block_power_f $flags
known=$(awk 'BEGIN { pi = atan2(0, -1)
    for (i = 1; i <= 10; i++) for (j = 1; j <= 10; j++) printf "%.12f\n", 4 - 2 * cos(i * pi / 11) - 2 * cos(j * pi / 11) }' | sort -rn | head -5)
for ranks in 1 2 4; do
    out=$($MPIRUN -np $ranks ./block_power_f lap2d5:10 5 1e-6 2>&1)
    text "block power iteration converges on $ranks" "converged: " "$out"
    ok "to the five largest eigenvalues" awk 'NR == FNR { known[NR] = $1; next }
        NF == 3 && $1 ~ /^[0-9]+$/ { n++; d = $2 - known[n]; if (d > 1e-8 || d < -1e-8) bad = 1 } END { exit bad || n != 5 }' \
        <(echo "$known") <(echo "$out")
done
text "it reads files" "converged: " "$($MPIRUN -np 2 ./block_power_f "$root_folder/matrices/bcsstk16.mtx.gz" 2 1e-4 2>&1)"
text "a matrix that is not symmetric is refused" "the matrix is not symmetric" "$($MPIRUN -np 2 ./block_power_f uniform:50,5 2>&1)"
text "two rounds are too few" "NOT converged" "$($MPIRUN -np 2 ./block_power_f lap2d5:10 5 1e-6 2 2>&1)"
text "wrong arguments are told how it is called" "usage: " "$($MPIRUN -np 2 ./block_power_f lap2d5:10 none 2>&1)"

if command -v cmake >/dev/null; then
    mkdir project
    cat >project/CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.13)
project(solver C Fortran)
find_package(spmm REQUIRED)
add_executable(solver ../block_power.f90)
target_link_libraries(solver PRIVATE spmm::spmm_fortran)
CMAKE
    ok "CMake finds the module" cmake -S project -B by_cmake -DCMAKE_PREFIX_PATH="$prefix"
    ok "and compiles a program" cmake --build by_cmake
    text "which runs" "converged: " "$($MPIRUN -np 2 by_cmake/solver lap2d5:10 2>&1)"
else
    skip "CMake finds the module" "no cmake"
fi
finish
