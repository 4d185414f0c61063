"""One self-contained HTML page of an analysis: the results in sentences, a table and a figure; then the details."""
import re
import shlex

from . import markup, series, steps, tables
from .markup import escape
from .records import date_of

# most figures of a section; jobs/scaling --out draws all
MOST_FIGURES = 12
MOST_COMMANDS = 500

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
                "s bytes per number.",
    "series": "Steps of series_mpi: times of one step, and what it makes of the bandwidth that a copy has. Speed-up: "
              "over the sequential program. Roofline: flop per byte of the least that a step moves, under the fastest "
              "copy measured; the flat line is the peak that was given, or the best measured.",
    "series-ranks": "Time of a step on the same series. S abs.: speed-up over the sequential program; S rel.: over one "
                    "rank of the same kernel; E = S / p; e (K-F): the serial fraction (1/S - 1/p) / (1 - 1/p) by Karp "
                    "and Flatt.",
    "errors": "Relative to the plain serial CSR product.",
}


class Page:
    """Sections in order, and the names of those without content."""

    def __init__(self, plots):
        self.plots = plots
        self.parts, self.contents, self.missing, self.figures, self.tables = [], [], [], 0, 0

    def _figures(self, draw, room):
        """The first figures, as many as there is room for, and how many were drawn."""
        found = draw(self.plots)[:room] if self.plots and room > 0 else []
        made = []
        for caption, picture in found:
            self.figures += 1
            made.append(markup.figure_html(self.plots, caption, picture, self.figures))
        return made, len(found)

    def _tables(self, found):
        """Tables, and their lines in the table of contents."""
        made, lines = [], []
        for table in found:
            self.tables += 1
            made.append(markup.table_html(table, f"table{self.tables}"))
            lines.append(f'<li><a href="#table{self.tables}">{escape(table.title)}</a></li>')
        return made, lines

    def section(self, name, heading, blocks, why="", lead="", more=""):
        """blocks: [(tables, function that returns [(caption, picture)], or None)]. lead: HTML before the blocks; more: after
        them. why: the reason that the page gives if the section is empty and left out."""
        body, lines, room = [], [], MOST_FIGURES
        for found, draw in blocks:
            drawn, count = self._figures(draw, room) if draw else ([], 0)
            room -= count
            made, told = self._tables(found)
            lines += told
            body += made + drawn
        if not body and not lead and not more:
            self.missing.append(f"{heading} ({why})" if why else heading)
            return
        if self.plots and room <= 0:
            body.append(f'<p class="remark">No more than {MOST_FIGURES} figures of a section are shown; jobs/scaling '
                        "--out draws all.</p>")
        intro = f"<p>{escape(EXPLAINED[name])}</p>" if name in EXPLAINED else ""
        inner = f"<ul>{''.join(lines)}</ul>" if len(lines) > 1 else ""
        self.contents.append(f'<li><a href="#{name}">{escape(heading)}</a>{inner}</li>')
        self.parts.append("\n".join([f'<section id="{name}"><h2>{escape(heading)}{markup.anchor(name, "section")}</h2>',
                                     lead, intro, *body, more, "</section>"]))

    def html(self, title, how):
        """how: a paragraph after the first section, about all that follow."""
        left_out = ("<p>Left out, without data: " + escape("; ".join(self.missing)) + ".</p>") if self.missing else ""
        no_plots = "" if self.plots else "<p>Without figures: matplotlib (package python3-matplotlib) was missing.</p>"
        contents = f"<nav><details><summary>Contents</summary><ul>{''.join(self.contents)}</ul></details></nav>"
        return markup.document(title, [f"<h1>{escape(title)}</h1>", *self.parts[:1], contents, how, *self.parts[1:],
                                       no_plots, left_out])


# ---- tables and lists of the page only ----

def _distinct(values):
    return ", ".join(dict.fromkeys(str(v) for v in values))


def overview_table(study):
    """What was run where: a row per machine and matrix."""
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
    """A row per machine and shape of series."""
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
    """A row per fact, a column per environment."""
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
    """The values of every setting that each study requested."""
    asked = {}
    for p in study.measured:
        for r in p.runs:
            of = r.get("study") or {}
            name = str(of.get("name") or "runs without a study")
            for key, value in (of.get("settings") or {}).items():
                asked.setdefault(name, {}).setdefault(key, set()).add(str(value))
    rows = [[name, key, ", ".join(sorted(values, key=lambda v: (len(v), v)))] for name, settings in asked.items()
            for key, values in settings.items()]
    heading = ("study", "setting", "values")
    return [tables.Table("Settings", list(heading), rows, heading)] if rows else []


def _commands(study):
    """The command of every point, once each, in the order in which they ran."""
    runs = sorted((r.get("study") or {} for p in study.measured for r in p.runs), key=lambda s: str(s.get("started")))
    return list(dict.fromkeys(shlex.join(map(str, s["command"])) for s in runs if s.get("command")))


def repeat_html(study, name):
    """The records, and how to measure them again."""
    parts = [markup.records_html(study.records.lines, name)] if study.records.lines else []
    commands = _commands(study)
    if commands:
        commits = _distinct(e["commit"] for e in study.records.environments.values() if e.get("commit"))
        of = f", of commit {escape(commits)}" if commits else ""
        more = f"\n# and {len(commands) - MOST_COMMANDS} more" if len(commands) > MOST_COMMANDS else ""
        parts.append(f"<details><summary>The {len(commands)} commands, one per point{of}</summary><pre>"
                     f"{escape(chr(10).join(commands[:MOST_COMMANDS]) + more)}</pre></details>")
    return "\n".join(parts)


def failure_lines(failures):
    """The commands of failed runs, to run them again by hand."""
    found = [f for f in failures if f.command]
    if not found:
        return ""
    items = "".join(f"<li><code>{escape(' '.join(map(str, f.command)))}</code></li>" for f in found[:20])
    return f"<p>Commands of the failed runs:</p><ul>{items}</ul>"


def _how_to_read(study):
    found = study.records
    started = sorted({date_of(r) for p in study.measured for r in p.runs} - {""})
    when = f", {started[0][:16]} to {started[-1][:16]}" if started else ""
    remarks = "".join(f'<p class="remark">{escape(r)}</p>' for r in found.remarks)
    what = "step" if study.steps and not study.points else "product, exchange included" + \
        (", or step" if study.steps else "")
    return (f"<p>{len(study.measured)} points, {found.runs} runs, {len(found.failures)} of them failed{escape(when)}. "
            f"Times are of one {what}, in ms: median over rounds, its 95 % interval, mean ± "
            f"standard deviation of all samples, least and greatest. A click on a heading sorts its table.</p>{remarks}")


def _sentences_html(study):
    # (a number and its per cent sign stay in one line)
    found = "".join("<li>{}</li>".format(escape(text).replace(" %", "&nbsp;%")) for text in study.sentences()) \
        if study.measured else ""
    return f'<ul class="outcome">{found}</ul>' if found else "<p>There are no points in the records.</p>"


def _joined(groups, make_tables, name, value):
    """Joins tables of groups that differ only in `name`: one for each kind of table."""
    kinds = series.by_key([(str(value(g)), g, table) for g in groups for table in make_tables([g])],
                          lambda found: tuple(found[2].heading))
    made = []
    for members in kinds.values():
        of, g, table = members[0]
        title = table.title.replace(g.title, g.common_title)
        made.append(tables.joined(title, name, [(of, table) for of, _, table in members]))
    return made


def _by_problem(groups, make_tables, make_figures, name="K", value=lambda g: g.k):
    """Blocks of a section: each problem's tables and figures together. Its groups differ in `name`, which is value(group)."""
    return [(_joined(members, make_tables, name, value), lambda plots, members=members: make_figures(plots, members))
            for members in series.by_key(groups, lambda g: (g.machine, g.matrix, g.precision)).values()]


def _shape_blocks(study, found):
    return [(study.shape_tables([s]), lambda plots, s=s: study.shape_figures(plots, [s])) for s in found]


def _product_sections(page, study):
    p = study.points
    page.section("strong", "Strong scaling", _by_problem(study.strong, study.strong_tables, study.strong_figures),
                 "no problem was run on two numbers of ranks")
    page.section("threads", "Scaling over threads",
                 _by_problem(study.threaded, study.strong_tables, study.strong_figures),
                 "nothing was run with two numbers of threads on the same ranks")
    page.section("weak", "Weak scaling", _by_problem(study.weak, study.weak_tables, study.weak_figures),
                 "no problem grows with the ranks")
    page.section("models", "Distributions and cost models", _by_problem(study.strong, study.model_tables, study.model_figures) +
                 [(study.sum_tables(), None)], "neither a probe nor one rank")
    page.section("kernels", "Kernels over K",
                 _by_problem(study.sweeps, study.kernel_tables, study.kernel_figures, "ranks", lambda s: s.ranks), "one point")
    page.section("shapes", "Shapes of launches", _shape_blocks(study, study.shapes), "no kernel ran in two shapes")
    page.section("phases", "Phases", [(study.phase_tables(), study.phase_figures)])
    page.section("roofline", "Roofline", [(study.roofline_tables(), study.roofline_figures)])
    page.section("errors", "Errors", [([tables.errors_table(p)], None)] if p else [])


def _series_sections(page, study):
    page.section("series", "Steps of series",
                 [(study.step_tables([m]), lambda plots, m=m: study.step_figures(plots, [m])) for m in study.steps])
    page.section("series-shapes", "Steps of series: shapes", _shape_blocks(study, study.step_shapes),
                 "no step was run in two shapes")
    page.section("series-ranks", "Steps of series over ranks",
                 _by_problem(study.step_groups, study.step_scaling_tables, study.step_scaling_figures),
                 "no step was run on two numbers of ranks")


def report(study, title, plots):
    """The page's text."""
    page, p = Page(plots), study.points
    page.section("outcome", "Outcome", [(study.outcome_tables() + study.step_outcome_tables(), study.outcome_figures)],
                 lead=_sentences_html(study))
    overview = ([overview_table(study)] if p else []) + ([series_overview_table(study)] if study.steps else [])
    page.section("what", "What was run where", [(overview, None)])
    if p or not study.steps:
        _product_sections(page, study)
    if study.steps:
        _series_sections(page, study)
    page.section("failed", "Failed runs", [(study.failure_tables(), None)], "none failed",
                 more=failure_lines(study.records.failures))
    if p or not study.steps:
        page.section("points", "Every point", [([tables.points_table(p)], None)] if p else [])
    page.section("environment", "Environments", [(environment_tables(study.records.environments), None)])
    page.section("settings", "Settings", [(settings_table(study), None)])
    page.section("repeat", "Records and commands", [], more=repeat_html(study, _slug(title)))
    return page.html(title, _how_to_read(study))


def _slug(text):
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.")[:80] or "records"


def title_of(study):
    """The page's title, unless --title sets it."""
    names = sorted({str(n) for p in study.measured for n in p.studies if n})
    program = "series_mpi" if study.steps and not study.points else "spmm_mpi"
    return f"{program}: " + (", ".join(names) if names else "measurements")
