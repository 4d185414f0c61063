# Sourced by tests/test_*.sh: the harness of test.h for scripts. Names are sentences; a line per test.
#     pass "it works"; fail "it works"; skip "it works" "no GPU"; finish
#     ok "it works" command...        passes when the command does; shows its output when not
#     text "it says so" "part" "$out"      passes when the text contains the part
#     on_gpus "it works" "1 2 3" program...   passes when the program does on each of these numbers of ranks;
#                                           skipped without a GPU

. tests/env.sh
tests_failed=0
root=$PWD
BUILD=${BUILD:-$(dirname "$(readlink spmm_mpi || echo build/cpu/x)")}
SPMM_MPI=${SPMM_MPI:-$(realpath -m "$BUILD")/spmm_mpi}

pass() { echo "PASS $1"; }
fail() {
    echo "FAIL $1"
    tests_failed=1
}
skip() { echo "SKIP $1: $2"; }
finish() { exit $tests_failed; }

ok() {
    local sentence=$1 out
    shift
    if out=$("$@" 2>&1); then
        pass "$sentence"
    else
        printf '%s\n' "  failed: $*" "$out"
        fail "$sentence"
    fi
}

text() {
    if [[ $3 == *"$2"* ]]; then
        pass "$1"
    else
        printf '%s\n' "  does not contain \"$2\":" "$3"
        fail "$1"
    fi
}

on_gpus() {
    local sentence=$1 numbers=$2 ranks
    shift 2
    if ! $MPIRUN -np 1 "$SPMM_MPI" -q -d cuda -r 1 lap2d5:9 >/dev/null 2>&1; then
        skip "$sentence" "no GPU"
        return
    fi
    for ranks in $numbers; do ok "$sentence, $ranks ranks" $MPIRUN -np "$ranks" "$@"; done
}

# patience SECONDS: prints the time limit, which is longer on a busy machine, in whole seconds
patience() { awk -v seconds="$1" -v factor="$(tests/patience)" 'BEGIN { printf "%.0f\n", seconds * factor }'; }

# scratch: makes the folder $scratch, which is removed when the test ends
scratch() {
    scratch=$(mktemp -d "${TMPDIR:-/tmp}/spmm-test.XXXXXX")
    trap 'rm -rf "$scratch"' EXIT
}
