#!/bin/bash
# Random products by the library on GPUs, each compared with exact arithmetic (test_differential.c): on one
# rank, and on ranks that have a GPU each or share one. limit: 300
. tests/lib.sh

tester=$BUILD/tests/test_differential
if ! $MPIRUN -np 1 "$SPMM_MPI" -q -d cuda -r 1 lap2d5:9 >/dev/null 2>&1; then
    skip "random products on GPUs come to what exact arithmetic says" "no GPU"
    finish
fi
for ranks in 1 2 3; do
    ok "random products on GPUs come to what exact arithmetic says, $ranks ranks" \
        $MPIRUN -np $ranks "$tester" --cuda --cases 60
done
text "a wrong element of a result is found there" "FAIL case 0 of seed 1" \
    "$($MPIRUN -np 2 "$tester" --cuda --cases 3 --spoil 2>&1)"
finish
