#!/bin/bash
# The runner itself: each way to fail is noticed, counted and shown. And what tests/bare refuses before it does anything,
# and what make fuzz says.
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
fails unchecked "1 passed, 1 failed, 0 skipped" "nothing was checked" "a test that checks nothing fails"
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

# a fuzz target that finds something, as libFuzzer says it, and one that does not
scratch
folder=$scratch
mkdir -p "$folder/fuzz-run/fuzz"
cat >"$folder/fuzz-run/fuzz/fuzz_bad" <<'END'
#!/bin/sh
printf 'fuzz bad: not true: 1 == 2\nartifact_prefix=; Test unit written to %s/found/fuzz_bad-crash-1\nstat::number_of_executed_units: 7\n' "$FUZZ_FOLDER"
exit 77
END
cat >"$folder/fuzz-run/fuzz/fuzz_good" <<'END'
#!/bin/sh
printf '#5 DONE cov: 12 ft: 3\nstat::number_of_executed_units: 5\nstat::average_exec_per_sec: 5\n'
END
chmod +x "$folder"/fuzz-run/fuzz/*
FUZZ_FOLDER=$folder/fuzz FUZZ_S=1 tests/fuzz/run "$folder" fuzz_bad fuzz_good >"$scratch/out" 2>&1
status=$?
out=$(cat "$scratch/out")
if [ $status = 1 ] && [[ $out == *"not true: 1 == 2"* ]] &&
    [[ $out == *"the input: $folder/fuzz/found/fuzz_bad-crash-1; again: $folder/fuzz-run/fuzz/fuzz_bad $folder/fuzz/found/fuzz_bad-crash-1"* ]] &&
    [[ $out == *"FAIL fuzz_bad "*"7 executions"* ]] && [[ $out == *"PASS fuzz_good "*"5 executions"* ]] &&
    [ "$(tail -1 "$scratch/out")" = "1 passed, 1 failed, 0 skipped" ]; then
    pass "make fuzz says what was found, where it is kept and how to run it again, and counts"
else
    sed 's/^/  /' "$scratch/out"
    fail "make fuzz says what was found, where it is kept and how to run it again, and counts"
fi
why=$(FUZZ_CC=no-such-compiler tests/fuzz/run --missing)
if [ $? = 0 ] && [[ $why == *no-such-compiler* ]]; then
    pass "without a compiler for it make fuzz says why it is skipped"
else
    fail "without a compiler for it make fuzz says why it is skipped"
fi
finish
