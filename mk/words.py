#!/usr/bin/env python3
"""make lint: comment lines of at most 110 columns, American spelling, and no word that the glossary of docs/DESIGN.md has
replaced. Exit status 1 if there is a finding. Records and studies keep the words of their time."""
import io
import pathlib
import re
import subprocess
import sys
import tokenize

ROOT = pathlib.Path(__file__).resolve().parent.parent
COLUMNS = 110
C = (".c", ".h", ".cu", ".cuh", ".cpp")
OLD = re.compile(r"bench/records/|docs/(studies|performance)/|LICENSE|mk/words\.py")
TEXT = (*C, ".py", ".sh", ".md", ".f90", ".1", ".in", ".mk", ".json")

# a string, or a comment: a comment cannot begin inside a string
C_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|' r"'(?:\\.|[^'\\\n])+'" r"|/\*.*?\*/|//[^\n]*", re.S)

BRITISH = re.compile(
    r"neighbour|colour|behaviour|\bcentre|\w+ntred\b|modelled|labelled(?!by)|cancelled|cancelling|travelled|licence|\banalyse(?!s\b)|misspelt|"
    r"(random|factor|normal|vector|serial|general|recogn|optim|synchron|minim|maxim|emphas|organ|initial|summar|character|"
    r"parallel|special|util|amort|real)is(e|ed|es|ing|er|ation|ations)\b", re.I)
# fields of records, a kernel, a list of matrices and the name of an institute, which keep their spelling
KEPT = re.compile(r"sum_neighboured|series_kernel<neighboured|\bneighbours\b(?=[\"`])|modelled_seconds|\bcentre\b(?=[\"`])|"
                  r"optimisation\.txt|Supercomputing Centre")
RETIRED = {
    "plain loop": "one chain",
    "own rows": "owned rows",
    "handed on": "forwarded",
    "hands on": "forwards",
    "ways of moving": "exchanges",
    "ways of exchanging": "exchanges",
    "reckon": "expect, count",
    "as ever": "as usual",
    "for people": "human-readable",
}
RETIRED_WORDS = re.compile(r"\b(" + "|".join(RETIRED) + r")\b", re.I)


def comment_lines(path, text):
    """(line number, line) of the lines of a file that have a comment, or a part of one."""
    lines = text.split("\n")
    if path.suffix in (*C, ".def") and "packages" not in path.parts:
        for m in C_TOKEN.finditer(text):
            if m[0].startswith("/"):
                first = text.count("\n", 0, m.start())
                yield from ((n + 1, lines[n]) for n in range(first, first + m[0].count("\n") + 1))
    elif path.suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.line.rstrip("\n")
    elif path.suffix == ".sh":
        yield from ((n + 1, line) for n, line in enumerate(lines) if re.match(r"\s*#[ !]", line))


def findings(path, text):
    """FILE:LINE: what is wrong there, for each."""
    for number, line in comment_lines(path, text):
        if len(line) > COLUMNS:
            yield f"{path}:{number}: a comment of {len(line)} columns, expected at most {COLUMNS}"
    if path.suffix in TEXT:
        for number, line in enumerate(text.split("\n"), 1):
            line = KEPT.sub("", line)
            for m in BRITISH.finditer(line):
                yield f"{path}:{number}: \"{m[0]}\": American spelling is expected"
            for m in RETIRED_WORDS.finditer(line):
                yield f"{path}:{number}: \"{m[0]}\": {RETIRED[m[0].lower()]}"


def main():
    names = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True, check=False).stdout.split("\n")
    files = [pathlib.Path(n) for n in names if n and not OLD.match(n) and pathlib.Path(n).suffix in (*TEXT, ".def")]
    found = [f for path in files for f in findings(path, (ROOT / path).read_text(encoding="utf-8"))]
    print("\n".join(sorted(set(found))) + f"\nlint: words: {len(found)} findings in {len(files)} files")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
