#!/usr/bin/env python3
"""Prints the tests that changed files reach, for `make check CHANGED=1`: files that differ from the commit of CHANGED (1: HEAD),
and those that git does not know.

    tests/changed.py [COMMIT]

A C test reaches the headers that it includes, directly or not, and with a header the sources of that name, or of that folder if
none has the name. A script reaches the files and folders that it names; scripts that run the programs reach their sources.
"""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
WHERE = ("", "src", "kernels", "include", "tests", "contrib/mmio")
# a change here may change any result; what is cheap, and looks at all files, runs always
EVERYTHING = re.compile(r"Makefile|mk/.*\.mk|tests/run|tests/env\.sh|tests/test\.h")
ALWAYS = {"test_layers", "test_documents"}
# scripts that run the programs on small matrices: of these the first ones for any change of the sources
PROGRAMS = {"test_first_run", "test_command", "test_digests", "test_differential"}


def lines_of(*command):
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def included(path, found):
    """Adds the file and all that it includes, as paths from the root."""
    if path in found:
        return found
    found.add(path)
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        names = re.findall(r'^ *# *include "([^"]+)"', file.read(), re.M)
    for name in names:
        for folder in (os.path.dirname(path), *WHERE):
            inner = os.path.normpath(os.path.join(folder, name))
            if os.path.isfile(os.path.join(ROOT, inner)):
                included(inner, found)
                break
    return found


def stems(path):
    """What stands for a file in the list of what is reached: its header, or its folder if it has none."""
    stem, ending = os.path.splitext(path)
    if ending in (".c", ".cu", ".cpp") and not path.startswith("tests/"):
        header = next((stem + e for e in (".h", ".cuh") if os.path.isfile(os.path.join(ROOT, stem + e))), None)
        return {header or os.path.dirname(path) + "/"}
    return {path}


def is_named(path, text):
    """Does a script name the file, or its folder?"""
    if path.startswith(("src/", "kernels/", "include/", "docs/")):
        return False
    folder = os.path.dirname(path)
    return os.path.basename(path) in text or bool(folder and folder != "tests" and re.search(rf"\b{re.escape(folder)}\b", text))


def main():
    base = sys.argv[1] if len(sys.argv) > 1 and sys.argv[1] != "1" else "HEAD"
    changed = set(lines_of("git", "diff", "--name-only", base, "--")) | set(lines_of("git", "ls-files", "-o", "--exclude-standard"))
    tests = sorted(f for f in os.listdir(os.path.join(ROOT, "tests")) if re.fullmatch(r"test_\w+\.(c|py|sh)", f) and f != "test_always_fails.c")
    names = {os.path.splitext(f)[0] for f in tests}
    if any(EVERYTHING.fullmatch(path) for path in changed):
        print(*sorted(names))
        return
    touched = set().union(*map(stems, changed)) if changed else set()
    chosen = set(ALWAYS)
    for name in tests:
        reached = included(f"tests/{name}", set()) if name.endswith(".c") else {f"tests/{name}"}
        reached |= {os.path.dirname(path) + "/" for path in reached if path.startswith(("src/", "kernels/"))}
        text = ""
        if not name.endswith(".c"):
            with open(os.path.join(ROOT, "tests", name), encoding="utf-8") as file:
                text = file.read()
        named = text and any(is_named(path, text) for path in changed)
        if reached & touched or named:
            chosen.add(os.path.splitext(name)[0])
    if any(path.startswith(("src/", "kernels/", "include/")) for path in changed):
        chosen |= PROGRAMS
    if any(path.startswith("docs/") for path in changed):
        chosen |= {"test_man", "test_reports"}
    print(*sorted(chosen & names))


if __name__ == "__main__":
    main()
