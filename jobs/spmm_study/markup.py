"""HTML of tables, figures and sections: one file that needs nothing from elsewhere, and whose script only sorts."""
import base64
import gzip
import html
import os

from . import colors, tables

FOLDER = os.path.dirname(os.path.realpath(__file__))
# most bytes of compressed records that a page contains
MOST_CARRIED = 2 ** 21
# a cell of more characters, or that of a machine, may become several lines
LONG_CELL, LONG_NAME = 44, 20


def escape(text):
    """Text for HTML. Invalid characters (from a broken log) become the replacement character."""
    clean = "".join(c if c in "\t\n" or c >= " " else "\ufffd" for c in str(text))
    return html.escape(clean.encode("utf-8", "replace").decode("utf-8"))


def anchor(name, what):
    return f'<a class="anchor" href="#{name}" aria-label="Link to this {what}">#</a>'


def _file(name):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read()


def table_html(table, name):
    """The title, and the switch for the columns that are shown on request, are above the part that scrolls."""
    table = tables.without_empty(table)
    long = {i for row in table.rows for i, cell in enumerate(row) if len(cell) > LONG_CELL}

    def row(cells, tag):
        made = []
        for i, (head, cell) in enumerate(zip(table.heading, cells)):
            names = ["left"] if head in table.left else []
            names += ["text"] if tag == "td" and i in long else []
            names += ["name"] if tag == "td" and head == "machine" and len(cell) > LONG_NAME else []
            names += ["more"] if head in table.more else []
            kind = f' class="{" ".join(names)}"' if names else ""
            made.append(f"<{tag}{kind}>{escape(cell)}</{tag}>")
        return "<tr>" + "".join(made) + "</tr>"
    body = "\n".join(row(cells, "td") for cells in table.rows)
    remarks = "\n".join(f'<p class="remark">{escape(r)}</p>' for r in table.remarks)
    switch = (f'<input type="checkbox" class="all screen" id="{name}-all"><label class="screen remark" for="{name}-all">all '
              f'{len(table.heading)} columns</label>\n' if set(table.more) & set(table.heading) else "")
    return (f'<div class="table" id="{name}"><p class="title" id="{name}-title">{escape(table.title)}{anchor(name, "table")}</p>\n'
            f'{switch}<div class="scroll"><table aria-labelledby="{name}-title"><thead>{row(table.heading, "th")}</thead>\n'
            f"<tbody>{body}</tbody></table></div>\n{remarks}</div>")


def _labeled(svg, text):
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(text)}" ', 1)


def figure_html(plots, caption, picture, number):
    """Each panel and the legend is a separate SVG, so that they stack if the page is narrow."""
    name, (panels, legend) = f"figure{number}", picture.parts()
    drawn = [_labeled(plots.svg(figure, f"{name}-{n}"), f"{caption}, panel {n} of {len(panels)}")
             for n, figure in enumerate(panels, 1)]
    if legend:
        drawn.append(_labeled(plots.svg(legend, f"{name}-legend"), f"{caption}, legend"))
    note = f" ({picture.note})" if picture.note else ""
    return (f'<figure id="{name}"><div class="panels">{"".join(drawn)}</div><figcaption>Figure {number}. '
            f'{escape(caption + note)}.{anchor(name, "figure")}</figcaption></figure>')


def records_html(lines, name):
    """A link that downloads the records, which the page contains."""
    packed = gzip.compress(b"".join(lines), 9, mtime=0)
    if len(packed) > MOST_CARRIED:
        return f"<p>The records ({tables.quantity(len(packed))}, compressed) are too large for the page to carry.</p>"
    data = base64.b64encode(packed).decode("ascii")
    return (f'<p class="screen"><a download="{escape(name)}.jsonl.gz" href="data:application/gzip;base64,{data}">Download the '
            f"{len(lines)} lines of records</a> ({tables.quantity(len(packed))}, JSON Lines, gzip), from which "
            "<code>jobs/report</code> makes this page.</p>")


def sorting():
    """The script that sorts tables."""
    return f"<script>\n{_file('page.js')}</script>"


def document(title, body):
    style = (f":root {{ color-scheme: light dark; {colors.style(0)} }}\n@media screen and (prefers-color-scheme: dark) "
             f"{{ :root {{ {colors.style(1)} }} }}\n{_file('page.css')}")
    return "\n".join(['<!DOCTYPE html>', '<html lang="en"><head><meta charset="utf-8">',
                      '<meta name="viewport" content="width=device-width, initial-scale=1">',
                      f"<title>{escape(title)}</title>", f"<style>{style}</style></head><body>", *body,
                      sorting(), "</body></html>", ""])
