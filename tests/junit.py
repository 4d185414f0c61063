"""Writes the results of tests/run as JUnit XML, which CI systems read: tests/junit.py FOLDER FILE

FOLDER has a folder for each program that was run. Its files `label`, `start` and `end` (seconds since 1970) and `why`
(the reason if the program failed as a whole, else empty) have one line each; `out` has the output, `times` the time of
each of its PASS, FAIL and SKIP lines. If the program was interrupted, there is no `label`.
"""
import datetime
import os
import re
import socket
import sys
import xml.etree.ElementTree as xml

# characters that XML 1.0 does not allow
NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
VERDICT = re.compile(r"(PASS|FAIL|SKIP) (.*)")
MOST_LINES = 200  # most lines of output that a failure shows


def lines_of(folder, name):
    """Lines of a file, with characters that XML does not allow replaced; [] if there is no such file."""
    try:
        with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
            return [NO_XML.sub("\ufffd", line) for line in file.read().split("\n")]
    except FileNotFoundError:
        return []


def case_of(suite, name, seconds):
    return xml.SubElement(suite, "testcase", classname=suite.get("name"), name=name, time=f"{max(0.0, seconds):.3f}")


def fail(case, message, held):
    xml.SubElement(case, "failure", message=message).text = "\n".join(held[-MOST_LINES:])


def add_cases(suite, folder, start, end):
    """Adds a test case for each PASS, FAIL or SKIP; a FAIL has the output printed before it."""
    times = [float(line) for line in lines_of(folder, "times") if line]
    held, before = [], start
    for line in lines_of(folder, "out"):
        found = VERDICT.match(line)
        if not found:
            held.append(line)
            continue
        now = min(end, times.pop(0) if times else end)  # tests/run takes times in steps of 1/20 s
        verdict, sentence = found.groups()
        name, _, why = sentence.partition(": ") if verdict == "SKIP" else (sentence, "", "")
        case = case_of(suite, name, now - before)
        if verdict == "FAIL":
            fail(case, sentence, held)
        elif verdict == "SKIP":
            xml.SubElement(case, "skipped", message=why)
        held, before = [], now
    why = "".join(lines_of(folder, "why"))
    if why:
        fail(case_of(suite, "the program as a whole", end - before), why, held)


def suite_of(folder):
    """The test suite of a program; None if it was interrupted."""
    label = "".join(lines_of(folder, "label"))
    if not label:
        return None
    start, end = (float(lines_of(folder, name)[0]) for name in ("start", "end"))
    suite = xml.Element("testsuite", name=label)
    add_cases(suite, folder, start, end)
    when = datetime.datetime.fromtimestamp(start, datetime.timezone.utc).isoformat(timespec="seconds")
    counted(suite, [suite], end - start)
    suite.attrib.update(hostname=socket.gethostname(), timestamp=when.replace("+00:00", ""))
    return suite


def counted(element, suites, seconds):
    cases = [case for suite in suites for case in suite]
    element.attrib.update(tests=str(len(cases)), failures=str(sum(case.find("failure") is not None for case in cases)),
                          errors="0", skipped=str(sum(case.find("skipped") is not None for case in cases)),
                          time=f"{seconds:.3f}")


def main(folder, path):
    suites = [suite for suite in (suite_of(os.path.join(folder, name)) for name in sorted(os.listdir(folder)))
              if suite is not None]
    root = xml.Element("testsuites", name="spmm_mpi")
    counted(root, suites, sum(float(suite.get("time")) for suite in suites))
    root.extend(suites)
    try:
        with open(path, "wb") as file:
            file.write(b'<?xml version="1.0" encoding="UTF-8"?>\n' + xml.tostring(root) + b"\n")
    except OSError as error:
        print(f"tests/run: {path}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
