#!/usr/bin/env python3
"""Writes bench/records/TABLES.md from the newest CSV files of bench/records/, or prints tables of other files.

    tables.py             replace the lines between <!-- tables --> and <!-- end --> of TABLES.md
    tables.py FILE...     print the tables of these files, and each case, losses first

A table has the cases of one machine and precision, generated matrices and matrices from files apart.
"""
import os
import re
import sys

import recorded

DOC = "bench/records/TABLES.md"
MARKED = re.compile(r"(<!-- tables -->\n)(.*?)(<!-- end -->)", re.DOTALL)
NEAR = 1.10  # `auto` is near our best kernel up to this ratio of their times


def table(heading, rows):
    """A Markdown table; all columns but the first are right-aligned."""
    lines = ["| " + " | ".join(heading) + " |", "|---|" + "---:|" * (len(heading) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def worst(choose, ratios, cases):
    ratio, case = choose(zip(ratios, cases), key=lambda pair: pair[0])
    return f"{ratio:.2f} {recorded.short(case.matrix)}"


def statistics(cases):
    """[(label, text)] of some cases."""
    peer, auto = [c.peer.ms / c.auto.ms for c in cases], [c.auto.ms / c.best.ms for c in cases]
    found = [("cases", str(len(cases))), ("library / `auto`, mean", f"{recorded.mean(peer):.2f}"),
             ("below 1", str(sum(r < 1 for r in peer))), ("worst library / `auto`", worst(min, peer, cases))]
    if any(c.auto != c.best for c in cases):
        found += [("`auto` / our best, mean", f"{recorded.mean(auto):.3f}"),
                  (f"within {NEAR:.2f}", f"{100 * sum(r <= NEAR for r in auto) / len(auto):.0f} %"),
                  ("worst `auto` / our best", worst(max, auto, cases))]
    if all(c.best.share > 0 for c in cases):
        found.append(("our best, share of the DRAM bound", f"{recorded.mean(c.best.share for c in cases):.2f}"))
    return found


def by_k(cases):
    """A table of statistics with a column for each K, and one for all."""
    ks = recorded.columns(cases)
    every = [dict(statistics([c for c in cases if c.k == k])) for k in ks] + [dict(statistics(cases))]
    return table(["K"] + list(map(str, ks)) + ["all"], [[label] + [one.get(label, "") for one in every] for label in every[-1]])


def each_case(cases):
    rows = [[recorded.short(c.matrix), str(c.k), f"{c.peer.ms / c.auto.ms:.2f}", f"{c.peer.ms:.4f}", c.peer.name, f"{c.auto.ms:.4f}",
             c.auto.name, f"{c.best.ms:.4f}", c.best.name] for c in sorted(cases, key=lambda c: c.peer.ms / c.auto.ms)]
    return table(["matrix", "K", "library / auto", "library, ms", "its way", "auto, ms", "kernel", "our best, ms", "kernel"], rows)


def section(group):
    name = os.path.basename(group.path)
    matrices = len({c.matrix for c in group.cases})
    kind = "matrices from files" if recorded.is_file(group.cases[0].matrix) else "generated matrices"
    remarks = [f"[{name}]({name})"] + [f"commit {group.commit}"] * bool(group.commit) + [group.libraries] * bool(group.libraries)
    return f"**{group.machine}, {group.precision}, {matrices} {kind}** ({', '.join(remarks)})\n\n{by_k(group.cases)}"


def main(paths):
    if paths and paths[0].startswith("-"):
        print(__doc__)
        return 0 if paths[0] in ("-h", "--help") else 2
    if paths:
        for group in recorded.groups(paths):
            print(section(group) + "\n" + each_case(group.cases))
        return 0
    groups = recorded.groups(recorded.files_in(os.path.dirname(DOC)))
    inside = "\n" + "\n".join(map(section, groups)) + "\n"
    with open(DOC, encoding="utf-8") as file:
        text, count = MARKED.subn(lambda m: m[1] + inside + m[3], file.read())
    if not count:
        print(f"tables.py: {DOC}: no line <!-- tables -->", file=sys.stderr)
        return 1
    with open(DOC, "w", encoding="utf-8") as file:
        file.write(text)
    print(f"{DOC}: {len(groups)} tables")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
