#!/bin/bash
# The runner itself: each way to fail is noticed, counted and shown. And what tests/bare refuses before it does anything.
. tests/lib.sh

# fails WAY COUNT TEXT SENTENCE: the fixture fails that way; the runner's last line and text say so
fails() {
    local out
    if out=$(ALWAYS_FAILS=$1 TEST_LIMIT=2 V=0 bash tests/run "$BUILD" test_always_fails 2>&1); then
        printf '%s\n' "$out"
        fail "$4"
    elif [ "${out##*$'\n'}" = "$2" ] && [[ $out == *"$3"* ]]; then
        pass "$4"
    else
        printf '%s\n' "$out"
        fail "$4"
    fi
}

fails check "1 passed, 1 failed, 0 skipped" "1 + 1 is 2, expected 3" "a failed check fails the run and is shown"
fails crash "1 passed, 1 failed, 0 skipped" "signal 11" "a crash is one failure"
fails exit "1 passed, 1 failed, 0 skipped" "exit status 3" "a non-zero exit without a FAIL line is one failure"
fails silent "0 passed, 1 failed, 0 skipped" "printed no" "a program that prints no line is one failure"
out=$(V=0 bash tests/run --most-ranks 1 "$BUILD" test_scatter)
[[ $out == *"test_scatter, 1 rank "* && $out != *"2 ranks"* ]]
ok "--most-ranks leaves out what wants more" test $? = 0
fails hang "0 passed, 1 failed, 0 skipped" "longer than 2 s" "a program that runs too long is one failure"

refused() { # ARGUMENTS...: exit code 2, and a line
    local out
    out=$(tests/bare "$@" 2>&1)
    [ $? = 2 ] && [ "$(echo "$out" | wc -l)" = 1 ] && [ -n "$out" ]
}
ok "tests/bare takes two suites, one other MPI and one other compiler" \
    eval 'refused && refused jessie && refused --mpi lam bookworm && refused --cc tcc trixie && refused --mpi && refused --no'
finish
