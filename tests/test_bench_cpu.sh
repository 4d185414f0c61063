#!/bin/bash
# bench_cpu without any library, and with one made here whose products are right or wrong.
# limit: 120
. tests/lib.sh
case $BUILD in *asan* | *tsan*) skip "bench_cpu times our kernels alone" "not with sanitizers"; finish ;; esac
scratch
# make build-tests has built them
for program in bench_cpu $(basename -s .c bench/bench_*.c) $([[ $BUILD != *cuda ]] || echo bench_gpu bench_multigpu); do
    [ "$program" = bench_series ] || ok "$program is built" test -x "$BUILD/bench/$program"
done
mkdir "$scratch/bench" "$scratch/peers"
cp "$BUILD/bench/bench_cpu" "$scratch/bench" || { fail "bench_cpu is there"; finish; }
csv=$scratch/out.csv
# bench ARGS...: prints the output of bench_cpu, then its exit status
bench() { "$scratch/bench/bench_cpu" -t 2 -r 2 -k 1,13 "$@" 2>&1; echo "exit status $?"; }

out=$(bench --own all --csv "$csv" lap2d5:20 matrices/lp_e226.mtx)
text "it times our kernels alone" "auto:cpu_csr" "$out"
text "and all of them with --own all" "own:cpu_ell_nopad" "$out"
text "reads files, rectangular ones too" "lp_e226.mtx: 223 x 472, 2768 entries, K = 13, f64" "$out"
text "says which libraries are missing, and how to get them" "not found: eigen (make bench-cpu-deps)" "$out"
text "and is content" "exit status 0" "$out"
out=$(bench -p c128 lap2d5:20 matrices/lp_e226.mtx)
text "it multiplies complex values, those of a real file with imaginary parts too" "2768 entries, K = 13, c128" "$out"
text "all right" "exit status 0" "$out"
text "the CSV file has a header" "date,commit,machine,threads,precision,matrix," "$(head -1 "$csv")"
text "an unknown generator is a usage error" "exit status 2" "$(bench lap2d5:x)"
text "a missing file is an input error" "exit status 3" "$(bench --only none missing.mtx)"

ok "an adaptor needs nothing but peer.h" \
    $MPICC -std=c11 -shared -fPIC -Wall -Wextra -Werror -I. -DPACKAGE='"eigen"' \
    -DFORMS='{"eigen", PEER_ROW, 1, 0, 1, 0}, {"eigen", PEER_COLUMN, 1, 0, 1, 0}' tests/bench_peer.c -o "$scratch/peers/peer_eigen.so"
out=$(bench --csv "$csv" lap2d5:20 rmat:8,8)
text "a library that is there is found" "found: eigen (v)" "$out"
text "timed and right, by rows and by columns" "exit status 0" "$out"
out=$(bench -p c64 lap2d5:20)
ok "it is left out with complex values, for which it has no code" test "$(grep -c 'eigen  *loops' <<<"$out")" = 0
text "which is no failure" "exit status 0" "$out"
ok "with a row of the CSV file for each layout" test "$(grep -c ',eigen,column,.*,1$' "$csv")" = 4
summary=$($PYTHON bench/summary_cpu.py "$csv" 2>&1)
text "the summary has the fastest library of each case" "the fastest of the bar" "$summary"
text "and says how many sweeps" "2 sweeps: library / ours" "$summary"
out=$(WRONG=1 bench --csv "$csv" lap2d5:20)
text "a wrong element is found" "WRONG: 1 of 400 elements, first (3, 0)" "$out"
text "and is exit status 1" "exit status 1" "$out"
text "which the summary counts" "2 rows are wrong or failed" "$($PYTHON bench/summary_cpu.py "$csv" 2>&1)"

# a folder of matrices
mkdir "$scratch/folder" "$scratch/folder/inner" "$scratch/none"
cp matrices/lp_e226.mtx matrices/cage9.mtx.gz matrices/n3c6-b1.mtx "$scratch/folder"
cp matrices/nos4.mtx "$scratch/folder/inner"
echo "%%MatrixMarket matrix coordinate real general" >"$scratch/folder/bad.mtx"
"$SPMM_MPI" -q -k 1 -r 1 --cache "$scratch/folder/west0479.npz" matrices/west0479.mtx >/dev/null
files=$scratch/files.csv
out=$(bench -k 4 --matrices "$scratch/folder" --least-entries 1000 --own cpu_ell_nopad --csv "$files" lap2d5:20)
names=$(tail -n +2 "$files" | cut -d, -f6 | uniq | tr -d '\n')
text "--matrices takes a folder's files, by their names" '"cage9.mtx.gz""lp_e226.mtx""west0479.npz""lap2d5:20"' "$names"
text "an invalid one is left out" "left out: bad.mtx: $scratch/folder/bad.mtx:1: " "$out"
text "so is one with few entries" "left out: n3c6-b1.mtx: 210 entries" "$out"
text "and neither is a failure" "exit status 0" "$out"
text "a folder without any is a usage error" "no .mtx, .mtx.gz or .npz there" "$(bench --matrices "$scratch/none")"
tables=$($PYTHON bench/tables.py "$files" 2>&1)
text "tables of a collection have means by K" "| cases | 3 | 3 |" "$tables"
text "how far auto is from the best kernel" "| within 1.10 |" "$tables"
text "and each case beside the library" "| lp_e226 | 4 |" "$tables"
finish
