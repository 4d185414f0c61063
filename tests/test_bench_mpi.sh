#!/bin/bash
# bench_mpi on tiny matrices, compared with PETSc if it is installed, and with a library made here that is
# right or wrong.
# limit: 240
. tests/lib.sh
case $BUILD in *asan* | *tsan*) skip "bench_mpi times our product beside PETSc's" "not with sanitizers"; finish ;; esac
scratch
# bench RANKS NAME ARGS...: prints the output of program NAME, then its exit status
bench() {
    local ranks=$1 name=$2
    shift 2
    $MPIRUN -np "$ranks" "$scratch/$name" -r 2 -k 1,8 "$@" 2>&1
    echo "exit status $?"
}

ok "make build-tests has built bench_mpi, also beside a made library" \
    cp "$BUILD/bench/bench_mpi" "$BUILD/tests/bench_mpi_made" "$scratch"
csv=$scratch/out.csv
out=$(bench 1 bench_mpi_made --csv "$csv" lap2d5:20 matrices/lp_e226.mtx)
text "the other library is timed beside ours" "made here         loops" "$out"
text "files are read, rectangular ones too" "matrices/lp_e226.mtx: 223 x 472, 2768 entries, K = 8" "$out"
text "the summary has the bar" "bar: geometric mean 3.0, no case under 1.0: " "$out"
text "which fails no run" "exit status 0" "$out"
text "the CSV file has a header" "date,commit,host,cpu,ranks,threads,matrix," "$(head -1 "$csv")"
ok "and a row a contender and case" test "$(grep -c ',1$' "$csv")" = 8
out=$(WRONG=1 bench 1 bench_mpi_made --csv "$csv" lap2d5:20)
text "a wrong element is found" "WRONG: 1 of 400 elements, first (3, 0)" "$out"
text "and is exit status 1" "exit status 1" "$out"
ok "and marked in the CSV file" test "$(grep -c 'made here,.*,0$' "$csv")" = 2
out=$(BROKEN=1 bench 1 bench_mpi_made lap2d5:20)
text "a library that fails is named" "FAILED: it is broken" "$out"
text "which is exit status 1, too" "exit status 1" "$out"
text "an unknown generator is a usage error" "exit status 2" "$(bench 2 bench_mpi_made lap2d5:x)"
text "a missing file is an input error" "exit status 3" "$(bench 2 bench_mpi_made missing.mtx)"

out=$(bench 3 bench_mpi lap2d5:30 rmat:8,8 matrices/lp_e226.mtx)
text "our product is right on 3 ranks" "exit status 0" "$out"
if [[ $out == *"without petsc: not found"* ]]; then
    skip "PETSc is timed beside it" "no PETSc"
else
    text "PETSc is timed beside it" "petsc MatMatMult" "$out"
    text "by vectors, too, for K = 1" "petsc MatMult" "$out"
fi

# a folder of matrices, as for bench_multigpu
mkdir "$scratch/folder"
cp matrices/lp_e226.mtx matrices/cage9.mtx.gz matrices/n3c6-b1.mtx "$scratch/folder"
echo "%%MatrixMarket matrix coordinate real general" >"$scratch/folder/bad.mtx"
files=$scratch/files.csv
out=$(bench 3 bench_mpi --matrices "$scratch/folder" --least-entries 1000 --csv "$files" lap2d5:20)
names=$(tail -n +2 "$files" | cut -d, -f7 | uniq | tr -d '\n')
text "--matrices takes a folder's files on several ranks" '"cage9.mtx.gz""lp_e226.mtx""lap2d5:20"' "$names"
text "an invalid one is left out" "left out: bad.mtx: $scratch/folder/bad.mtx:1: " "$out"
text "so is one with few entries" "left out: n3c6-b1.mtx: 210 entries" "$out"
text "and neither is a failure" "exit status 0" "$out"
text "a folder that is not there is a usage error" "exit status 2" "$(bench 2 bench_mpi --matrices "$scratch/none")"
# the ranks see different folders
mkdir "$scratch/other"
cp matrices/cage9.mtx.gz "$scratch/other"
ln -s folder "$scratch/seen-0"
ln -s other "$scratch/seen-1"
printf '#!/bin/sh\nexec "$0.program" --matrices "%s/seen-${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" "$@"\n' "$scratch" >"$scratch/apart"
cp "$scratch/bench_mpi" "$scratch/apart.program"
chmod +x "$scratch/apart"
out=$(bench 2 apart)
text "ranks that see different folders do not wait for each other" "--matrices: one rank finds 1 matrices, another one 4" "$out"
text "which is a usage error" "exit status 2" "$out"
finish
