#!/bin/bash
# The examples, built as a user does it against an installed libspmm, and what they compute.
# limit: 240
. tests/lib.sh
scratch
cuda=0
case $BUILD in *cuda) cuda=1 ;; *asan* | *tsan*) skip "the examples build and run" "not with sanitizers"; finish ;; esac
command -v pkg-config >/dev/null || { skip "the examples build and run" "no pkg-config"; finish; }
ok "libspmm is installed for them" make NO_DEPS=1 CUDA=$cuda BUILDDIR="$(dirname "$BUILD")" MPICC="$MPICC" \
    install PREFIX="$scratch/usr"
cp examples/block_power.c "$scratch/"
matrices=$PWD/matrices
cd "$scratch" || exit 1
export PKG_CONFIG_PATH=$scratch/usr/lib/pkgconfig
ok "block_power builds by the command that its head gives" \
    $MPICC -std=c11 -Wall -Wextra -Werror block_power.c -o block_power $(pkg-config --cflags --libs spmm) -lm

# power RANKS ARGS...: its output, then its exit status
power() {
    local ranks=$1
    shift
    $MPIRUN -np "$ranks" ./block_power "$@" 2>&1
    echo "exit status $?"
}
# eigenvalues N: those of lap2d5:N, 4 - 2 cos(i pi / (N + 1)) - 2 cos(j pi / (N + 1)), largest first
eigenvalues() {
    awk -v n="$1" 'BEGIN {
        pi = atan2(0, -1)
        for (i = 1; i <= n; i++)
            for (j = 1; j <= n; j++) printf "%.12f\n", 4 - 2 * cos(i * pi / (n + 1)) - 2 * cos(j * pi / (n + 1))
    }' | sort -rn
}
# near FOUND KNOWN: as many lines, each within 1e-8
near() {
    paste <(printf '%s\n' "$1") <(printf '%s\n' "$2") |
        awk '{ d = $1 - $2; if (NF != 2 || d > 1e-8 || d < -1e-8) { print "apart: " $0; bad = 1 } } END { exit bad || !NR }'
}
# values OUTPUT: the column of eigenvalues
values() { awk 'NF == 3 && $1 ~ /^[0-9]+$/ { print $2 }' <<<"$1"; }

known=$(eigenvalues 10 | head -5)
for ranks in 1 2 3; do
    out=$(power $ranks lap2d5:10 5 1e-6)
    on="on $ranks rank$([ $ranks = 1 ] || echo s)"
    text "block power iteration converges $on" "exit status 0" "$out"
    ok "to the five largest eigenvalues of a 10 x 10 grid" near "$(values "$out")" "$known"
    [ $ranks = 1 ] || continue
    ok "(which differ from those of another grid)" eval '! near "$(values "$out")" "$(eigenvalues 11 | head -5)" >/dev/null'
done
text "it reads files, with eigenvalues that are far from 1" "converged: " "$(power 2 "$matrices/bcsstk16.mtx.gz" 2 1e-4)"
text "a block as wide as the matrix is exact at once" "1 iterations, 1 products" "$(power 2 lap2d5:2 4)"
out=$(power 2 lap2d5:10 5 1e-6 2)
text "two iterations are too few" "NOT converged" "$out"
text "which is exit status 1" "exit status 1" "$out"
text "a matrix that is not symmetric is refused" "the matrix is not symmetric" "$(power 2 uniform:50,5)"
text "a missing file is named" "missing.mtx" "$(power 2 missing.mtx)"
text "too many vectors are a usage error" "K is more than the matrix has rows" "$(power 2 lap2d5:2 5)"

# --cuda with the GPU's memory played by the host's: nothing may be forgotten on one side
cat >shim.c <<'END_OF_SHIM'
#include <spmm.h>
spmm_status __wrap_spmm_device_open(MPI_Comm comm) { return comm == MPI_COMM_NULL; }
spmm_status __real_spmm_plan_create(MPI_Comm, const spmm_block *, int64_t, const spmm_plan_options *, spmm_plan **);
spmm_status __wrap_spmm_plan_create(MPI_Comm comm, const spmm_block *block, int64_t k, const spmm_plan_options *options,
                                    spmm_plan **plan)
{
    spmm_plan_options here = *options;
    here.device = SPMM_CPU;
    return __real_spmm_plan_create(comm, block, k, &here, plan);
}
END_OF_SHIM
ok "block_power builds with a played GPU" $MPICC block_power.c shim.c -o played \
    -Wl,--wrap=spmm_device_open,--wrap=spmm_plan_create $(pkg-config --cflags --libs spmm) -lm
# figures PROGRAM ARGS...: what does not depend on time or device
figures() { $MPIRUN -np 2 "$@" lap2d5:10 5 1e-6 2>&1 | sed -e 's/cuda/cpu/' -e 's/products:.*/products/'; }
out=$(figures ./played --cuda)
text "which takes the same steps" "$(figures ./block_power)" "$out"
text "and converges" "converged: " "$out"

out=$(power 2 --cuda lap2d5:10 5 1e-6)
if [[ $out == *"no usable GPU"* ]]; then
    skip "the products run on GPUs, too" "no GPU"
else
    text "the products run on GPUs, too" "cuda, kernel" "$out"
    ok "with the same eigenvalues" near "$(values "$out")" "$known"
fi
finish
