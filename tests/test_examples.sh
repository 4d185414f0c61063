#!/bin/bash
# The examples, built against an installed libspmm as a user does, and their results.
# limit: 600
. tests/lib.sh
scratch
cuda=0
case $BUILD in *cuda) cuda=1 ;; *asan* | *tsan*) skip "the examples build and run" "not with sanitizers"; finish ;; esac
command -v pkg-config >/dev/null || { skip "the examples build and run" "no pkg-config"; finish; }
ok "libspmm is installed for them" make NO_DEPS=1 CUDA=$cuda BUILDDIR="$(dirname "$BUILD")" MPICC="$MPICC" \
    install PREFIX="$scratch/usr"
cp examples/*.c examples/*.cpp "$scratch/"
matrices=$PWD/matrices
cd "$scratch" || exit 1
export PKG_CONFIG_PATH=$scratch/usr/lib/pkgconfig
for example in block_power lobpcg gcn block_cg block_minres cut_mesh; do
    ok "$example builds by the command that its head gives" \
        $MPICC -std=c11 -Wall -Wextra -Werror $example.c -o $example $(pkg-config --cflags --libs spmm) -lm
done

# power RANKS ARGS...: prints the output of block_power, then its exit status. MPICH's mpiexec may end before
# it has read the output that precedes MPI_Abort(): a run without output is repeated.
power() {
    local ranks=$1 out status
    shift
    for _ in 1 2 3 4; do
        out=$($MPIRUN -np "$ranks" ./block_power "$@" 2>&1)
        status=$?
        [ -z "$out" ] || break
    done
    printf '%s\nexit status %s\n' "$out" "$status"
}
# eigenvalues N: prints those of lap2d5:N, 4 - 2 cos(i pi / (N + 1)) - 2 cos(j pi / (N + 1)), largest first
eigenvalues() {
    awk -v n="$1" 'BEGIN {
        pi = atan2(0, -1)
        for (i = 1; i <= n; i++)
            for (j = 1; j <= n; j++) printf "%.12f\n", 4 - 2 * cos(i * pi / (n + 1)) - 2 * cos(j * pi / (n + 1))
    }' | sort -rn
}
# near FOUND KNOWN: tests that both have as many lines, whose numbers differ by at most 1e-8
near() {
    paste <(printf '%s\n' "$1") <(printf '%s\n' "$2") |
        awk '{ d = $1 - $2; if (NF != 2 || d > 1e-8 || d < -1e-8) { print "apart: " $0; bad = 1 } } END { exit bad || !NR }'
}
# values OUTPUT: prints the column of eigenvalues
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
text "too many vectors are a usage error" "K exceeds the number of rows of the matrix" "$(power 2 lap2d5:2 5)"

# --cuda with plans on the CPU, as if host memory were GPU memory: the steps must be those without --cuda
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
# figures PROGRAM ARGS...: prints the output without times and device
figures() { $MPIRUN -np 2 "$@" lap2d5:10 5 1e-6 2>&1 | sed -e 's/cuda/cpu/' -e 's/products:.*/products/'; }
out=$(figures ./played --cuda)
text "which takes the same steps" "$(figures ./block_power)" "$out"
text "and converges" "converged: " "$out"

# run RANKS PROGRAM ARGS...: prints its output, then its exit status
run() {
    local ranks=$1
    shift
    $MPIRUN -np "$ranks" "$@" 2>&1
    echo "exit status $?"
}
known=$(eigenvalues 12 | sort -n | head -5)
for ranks in 1 2 3; do
    out=$(run $ranks ./lobpcg lap2d5:12 5 1e-5)
    text "LOBPCG converges on $ranks ranks" "exit status 0" "$out"
    ok "to the five smallest eigenvalues of a 12 x 12 grid" near "$(values "$out")" "$known"
done
text "two rounds are too few" "NOT converged in 2 rounds" "$(run 2 ./lobpcg lap2d5:12 5 1e-5 2)"
text "more vectors than it has room for are a usage error" "exit status 2" "$(run 1 ./lobpcg lap2d5:12 61)"
text "a file that is not there is named" "missing.mtx" "$(run 2 ./lobpcg missing.mtx)"

# both examples have linearly dependent right-hand sides
for ranks in 1 2 4; do
    out=$(run $ranks ./block_cg lap2d5:40 8 1e-10)
    text "block CG solves for 8 right-hand sides on $ranks ranks" "K = 8: converged" "$out"
    text "with exit status 0" "exit status 0" "$out"
    out=$(run $ranks ./block_minres lap2d5:30 8 1e-10 1)
    text "block MINRES solves an indefinite system on $ranks ranks" "K = 8: converged" "$out"
    text "with exit status 0" "exit status 0" "$out"
done
text "block CG takes one right-hand side, and more than the matrix has rows" "converged converged" \
    "$(echo "$(run 2 ./block_cg lap2d5:9 1 | grep -o ' converged')" "$(run 2 ./block_cg lap2d5:3 16 | grep -o ' converged')" | xargs)"
text "block MINRES, too" "converged converged" \
    "$(echo "$(run 2 ./block_minres lap2d5:9 1 | grep -o ' converged')" "$(run 2 ./block_minres lap2d5:3 16 | grep -o ' converged')" | xargs)"
text "it solves with a real stiffness matrix" "K = 8: converged" "$(run 2 ./block_cg "$matrices/bcsstk16.mtx.gz" 8 1e-8 3000)"
text "an indefinite matrix is none for block CG" "NOT converged" "$(run 2 ./block_cg "$matrices/G51.mtx" 8 1e-3)"
text "but for block MINRES" "K = 8: converged" "$(run 2 ./block_minres "$matrices/G51.mtx" 8 1e-3 0.5)"
for solver in block_cg block_minres; do
    out=$(run 2 ./$solver lap2d5:40 8 1e-10 $([ $solver = block_cg ] || echo 1) 9)
    text "nine rounds of $solver are too few" "NOT converged in 9 rounds" "$out"
    text "which is exit status 1" "exit status 1" "$out"
    text "a matrix that is not square is a usage error" "exit status 2" "$(run 1 ./$solver "$matrices/lp_e226.mtx")"
done

for ranks in 1 4; do
    out=$(run $ranks ./cut_mesh 60)
    text "a mesh numbered at random has the same Y by both cuts on $ranks ranks" "Y has the same bits" "$out"
    ok "with few rows moved" awk -v ranks=$ranks '/^3600 points/ { n++; bad = ranks > 1 && !($9 > 10 * $15) } END { exit bad || n != 1 }' <<<"$out"
done

# the C++ wrapper in the folder of mpicc; it may be missing
mpicxx=${MPICC/%mpicc/mpicxx}
if [ "$mpicxx" = "$MPICC" ] || ! echo 'int main() { return 0; }' >c++.cpp || ! $mpicxx c++.cpp -o c++ 2>/dev/null; then
    skip "conjugate gradients in C++ build and converge" "no compiler for C++ beside $MPICC"
else
    ok "cg builds by the command that its head gives" \
        $mpicxx -std=c++11 -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX -Wall -Wextra -Werror cg.cpp -o cg $(pkg-config --cflags --libs spmm)
    for ranks in 1 2 3; do
        out=$(run $ranks ./cg lap3d7:8 4 1e-8)
        text "conjugate gradients in C++ converge on $ranks ranks" "exit status 0" "$out"
        ok "to the known solution" awk '/^converged/ { bad = !($NF < 1e-6 && $NF > 0); n++ } END { exit bad || n != 1 }' <<<"$out"
    done
    text "the diagonal preconditioner copes with a matrix of structures" "exit status 0" \
        "$(run 2 ./cg "$matrices/bcsstk16.mtx.gz" 3 1e-8 199)"
    out=$(run 2 ./cg lap3d7:8 4 1e-8 3)
    text "three iterations are too few" "NOT converged after 3" "$out"
    text "which is exit status 1, too" "exit status 1" "$out"
    text "a missing file is named by it, too" "missing.mtx" "$(run 2 ./cg missing.mtx)"
fi

petsc=
for name in PETSc petsc; do
    [ -n "$petsc" ] || ! pkg-config --exists $name || petsc=$(pkg-config --cflags --libs $name)
done
# a PETSc for another MPI, with complex scalars, or too old for the example does not count
if [ -z "$petsc" ] || ! printf '%s\n' '#include <petscmat.h>' '#if defined(PETSC_USE_COMPLEX) || !defined(PetscCall)' '#error' '#endif' \
    'int main(int c, char **v) { return PetscInitialize(&c, &v, 0, 0) || PetscFinalize(); }' >found.c ||
    ! $MPICC found.c -o found $petsc 2>/dev/null || ! $MPIRUN -np 1 ./found 2>/dev/null; then
    skip "a shell matrix of PETSc has libspmm's products" "no PETSc of this MPI"
else
    ok "petsc_shell builds by the command that its head gives" \
        $MPICC -std=c11 -Wall -Wextra -Werror petsc_shell.c -o petsc_shell $(pkg-config --cflags --libs spmm) $petsc
    for ranks in 1 2 3; do
        out=$(run $ranks ./petsc_shell -n 20 -k 5)
        text "a shell matrix of PETSc has PETSc's own products on $ranks ranks" "exit status 0" "$out"
    done
    text "and says how near" "MatMatMult " "$out"
    sed 's/\.as = values/.as = NULL/' petsc_shell.c >ones.c
    ok "(the same with other values builds)" $MPICC -std=c11 ones.c -o ones $(pkg-config --cflags --libs spmm) $petsc
    text "(and does not have them)" "exit status 1" "$(run 2 ./ones -n 20 -k 5)"
fi

for ranks in 1 2 3; do
    out=$(run $ranks ./gcn "$matrices/wiki-Vote.mtx.gz" "h$ranks" 40 9 5)
    text "two layers of a graph convolution network run on $ranks ranks" "exit status 0" "$out"
    ok "with the same bits on any number of ranks" cmp h1 "h$ranks"
done
text "a graph without a file for the result is enough" "50 vertices" "$(run 2 ./gcn uniform:50,5)"
text "a graph that is not square is refused" "square" "$(run 2 ./gcn "$matrices/lp_e226.mtx")"
if $PYTHON -c 'import scipy.sparse.linalg' 2>/dev/null; then
    cat >check.py <<'END_OF_CHECK'
"""What the examples computed, by NumPy and SciPy: check.py lobpcg MATRIX < VALUES, or check.py gcn GRAPH FILE FEATURES HIDDEN CLASSES."""
import gzip
import sys
import numpy as np
import scipy.io
import scipy.sparse as sp
import scipy.sparse.linalg


def read(path):
    return sp.csr_matrix(scipy.io.mmread(gzip.open(path) if path.endswith(".gz") else path))


def made(which, rows, cols):
    i, j = np.ogrid[:rows, :cols]
    return ((i * 7 + j * 13 + i * j % 11 + which * 5) % 33 - 16) / 16


matrix = read(sys.argv[2])
if sys.argv[1] == "lobpcg":
    found = np.loadtxt(sys.stdin)
    known = np.sort(scipy.sparse.linalg.eigsh(matrix.tocsc().astype(float), len(found), sigma=0, return_eigenvectors=False))
else:
    features, hidden, classes = map(int, sys.argv[4:])
    found = np.fromfile(sys.argv[3], np.float32).reshape(matrix.shape[0], classes)
    matrix.setdiag(0)
    matrix.eliminate_zeros()
    matrix.data[:] = 1
    matrix = matrix + sp.identity(matrix.shape[0])
    d = sp.diags(1 / np.sqrt(matrix.sum(1).A1))
    a = d @ matrix @ d
    known = a @ np.maximum(a @ made(0, a.shape[0], features) @ made(1, features, hidden), 0) @ made(2, hidden, classes)
error = np.abs(found - known).max() / np.abs(known).max()
print("largest error over largest value:", error)
sys.exit(not error <= (1e-9 if sys.argv[1] == "lobpcg" else 3e-6))
END_OF_CHECK
    ok "the graph convolution is that of NumPy and SciPy" $PYTHON check.py gcn "$matrices/wiki-Vote.mtx.gz" h3 40 9 5
    values "$(run 2 ./lobpcg "$matrices/nos4.mtx" 6)" >values
    ok "LOBPCG's eigenvalues of nos4 are SciPy's" $PYTHON check.py lobpcg "$matrices/nos4.mtx" <values
else
    skip "the examples compute what NumPy and SciPy do" "no SciPy"
fi

out=$(power 2 --cuda lap2d5:10 5 1e-6)
if [[ $out == *"no usable GPU"* ]]; then
    skip "the products run on GPUs, too" "no GPU"
else
    text "the products run on GPUs, too" "cuda, kernel" "$out"
    ok "with the same eigenvalues" near "$(values "$out")" "$known"
fi
finish
