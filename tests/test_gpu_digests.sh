#!/bin/bash
# Y on GPUs has the digests that tests/digests.txt has of it: on one rank, and on ranks that have a GPU each or share one. limit: 300
. tests/lib.sh

if ! $MPIRUN -np 1 "$SPMM_MPI" -q -d cuda -r 1 lap2d5:9 >/dev/null 2>&1; then
    skip "Y on GPUs has the bits that tests/digests.txt has of it" "no GPU"
    finish
fi
for ranks in 1 2 3 4 6; do
    ok "Y on GPUs has the bits that tests/digests.txt has of it, $ranks ranks" \
        $MPIRUN -np $ranks "$BUILD/tests/test_digests" --cuda
done
finish
