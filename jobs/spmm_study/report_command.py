"""Makes one self-contained HTML page from the records of a study: its outcome in sentences, a table and a figure; then
what was run where, scaling, kernels, phases, roofline, errors, failures, environments and settings, and the records.

    jobs/report strong.jsonl weak.jsonl -o page.html
    jobs/report strong.jsonl -o page.html --title "SpMM on one node" --peak H200=34000

Without matplotlib the page has no figures. Exit codes: 0 done, 2 usage, 3 records cannot be read, 4 output.
"""

from . import analysis, lines, output, page, pythons
from .commands import Parser


def options():
    parser = Parser(description=__doc__)
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="the page")
    parser.add_argument("--title", help="title of the page (default: the names of the studies)")
    analysis.add_options(parser)
    return parser.parse_args()


def main():
    o = options()
    output.keep(o.records, [("--output", o.output)])
    pythons.can_draw()
    study = analysis.start("report", o)
    text = page.report(study, o.title or page.title_of(study), analysis.drawing("report"))
    output.write(o.output, text)
    print(f"{lines.clean(o.output)}: {len(study.measured)} points, {len(text) / 1e6:.1f} MB")
    return 0
