#!/bin/bash
# The runner itself: each kind of failure is noticed, counted and printed. Also what tests/bare refuses before
# it does anything, and what make fuzz prints.
. tests/lib.sh

# fails WAY COUNT TEXT SENTENCE: the fixture fails that way; the runner prints TEXT, and last COUNT
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
out=$(V=0 bash tests/run --only "one and one" "$BUILD" test_always_fails)
text "--only runs the tests whose names begin so" "0 passed, 1 failed, 0 skipped" "$out"
out=$(V=0 bash tests/run --only "one and two" "$BUILD" test_always_fails test_runner)
text "and lists the names if there is none" "  one and one are three" "$out"
text "which fails, as a script does" "0 passed, 2 failed, 0 skipped" "$out"
fails hang "0 passed, 1 failed, 0 skipped" "longer than 2 s" "a program that runs too long is one failure"

out=$(ALWAYS_FAILS=hang TEST_LIMIT=2 TEST_PATIENCE=8 V=0 bash tests/run "$BUILD" test_always_fails)
text "on a busy machine it is one later, as its limit is stretched" "longer than 2 s, on a busy machine 1" "$out"

# stretched LOADAVG: prints the factor for that content of /proc/loadavg
scratch
stretched() {
    echo "$1" >"$scratch/loadavg"
    env -u TEST_PATIENCE tests/patience "$scratch/loadavg"
}
cores=$(env -u OMP_NUM_THREADS nproc)
found="$(stretched "$((5 * cores)).00 0.1 0.1 1/99 9") $(stretched "0.50 9 9 $((3 * cores + 1))/999 9") "
found+="$(stretched "0.50 9 9 1/999 9") $(stretched "$((99 * cores)).00 9 9 1/999 9") $(TEST_PATIENCE=7 tests/patience)"
ok "limits are stretched by the load of a core, by what runs this moment if that is more, or as told" \
    test "$found" = "5.00 3.00 1.00 20.00 7"
"$PYTHON" - >"$scratch/out" 2>&1 <<'END'
import os
import sys

sys.path.insert(0, "tests")
os.environ["TEST_PATIENCE"] = "2.5"
import command
assert command.patience(4) == 10, command.patience(4)
command.run(2, launcher=["env"], program="sleep", limit=1, records=False)
os.environ["TEST_PATIENCE"], command.patience.asked = "1", 0
try:
    command.run(2, launcher=["env"], program="sleep", limit=1, records=False)
except command.subprocess.TimeoutExpired:
    print("ended")
END
text "so are those of runs within tests" "ended" "$(cat "$scratch/out")"

# the report for CI systems: counts, the failure with its text, reasons of skipped tests, times that add up
report=$scratch/report.xml
ALWAYS_FAILS=check V=0 bash tests/run --junit "$report" "$BUILD" test_always_fails test_always_fails test_no_such >/dev/null 2>&1
ALWAYS_FAILS=crash V=0 bash tests/run --junit "$scratch/crash.xml" "$BUILD" test_always_fails >/dev/null 2>&1
printf '%s\n' 'SKIP a < "b": no & c' 'a \033[1m color and \377' 'FAIL a sentence' >"$scratch/odd"
printf '#!/bin/sh\nprintf "$(cat %s)\\n"\nsleep 0.4\necho PASS late\nsleep 0.3\n' "$scratch/odd" >"$scratch/test_always_fails"
chmod +x "$scratch/test_always_fails"
mkdir -p "$scratch/odd-build/tests" && mv "$scratch/test_always_fails" "$scratch/odd-build/tests/"
V=0 bash tests/run --junit "$scratch/odd.xml" "$scratch/odd-build" test_always_fails >/dev/null 2>&1
ok "--junit writes a test suite for each program, with times, failures and what was skipped" \
    "$PYTHON" - "$report" "$scratch/crash.xml" "$scratch/odd.xml" <<'END'
import sys
import xml.etree.ElementTree as xml

def counts(element):
    return [element.get(name) for name in ("tests", "failures", "errors", "skipped")]

report, crash, odd = (xml.parse(path).getroot() for path in sys.argv[1:])
assert report.tag == "testsuites" and counts(report) == ["5", "3", "0", "0"], report.attrib
assert [counts(s) for s in report] == [["2", "1", "0", "0"]] * 2 + [["1", "1", "0", "0"]]
assert [s.get("name") for s in report] == ["test_always_fails"] * 2 + ["test_no_such"]
case = report[0][1]
assert (case.get("classname"), case.get("name")) == ("test_always_fails", "one and one are three"), case.attrib
assert "1 + 1 is 2, expected 3" in case.find("failure").text and report[0][0].find("failure") is None
assert all(float(c.get("time")) >= 0 for s in report for c in s) and report[0].get("timestamp") and report[0].get("hostname")
assert "signal 11" in crash[0][1].find("failure").get("message"), xml.tostring(crash)
suite = odd[0]
assert counts(suite) == ["3", "1", "0", "1"], xml.tostring(odd)
assert suite[0].get("name") == 'a < "b"' and suite[0].find("skipped").get("message") == "no & c", xml.tostring(odd)
assert "color" in suite[1].find("failure").text
times = [float(c.get("time")) for c in suite]
assert times[2] > 0.2 and times[2] == max(times) and sum(times) < float(suite.get("time")) - 0.1, (times, suite.attrib)
END
V=0 bash tests/run --junit /no/such/report.xml "$BUILD" test_stats >"$scratch/out" 2>&1
none=$?
V=0 bash tests/run --junit /dev/full "$BUILD" test_stats >>"$scratch/out" 2>&1
full=$?
bash tests/run --junit >>"$scratch/out" 2>&1
usage=$?
ok "a report that cannot be written is a failure" test "$none $full $usage $(grep -c 'No space left' "$scratch/out")" = "2 1 2 1"

# the tests that a change reaches: in a tree of three of them
tree=$scratch/tree
mkdir -p "$tree/src/a" "$tree/src/b" "$tree/tests"
cp tests/changed.py "$tree/tests/"
touch "$tree/src/a/a.h" "$tree/src/a/a.c" "$tree/src/b/b.h" "$tree/src/b/other.c" "$tree/Makefile"
echo '#include "a/a.h"' >"$tree/src/b/b.h"
echo '#include "a/a.h"' >"$tree/tests/test_a.c"
echo '#include "b/b.h"' >"$tree/tests/test_b.c"
echo '# runs jobs/study' >"$tree/tests/test_c.py"
git() { command git -C "$tree" -c user.name=a -c user.email=a@b "$@"; }
git init -q && git add . && git commit -q -m one
reached() { # FILE: prints the tests that a change of it reaches
    mkdir -p "$(dirname "$tree/$1")"
    echo " " >>"$tree/$1"
    "$PYTHON" "$tree/tests/changed.py"
    git checkout -q . && git clean -qfd
}
found="$(reached src/a/a.c), $(reached src/b/b.h), $(reached src/b/other.c), $(reached tests/test_a.c), $(reached jobs/study), $(reached Makefile)"
text "CHANGED=1 finds the tests that a change reaches" "test_a test_b, test_b, test_b, test_a, test_c, test_a test_b test_c" "$found"
unset -f git

refused() { # ARGUMENTS...: succeeds if tests/bare has exit code 2 and prints one line
    local out
    out=$(tests/bare "$@" 2>&1)
    [ $? = 2 ] && [ "$(echo "$out" | wc -l)" = 1 ] && [ -n "$out" ]
}
ok "tests/bare takes two suites, one other MPI and one other compiler" \
    eval 'refused && refused jessie && refused --mpi lam bookworm && refused --cc tcc trixie && refused --mpi && refused --no'

# a fuzz target that reports a finding, as libFuzzer does, and one that does not
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
