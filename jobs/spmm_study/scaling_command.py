"""Scaling laws, cost models and roofline of the records of a study: tables, CSV and plots.

    jobs/scaling strong.jsonl
    jobs/scaling strong.jsonl weak.jsonl --out figures --csv points.csv --predict 64,128 --peak 3500

Exit codes: 0 done, 2 usage, 3 records cannot be read, 4 output, or no matplotlib for the plots of --out.
"""

from . import analysis, lines, output, pythons
from .commands import Parser

NOT_DRAWN = 4


def options():
    parser = Parser(description=__doc__)
    parser.add_argument("--out", metavar="DIR", help="draw the plots there, as SVG and PNG")
    parser.add_argument("--csv", metavar="FILE", help="write a row per point; if there are products and steps of series_mpi, the "
                        "steps go to FILE-series")
    analysis.add_options(parser)
    return parser.parse_args()


def main():
    o = options()
    output.keep(o.records, [("--out", o.out), ("--csv", o.csv)])
    if o.out:
        pythons.can_draw()
    study = analysis.start("scaling", o)
    print("\n\n".join(study.text()))
    if o.csv:
        for path in study.write_csv(o.csv):
            print(lines.clean(path))
    if o.out:
        plots = analysis.drawing("scaling")
        if not plots:
            return NOT_DRAWN
        for path in study.draw(plots, o.out):
            print(lines.clean(path))
    return 0
