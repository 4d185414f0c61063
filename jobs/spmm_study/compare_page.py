"""The page of jobs/compare: its tables, with the ratio of each point drawn as a dot and an interval. The page loads
nothing from elsewhere; its script only sorts."""
import math
import os

from . import compare, markup
from .markup import escape

CSS = """
:root { color-scheme: light dark; --ink: #111; --paper: #fff; --faint: #666; --slower: #b3261e; --faster: #1b6e3c }
@media screen and (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --paper: #161616; --faint: #a0a0a0;
  --slower: #ff8a80; --faster: #7bd29a } }
body { font: 16px/1.45 system-ui, "DejaVu Sans", Verdana, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 84rem; margin: 1.5rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem; margin: 0 0 .3rem } h2 { font-size: 1.15rem; margin: 2rem 0 .4rem }
.scroll { overflow-x: auto } p, ul { max-width: 56rem }
table { border-collapse: collapse; font-size: .8rem; white-space: nowrap; font-variant-numeric: tabular-nums }
th, td { padding: .15em .6em; text-align: right } th { border-top: 1.5px solid; border-bottom: 1px solid }
tbody tr:last-child td { border-bottom: 1.5px solid } .left { text-align: left }
.remark { font-size: .85rem; color: var(--faint); margin: .1rem 0 } .bad { color: var(--slower); font-weight: bold }
th[aria-sort]:not([aria-sort="none"])::after { content: " \\25b2" } th[aria-sort="descending"]::after { content: " \\25bc" !important }
th[tabindex] { cursor: pointer }
.slower { color: var(--slower) } .faster { color: var(--faster) } .unknown { color: var(--faint) }
svg { display: block } svg .axis { stroke: var(--faint) } svg circle { fill: currentColor }
svg .reach { stroke: currentColor; stroke-width: 2 }
@media print { @page { size: A4 landscape; margin: 12mm } html { font-size: 8.5pt }
  body { max-width: none; margin: 0; padding: 0 } .scroll { overflow: visible } thead { display: table-header-group }
  tr { break-inside: avoid } h2 { break-after: avoid } }
"""
WIDTH, HEIGHT = 180, 16
KINDS = {compare.SLOWER: "slower", compare.FASTER: "faster", compare.UNKNOWN: "unknown"}  # classes of rows
LEAST_SPAN = math.log(1.1)  # of the axis, to each side of 1
MOST_SPAN = math.log(16)

METHOD = """The time of a point is the geometric mean of its rounds' medians; the ratio is that of the two times. Where
both sides have two or more rounds its interval is Welch's t interval of the rounds' log medians; where one side has
one, Student's with the other's variance; where both have one, that of Price and Bonett (2002) for the ratio of two
medians, from the order statistics around each, but no narrower than Student's for the scatter of all such ratios. The
variance of a round is taken to be at least that within a run. Slower, faster: the whole interval is on one side of 1. The same: it is
within the tolerance around 1. Cannot tell: it is wider, or the machine of the slower side was busy with other work. The interval of the geometric mean is Student's, over the
points."""


def _place(ratio, span):
    """The position of a ratio on the axis, in pixels."""
    return round(WIDTH / 2 * (1 + max(-1.0, min(1.0, math.log(ratio) / span))), 1)


def picture(pair, span):
    """The interval as a line, the ratio as a dot, 1 as a thin line across."""
    r, middle = pair.ratio, HEIGHT / 2
    says = f"{r.value:.3f}" if r.low is None else f"{r.value:.3f}, interval {r.low:.3f} to {r.high:.3f}"
    reach = "" if r.low is None else (f'<line class="reach" x1="{_place(r.low, span)}" x2="{_place(r.high, span)}" '
                                      f'y1="{middle}" y2="{middle}"/>')
    return (f'<svg role="img" aria-label="{says}" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">'
            f'<line class="axis" x1="{WIDTH / 2}" x2="{WIDTH / 2}" y1="0" y2="{HEIGHT}"/>{reach}'
            f'<circle cx="{_place(r.value, span)}" cy="{middle}" r="3.5"/></svg>')


def _span(pairs):
    """The span of the axis that all rows share, which reaches from 1 / e^span to e^span."""
    ends = [abs(math.log(e)) for p in pairs for e in (p.ratio.value, p.ratio.low, p.ratio.high) if e is not None]
    return min(MOST_SPAN, max([LEAST_SPAN, *ends]))


def _row(cells, heading, left, tag="td"):
    made = []
    for name, cell in zip(heading, cells):
        kind = ' class="left"' if name in left else ""
        made.append(f"<{tag}{kind}>{cell}</{tag}>")
    return "".join(made)


def _table(heading, rows, left, kinds=None):
    """Cells are HTML. kinds: class of each row."""
    body = "\n".join(f'<tr class="{kind}">{_row(cells, heading, left)}</tr>' for cells, kind in
                     zip(rows, kinds or [""] * len(rows)))
    head = _row([escape(h) for h in heading], heading, left, "th")
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>'


def _points(found, table):
    """The table of the terminal, with a picture after the interval."""
    span, at = _span(found.pairs), 3
    heading = table.heading[:at] + [f"{math.exp(-span):.2f} .. 1 .. {math.exp(span):.2f}"] + table.heading[at:]
    rows = []
    for pair, cells in zip(found.pairs, table.rows):
        shown = [escape(c) for c in cells]
        rows.append(shown[:at] + [picture(pair, span)] + shown[at:])
    kinds = ["bad" if p.fails else KINDS.get(p.verdict, "") for p in found.pairs]
    return _table(heading, rows, table.left, kinds)


def html(found, names, environment, points, lists, summary):
    """names: of the two files."""
    title = "{} and {}".format(*(os.path.basename(n) for n in names))
    items = "".join(f"<li>{escape(line)}</li>" for line in summary)
    outcome = "<p>Passed.</p>" if not found.undecided else "<p>Cannot tell: the machine was busy with other work.</p>"
    if found.failed:
        outcome = '<p class="bad">Failed: something became slower, wrong, or does not run any more.</p>'
    parts = [f"<h1>{escape(title)}, compared</h1>", outcome, f"<ul>{items}</ul>"]
    if environment:
        rows = [[escape(c) for c in row] for row in environment.rows]
        parts.append(f"<h2>What differs</h2>{_table(environment.heading, rows, environment.left)}")
    if found.pairs:
        remarks = "".join(f'<p class="remark">{escape(r)}</p>' for r in points.remarks)
        parts.append("<h2>Points</h2><p>Times of NEW over those of OLD, on a logarithmic axis: right of the line is "
                     f"slower. A click on a heading sorts the table.</p>{_points(found, points)}{remarks}")
    for heading, lines in lists:
        parts.append(f"<h2>{escape(heading)}</h2><ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>")
    parts.append(f'<h2>How</h2><p class="remark">{escape(METHOD)}</p>')
    return "\n".join(['<!DOCTYPE html>', '<html lang="en"><head><meta charset="utf-8">',
                      '<meta name="viewport" content="width=device-width, initial-scale=1">',
                      f"<title>{escape(title)}</title>", f"<style>{CSS}</style></head><body>", *parts,
                      markup.sorting(), "</body></html>", ""])
