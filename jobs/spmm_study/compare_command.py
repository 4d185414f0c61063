"""Compares two files of records, of jobs/study or of `spmm_mpi --json` and `series_mpi --json`: the ratio new / old of
every point's time with its confidence interval, what became slower or faster beyond noise, what became wrong, and what
differs between the two environments.

    jobs/compare old.jsonl new.jsonl
    jobs/compare old.jsonl new.jsonl --fail-over 5% --page compared.html --csv compared.csv

A point is slower if the whole interval of its ratio is above 1. With --fail-over 5% it is a regression if the ratio
itself is also above 1.05. A result that became wrong, or a run that fails only in new.jsonl, is a failure with or
without that option. A point that is slower where the load average shows that the machine was busy with other work is
neither: cannot tell. docs/STUDIES.md describes how the intervals are computed.

Exit codes: 0 no regression; 1 a regression, or one of these failures; 2 usage; 3 records that cannot be read, or
without a point in common; 4 output; 5 no failure, but points that would be regressions if the machine had been idle.
"""
import argparse
import csv
import io
import re

from . import compare, compare_page, output, records, tables
from .commands import Parser
from .lines import RecordsError

HEADING = ["", "new/old", "interval", "old ms", "new ms", "rounds", "point", "run differently"]
CSV_HEADING = ("point", "verdict", "regression", "ratio", "ratio_low", "ratio_high", "confidence", "old_s", "new_s",
               "old_rounds", "new_rounds", "run_differently")


def _percent(text, least, most):
    """The fraction that a text such as 5% or 5 stands for: 0.05."""
    found = re.fullmatch(r"([0-9]{1,6}(?:\.[0-9]{1,6})?) ?%?", text)
    value = float(found[1]) if found else -1.0
    if not least <= value <= most:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected per cent from {least:g} to {most:g}, as 95% or 5")
    return value / 100


def _fail_over(text):
    return _percent(text, 0, 1000)


def _confidence(text):
    return _percent(text, 50, 99.9)


def options():
    parser = Parser(description=__doc__)
    parser.add_argument("old", metavar="OLD", help="the records to compare with, JSON Lines")
    parser.add_argument("new", metavar="NEW", help="the records to judge, JSON Lines")
    parser.add_argument("--fail-over", metavar="PERCENT", type=_fail_over,
                        help="exit with 1 if a point is slower by more than this, and beyond noise: 5%% or 5 is a "
                             "ratio of 1.05")
    parser.add_argument("--confidence", metavar="PERCENT", type=_confidence, default=0.95,
                        help="confidence of the intervals (default: 95%%); use more for many points")
    parser.add_argument("--page", metavar="FILE", help="write the comparison as one self-contained HTML page")
    parser.add_argument("--csv", metavar="FILE", help="write a row per point")
    return parser.parse_args()


def mark(pair):
    return "REGRESSION" if pair.fails else pair.verdict


def cells(pair):
    """A row of the table."""
    r, (old, new) = pair.ratio, pair.sides
    return [mark(pair), f"{r.value:.3f}", tables.NONE if r.low is None else f"{r.low:.3f} .. {r.high:.3f}",
            tables.ms(old.seconds), tables.ms(new.seconds), f"{old.rounds}, {new.rounds}", pair.label, pair.differently]


def summary(found):
    """Lines with the outcome; the most important are the last."""
    counts = [(compare.SLOWER, "slower"), (compare.FASTER, "faster"),
              (compare.SAME, f"the same within {100 * found.tolerance:g} %"), (compare.UNKNOWN, "cannot be told")]
    lines = [f"{len(found.pairs)} points in both: " + ", ".join(f"{len(found.of(v))} {text}" for v, text in counts)]
    mean = found.mean
    if mean:
        lines.append(f"geometric mean of new/old: {mean.value:.3f}")
        if mean.low is not None:
            lines[-1] += f", {100 * found.confidence:g} % interval {mean.low:.3f} .. {mean.high:.3f}"
    lines += [f"WRONG NOW: {text}" for text in found.wrong] + [f"FAILS NOW: {text}" for text in found.broken]
    if found.fail_over is not None:
        lines.append(f"regressions, slower beyond noise and by more than {100 * found.fail_over:g} %: "
                     f"{len(found.regressions)}")
    if found.undecided:
        lines.append(f"regressions, or the effect of other work on a busy machine: {len(found.undecided)}; repeat on an idle machine")
    return lines


def lists(found):
    """[(heading, lines)] of what is in no row of the table."""
    every = [("Only in OLD", sorted(compare.label(compare.asked(p.runs[0])) for p in found.only_old)),
             ("Only in NEW", sorted(compare.label(compare.asked(p.runs[0])) for p in found.only_new)),
             ("Failed in OLD, and not in NEW", found.mended),
             ("Failed in NEW, and also in OLD or only run in NEW", found.still)]
    return [(heading, lines) for heading, lines in every if lines]


def environment_table(found):
    rows = [list(row) for row in found.differences()]
    return tables.Table("What differs", ["fact", "OLD", "NEW"], rows, ("fact", "OLD", "NEW")) if rows else None


def table(found):
    heading, rows = HEADING[:], [cells(p) for p in found.pairs]
    heading[2] = f"{100 * found.confidence:g} % interval"
    if not any(row[-1] for row in rows):
        heading, rows = heading[:-1], [row[:-1] for row in rows]
    return tables.Table("Points", heading, rows, ("", "point", "run differently"), found.remarks())


def text(found):
    parts = [tables.text(environment_table(found))] if environment_table(found) else []
    parts += [tables.text(table(found))] if found.pairs else []
    parts += ["\n".join([f"{heading}: {len(lines)}"] + [f"  {line}" for line in lines])
              for heading, lines in lists(found)]
    return "\n\n".join([*parts, "\n".join(summary(found))])


def csv_text(found):
    made = io.StringIO(newline="")
    writer = csv.writer(made, lineterminator="\n")
    writer.writerow(CSV_HEADING)
    for p in found.pairs:
        r, (old, new) = p.ratio, p.sides
        row = (p.label, p.verdict, int(p.fails), r.value, r.low, r.high, found.confidence, old.seconds, new.seconds,
               old.rounds, new.rounds, p.differently)
        writer.writerow(map(output.csv_cell, row))
    return made.getvalue()


def main():
    o = options()
    output.keep((o.old, o.new), [("--page", o.page), ("--csv", o.csv)])
    old, new = records.read([o.old]), records.read([o.new])
    try:
        found = compare.Comparison(old, new, o.fail_over, o.confidence)
    except RecordsError as error:
        raise RecordsError(f"{o.old}, {o.new}: {error}") from None
    if o.page:
        blocks = (environment_table(found), table(found), lists(found), summary(found))
        output.write(o.page, compare_page.html(found, (o.old, o.new), *blocks))
    if o.csv:
        output.write(o.csv, csv_text(found))
    print(text(found))
    return 1 if found.failed else 5 if found.undecided else 0
