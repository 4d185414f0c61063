#!/bin/bash
# Products of fewer columns than plans were made for, on GPUs (test_widths.c): on one rank, and on ranks that have a GPU each
# or share one. limit: 600
. tests/lib.sh

tester=$BUILD/tests/test_widths
if ! $MPIRUN -np 1 "$SPMM_MPI" -q -d cuda -r 1 lap2d5:9 >/dev/null 2>&1; then
    skip "products of fewer columns on GPUs have the bits of plans for these" "no GPU"
    finish
fi
for ranks in 1 2 3; do
    ok "products of fewer columns on GPUs have the bits of plans for these, $ranks ranks" \
        $MPIRUN -np $ranks "$tester" --cuda
done
finish
