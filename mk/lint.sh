#!/bin/sh
# make lint: lint.sh FILE...; settings in .clang-format, .clang-tidy, .cppcheck-suppressions.
# Exit status 1 if a check has a finding.
JOBS=${JOBS:-2}
status=0
c_files= cu=
for file in "$@"; do
    case $file in
    kernels/peers/adaptors/*) ;; # needs the headers of other libraries
    src/*.c | contrib/*.c | kernels/*.c | include/*.h) c_files="$c_files $file" ;;
    esac
done

echo "lint: contracts"
python3 "$(dirname "$0")/contracts.py" || status=1

echo "lint: words"
python3 "$(dirname "$0")/words.py" || status=1

echo "lint: functions of tests"
awk '/^\{$/ { begin = FNR }
    /^\}$/ && FNR - begin > 61 { print FILENAME ":" begin ": a function of more than 60 lines"; bad = 1 }
    END { exit bad }' tests/*.[ch] || status=1

echo "lint: clang-format"
clang-format --dry-run -Werror "$@" || status=1

# clang without its own OpenMP headers can read gcc's, except for an attribute that it does not know
mkdir -p build/lint && rm -f build/lint/omp.h
sed 's/__malloc__ *([^)]*)/__malloc__/' "$(gcc -print-file-name=include/omp.h)" >build/lint/omp.h
mpi=$(${MPICC:-mpicc} --showme:compile 2>/dev/null || ${MPICC:-mpicc} -show 2>/dev/null)
mpi=$(printf '%s\n' $mpi | sed -n 's/^-I/-isystem/p' | tr '\n' ' ')
cuda=
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
[ -z "$nvcc" ] || for d in $("$nvcc" --dryrun -x cu /dev/null 2>&1 | sed -n 's/^.\$ INCLUDES="-I\([^"]*\)".*/\1/p'); do
    cuda="$cuda -isystem$d"
done

echo "lint: clang-tidy"
tidy=
for file in $c_files; do
    case $file in
    *.h) continue ;;
    src/device/device_cuda*.c) [ -n "$cuda" ] || continue ;;
    src/comm/nccl_found.c) [ -n "$cuda" ] && echo '#include <nccl.h>' | gcc -fsyntax-only $cuda -x c - 2>/dev/null || continue ;;
    kernels/series/cpu_series_blas.c) echo '#include <cblas.h>' | gcc -fsyntax-only -x c - 2>/dev/null || continue ;;
    src/device/topology_hwloc.c) echo '#include <hwloc.h>' | gcc -fsyntax-only -x c - 2>/dev/null || continue ;;
    src/order/graph_cut_metis.c) echo '#include <metis.h>' | gcc -fsyntax-only -x c - 2>/dev/null || continue ;;
    esac
    tidy="$tidy $file"
done
printf '%s ' $tidy | xargs -r -P "$JOBS" -n 1 sh -c '
    flags=$1; shift
    case $1 in contrib/one_rank/*) flags="-Icontrib/one_rank $flags" ;; esac
    clang-tidy --quiet "$@" -- $flags 2>/dev/null' sh \
    "-xc -std=c11 -D_GNU_SOURCE -Iinclude -Isrc -I. -isystem build/lint $mpi $cuda -fopenmp -Wall -Wextra" || status=1

echo "lint: cppcheck"
[ -z "$c_files" ] || cppcheck --quiet -j "$JOBS" --std=c11 --language=c --enable=warning,performance,portability --inline-suppr \
    --suppressions-list=.cppcheck-suppressions --error-exitcode=1 --library=posix --library=gnu \
    -D_GNU_SOURCE -Iinclude -Isrc -I. $c_files || status=1

[ "$status" = 0 ] && echo "lint: nothing found"
exit $status
