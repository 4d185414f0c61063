"""One self-contained HTML page of an analysis: tables and inline SVG; no script, nothing from elsewhere."""
import html

from . import series, steps, tables

# more figures of one kind than anybody looks at; jobs/scaling --out draws them all
MOST_FIGURES = 12

CSS = """
body { font: 15px/1.45 Georgia, "Times New Roman", serif; color: #111; max-width: 62em; margin: 2em auto;
  padding: 0 1em }
h1 { font-size: 1.6em; margin-bottom: .2em } h2 { font-size: 1.25em; border-bottom: 1px solid #999; margin-top: 2em }
.scroll { overflow-x: auto; margin: 1em 0 }
table { border-collapse: collapse; font: 12px/1.35 "DejaVu Sans", Verdana, sans-serif; white-space: nowrap }
caption { text-align: left; font-weight: bold; padding: .2em 0 }
th, td { padding: .15em .6em; text-align: right } th { border-top: 1.5px solid; border-bottom: 1px solid }
tbody tr:last-child td { border-bottom: 1.5px solid } .left { text-align: left }
td.text { white-space: normal; min-width: 14em }
.remark { font-size: .87em; color: #333; margin: .1em 0 } figure { margin: 1.2em 0; break-inside: avoid }
figure svg { max-width: 100%; height: auto } figcaption { font-size: .9em }
nav { font-size: .9em } code { font-size: .9em }
@media print { body { max-width: none; margin: 0; font-size: 10pt } nav { display: none } .scroll { overflow: visible }
  figure { display: inline-block; width: 49%; margin: .6em 0; vertical-align: top }
  table { font-size: 6.5pt } th, td { padding: .1em .35em } tr { break-inside: avoid } h2 { break-after: avoid }
  @page { size: A4 landscape; margin: 14mm } }
"""

EXPLAINED = {
    "strong": "Time of one product of a fixed problem. S abs.: speed-up over the serial product; S rel.: over one rank "
              "of the same kernel; E = S / p; e (K-F): the serial fraction (1/S - 1/p) / (1 - 1/p) by Karp and Flatt. "
              "Predictions follow T(p) = T(1) (a + (1 - a) / p) + c (p - 1), or c log2 p, whichever fits better.",
    "weak": "A problem that grows with the ranks. SS: scaled speed-up, p T(N) / T_p(p N), by the entries' true growth "
            "in place of p (column `work`), over the serial product and over one rank; ideal: p. s (Gust.): the serial "
            "share with SS = p - s (p - 1).",
    "models": "Cost model: 2 nnz K / (P Q) T_calc + steps (m / P) K (T_calc + T_com) on a grid of P x Q; steps of the "
              "sum: Q - 1 (linear) or log2 Q. `probe`: T_calc of the probe, the serial product's at this K; `1 rank`: "
              "of this product on one rank. `with the rest` adds what the model leaves out: received rows of X, "
              "latencies, imbalance.",
    "kernels": "GFLOP/s: 2 nnz K over the median time.",
    "phases": "Each phase is the slowest rank's.",
    "roofline": "Flop per byte of the least DRAM traffic: nnz (s + 4) + 8 (m + 1) + s K (rows of X touched + m) bytes, "
                "s bytes a number.",
    "series": "Steps of series_mpi: times of one step, and what it makes of the bandwidth that a copy has. Speed-up: "
              "over the sequential program. Roofline: flop per byte of the least that a step moves, under the fastest "
              "copy measured; the flat line is the peak that was given, or the best measured.",
    "series-ranks": "Time of a step on the same series. S abs.: speed-up over the sequential program; S rel.: over one "
                    "rank of the same kernel; E = S / p; e (K-F): the serial fraction (1/S - 1/p) / (1 - 1/p) by Karp "
                    "and Flatt.",
    "errors": "Relative to the plain serial CSR product.",
}


def escape(text):
    """Text for HTML. What is no character (bytes of a broken log) becomes a mark."""
    clean = "".join(c if c in "\t\n" or c >= " " else "\ufffd" for c in str(text))
    return html.escape(clean.encode("utf-8", "replace").decode("utf-8"))


def table_html(table):
    def row(cells, tag):
        made = []
        for name, cell in zip(table.heading, cells):
            names = ["left"] if name in table.left else []
            names += ["text"] if tag == "td" and len(cell) > 60 else []
            kind = f' class="{" ".join(names)}"' if names else ""
            made.append(f"<{tag}{kind}>{escape(cell)}</{tag}>")
        return "<tr>" + "".join(made) + "</tr>"
    body = "\n".join(row(cells, "td") for cells in table.rows)
    remarks = "\n".join(f'<p class="remark">{escape(r)}</p>' for r in table.remarks)
    return (f'<div class="scroll"><table><caption>{escape(table.title)}</caption>\n<thead>{row(table.heading, "th")}'
            f"</thead>\n<tbody>{body}</tbody></table></div>\n{remarks}")


class Page:
    """Sections in order, and the names of those that had nothing to say."""

    def __init__(self, title, plots):
        self.title, self.plots = title, plots
        self.parts, self.contents, self.missing, self.figures = [], [], [], 0

    def figure_html(self, caption, figure):
        self.figures += 1
        name = f"figure{self.figures}"
        drawn = self.plots.svg(figure, name).replace("<svg ", f'<svg id="{name}" role="img" '
                                                     f'aria-label="{escape(caption)}" ', 1)
        return f"<figure>{drawn}<figcaption>Figure {self.figures}. {escape(caption)}.</figcaption></figure>"

    def figures_html(self, draw, room):
        """The first figures, as many as there is room for, and how many were drawn."""
        figures = draw(self.plots) if self.plots and room > 0 else []
        drawn = "".join(self.figure_html(c, f) for c, f in figures[:room])
        return (f'<div class="figures">{drawn}</div>' if drawn else ""), min(len(figures), room)

    def section(self, name, heading, blocks, why="", lead=""):
        """blocks: (tables, function that gives [(caption, figure)] or None). Without anything: left out, and why."""
        body, room = [lead] if lead else [], MOST_FIGURES
        for found, draw in blocks:
            drawn, count = self.figures_html(draw, room) if draw else ("", 0)
            room -= count
            body += [part for part in (drawn, *map(table_html, found)) if part]
        if not body:
            self.missing.append(f"{heading} ({why})" if why else heading)
            return
        if self.plots and room <= 0:
            body.append(f'<p class="remark">No more than {MOST_FIGURES} figures of a section are shown; jobs/scaling '
                        "--out draws all.</p>")
        intro = f"<p>{escape(EXPLAINED[name])}</p>" if name in EXPLAINED else ""
        self.contents.append(f'<a href="#{name}">{escape(heading)}</a>')
        self.parts.append("\n".join([f'<section id="{name}"><h2>{escape(heading)}</h2>', intro, *body, "</section>"]))

    def html(self, lead):
        left_out = ("<p>Left out, without data: " + escape("; ".join(self.missing)) + ".</p>") if self.missing else ""
        no_plots = "" if self.plots else "<p>Without figures: matplotlib (package python3-matplotlib) was missing.</p>"
        return "\n".join(['<!DOCTYPE html>', '<html lang="en"><head><meta charset="utf-8">',
                          '<meta name="viewport" content="width=device-width, initial-scale=1">',
                          f"<title>{escape(self.title)}</title>", f"<style>{CSS}</style></head><body>",
                          f"<h1>{escape(self.title)}</h1>", lead, f"<nav>{' · '.join(self.contents)}</nav>",
                          *self.parts, no_plots, left_out, "</body></html>", ""])


# ---- what is of the page alone ----

def _distinct(values):
    return ", ".join(dict.fromkeys(str(v) for v in values))


def overview_table(study):
    """What was run where: a row a machine and matrix."""
    found = {}
    for p in study.points:
        found.setdefault((p.machine, p.name, p.rows, p.nnz), []).append(p)
    rows = [[machine, name, f"{n:,}", f"{nnz:,}", _distinct(sorted({p.k for p in points})),
             _distinct(sorted({p.precision for p in points})), _distinct(sorted({p.ranks for p in points})),
             _distinct(sorted({p.kernel for p in points})), str(len(points)), str(sum(p.spread.rounds for p in points))]
            for (machine, name, n, nnz), points in found.items()]
    heading = ["machine", "matrix", "rows", "entries", "K", "precision", "ranks", "kernels", "points", "runs"]
    return tables.Table("What was run where", heading, rows, ("machine", "matrix", "kernels", "K", "ranks"))


def series_overview_table(study):
    """A row a machine and shape of series."""
    found = series.by_key([p for m in study.steps for p in m.points], lambda p: (p.machine, steps.shape_text(p)))
    rows = [[machine, shape, _distinct(p.step for p in points), _distinct(sorted({p.precision for p in points})),
             _distinct(sorted({p.ranks for p in points})), _distinct(sorted({p.kernel for p in points})),
             str(len(points)), str(sum(p.spread.rounds for p in points))]
            for (machine, shape), points in found.items()]
    heading = ["machine", "series", "steps", "precision", "ranks", "kernels", "points", "records"]
    return tables.Table("Steps of series", heading, rows, ("machine", "series", "steps", "kernels", "ranks"))


def _flat(value):
    if isinstance(value, dict):
        return ", ".join(f"{k}={_flat(v)}" for k, v in value.items()) or tables.NONE
    if isinstance(value, list):
        return "; ".join(_flat(v) for v in value) or tables.NONE
    return tables.NONE if value in (None, "") else str(value)


def environment_tables(environments):
    """A row a fact, a column an environment."""
    if not environments:
        return []
    found = list(environments.values())
    names = dict.fromkeys(n for e in found for n in e)
    heading = ["fact"] + [str(e.get("id")) for e in found]
    rows = [[str(name)] + [_memory(e.get(name)) if name == "memory_bytes" else _flat(e.get(name)) for e in found]
            for name in names if name != "id"]
    return [tables.Table("Environments", heading, rows, tuple(heading))]


def _memory(value):
    return tables.quantity(value) if isinstance(value, (int, float)) else _flat(value)


def settings_table(study):
    """What each study asked for: the values of every setting, and one command in full."""
    asked, command = {}, {}
    for p in study.measured:
        for r in p.runs:
            of = r.get("study") or {}
            name = str(of.get("name") or "runs without a study")
            for key, value in (of.get("settings") or {}).items():
                asked.setdefault(name, {}).setdefault(key, set()).add(str(value))
            if of.get("command"):
                command.setdefault(name, " ".join(map(str, of["command"])))
    rows = []
    for name, settings in asked.items():
        rows += [[name, key, ", ".join(sorted(values, key=lambda v: (len(v), v)))] for key, values in settings.items()]
        rows += [[name, "a command", command[name]]] if name in command else []
    heading = ("study", "setting", "values")
    return [tables.Table("Settings", list(heading), rows, heading)] if rows else []


def failure_lines(failures):
    """The commands of what failed, to run them again by hand."""
    found = [f for f in failures if f.command]
    if not found:
        return ""
    items = "".join(f"<li><code>{escape(' '.join(map(str, f.command)))}</code></li>" for f in found[:20])
    return f"<p>Commands of the failed runs:</p><ul>{items}</ul>"


def _lead(study):
    found = study.records
    started = sorted(str((r.get("study") or {}).get("started") or "") for p in study.measured for r in p.runs)
    started = [s for s in started if s]
    when = f", {started[0][:16]} to {started[-1][:16]}" if started else ""
    remarks = "".join(f'<p class="remark">{escape(r)}</p>' for r in found.remarks)
    what = "step" if study.steps and not study.points else "product, exchange included" + \
        (", or step" if study.steps else "")
    return (f"<p>{len(study.measured)} points, {found.runs} runs, {len(found.failures)} of them failed{escape(when)}. "
            f"Times are of one {what}, in ms: median over rounds, its 95 % interval, mean ± "
            f"standard deviation of all samples, least and greatest.</p>{remarks}")


def _by_group(groups, make_tables, make_figures):
    """Blocks of a section: each problem's figures stand by its tables."""
    return [(make_tables([g]), lambda plots, g=g: make_figures(plots, [g])) for g in groups]


def _product_sections(page, study):
    p = study.points
    page.section("strong", "Strong scaling", _by_group(study.strong, study.strong_tables, study.strong_figures),
                 "no problem was run on two numbers of ranks")
    page.section("threads", "Scaling over threads",
                 _by_group(study.threaded, study.strong_tables, study.strong_figures),
                 "nothing was run with two numbers of threads on the same ranks")
    page.section("weak", "Weak scaling", _by_group(study.weak, study.weak_tables, study.weak_figures),
                 "no problem grows with the ranks")
    page.section("models", "Distributions and cost models", [(study.model_tables(), study.model_figures)],
                 "neither a probe nor one rank")
    page.section("kernels", "Kernels over K", [(study.kernel_tables(), study.kernel_figures)], "one point")
    page.section("phases", "Phases", [(study.phase_tables(), study.phase_figures)])
    page.section("roofline", "Roofline", [(study.roofline_tables(), study.roofline_figures)])
    page.section("errors", "Errors", [([tables.errors_table(p)], None)] if p else [])


def _series_sections(page, study):
    page.section("series", "Steps of series", _by_group(study.steps, study.step_tables, study.step_figures))
    page.section("series-ranks", "Steps of series over ranks",
                 _by_group(study.step_groups, study.step_scaling_tables, study.step_scaling_figures),
                 "no step was run on two numbers of ranks")


def report(study, title, plots):
    """The page's text."""
    page, p = Page(title, plots), study.points
    overview = ([overview_table(study)] if p else []) + ([series_overview_table(study)] if study.steps else [])
    page.section("what", "What was run where", [(overview, None)])
    if p or not study.steps:
        _product_sections(page, study)
    if study.steps:
        _series_sections(page, study)
    page.section("failed", "Failed runs", [(study.failure_tables(), None)], "none failed",
                 failure_lines(study.records.failures))
    if p or not study.steps:
        page.section("points", "Every point", [([tables.points_table(p)], None)] if p else [])
    page.section("environment", "Environments", [(environment_tables(study.records.environments), None)])
    page.section("settings", "Settings", [(settings_table(study), None)])
    return page.html(_lead(study))


def title_of(study):
    """Without --title."""
    names = sorted({str(n) for p in study.measured for n in p.studies if n})
    program = "series_mpi" if study.steps and not study.points else "spmm_mpi"
    return f"{program}: " + (", ".join(names) if names else "measurements")
