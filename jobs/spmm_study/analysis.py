"""What jobs/scaling and jobs/report share: options, the analysis of records, its tables and figures in order."""
import argparse
import io
import os
import re
import sys

from . import lines, outcome, output, pythons, records, schema, sentences, series, shapes, steps, sums, tables


def _ranks(text):
    found = [lines.whole(word, 1, schema.COUNT_MAX) for word in text.split(",")]
    if None in found:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected numbers of ranks such as 8,16")
    return found


def _peak(text):
    """(part of a machine's name, flop/s)"""
    name, _, number = text.rpartition("=")
    try:
        value = float(number)
    except ValueError:
        value = 0.0
    if not 1e-6 <= value <= 1e12:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected GFLOP/s from 1e-6 to 1e12, or NAME=GFLOP/s")
    return name, value * 1e9


def add_options(parser):
    parser.add_argument("records", metavar="RECORDS", nargs="+", help="files of records, JSON Lines")
    parser.add_argument("--predict", metavar="LIST", type=_ranks, default=[],
                        help="numbers of ranks for the fitted laws, e.g. 8,16 (default: the next three doublings)")
    parser.add_argument("--peak", metavar="GFLOPS", type=_peak, action="append", default=[],
                        help="peak of the device, for the roofline; NAME=GFLOPS: only for machines with NAME in their name")


def drawing(program):
    """The module plots; if matplotlib is missing, None, and a message on the standard error."""
    try:
        from . import plots  # pylint: disable=import-outside-toplevel
        return plots
    except ImportError as error:
        print(f"{program}: no plots: {error} ({pythons.tried()}); install python3-matplotlib (Debian and Ubuntu) "
              "or matplotlib (PyPI)", file=sys.stderr)
        return None


def slug(text):
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:100]


def _order(point):
    return point.machine, point.source, point.precision, point.k, point.device, point.kernel, point.ranks, point.grid


def _filled(found):
    return [one for one in found if one is not None]


def _drawn(made):
    """The (caption, figure) pairs that have a figure."""
    return [(caption, figure) for caption, figure in made if figure]


class Analysis:
    """Points of the records, grouped for each law. peaks: (part of a machine's name, flop/s)."""

    def __init__(self, found, predict=(), peaks=()):
        self.records, self.predict, self.peaks = found, list(predict), list(peaks)
        self.points = sorted(found.points, key=_order)
        # a product with an empty matrix has a time, but no rate
        working = [p for p in self.points if p.flop > 0]
        self.strong = series.strong(working)
        self.weak = series.weak(working)
        self.threaded, self.sweeps = series.threaded(working), series.sweeps(working)
        self.rooflines = series.rooflines(working)
        self.steps = steps.measurements(found.steps)
        self.step_groups = [group for m in self.steps for group in steps.strong(m)]
        self.shapes, self.step_shapes = shapes.of_products(working), shapes.of_steps(self.steps)
        self.outcomes = outcome.of(self)

    @property
    def measured(self):
        """Every point: of products, and of steps of series."""
        return self.points + [p for m in self.steps for p in m.points]

    def peak(self, machine):
        """The machine's peak in flop/s; None if no --peak matches it. The last match counts."""
        return next((flops for name, flops in reversed(self.peaks) if name.lower() in machine.lower()), None)

    def sentences(self):
        """The results, in words."""
        return sentences.of(self, self.outcomes)

    # ---- tables by section ----

    def outcome_tables(self):
        return [outcome.table(self.outcomes)] if self.outcomes else []

    def step_outcome_tables(self):
        return [outcome.steps_table(self.steps)] if self.steps else []

    def strong_tables(self, groups=None):
        found = []
        for group in self.strong if groups is None else groups:
            found += [tables.strong_table(group), tables.fits_table(group, self.predict),
                      sums.generalized_table(group)]
        return _filled(found)

    def threads_tables(self):
        return self.strong_tables(self.threaded)

    def weak_tables(self, groups=None):
        return [tables.weak_table(group) for group in (self.weak if groups is None else groups)]

    def model_tables(self, groups=None):
        return _filled(tables.models_table(g, self.points) for g in (self.strong if groups is None else groups))

    def sum_tables(self):
        return sums.partial_tables([p for p in self.points if p.flop > 0])

    def kernel_tables(self, sweeps=None):
        return [tables.sweep_table(s) for s in (self.sweeps if sweeps is None else sweeps)]

    def shape_tables(self, found=None):
        return [shapes.table(s) for s in (self.shapes if found is None else found)]

    def phase_tables(self):
        return _filled([tables.phases_table(self.points)])

    def roofline_tables(self):
        return [tables.roofline_table(key, points, self.peak(key[0])) for key, points in self.rooflines.items()]

    def step_tables(self, measurements=None):
        wanted = self.steps if measurements is None else measurements
        return _filled(table for m in wanted for table in (steps.table(m), sums.array_table(m)))

    def step_scaling_tables(self, groups=None):
        found = []
        for group in self.step_groups if groups is None else groups:
            found += [steps.strong_table(group), tables.fits_table(group, self.predict), sums.generalized_table(group)]
        return _filled(found)

    def failure_tables(self):
        return [tables.failures_table(self.records.failures)] if self.records.failures else []

    def sections(self):
        """(heading, tables) of every section that has tables."""
        every = [("Outcome", self.outcome_tables()), ("Points", [tables.points_table(self.points)] if self.points else []),
                 ("Strong scaling", self.strong_tables()), ("Scaling over threads", self.threads_tables()),
                 ("Weak scaling", self.weak_tables()), ("Distributions and cost models", self.model_tables() + self.sum_tables()),
                 ("GFLOP/s over K", self.kernel_tables()),
                 ("Shapes of launches", self.shape_tables()), ("Phases", self.phase_tables()),
                 ("Roofline", self.roofline_tables()), ("Steps of series: outcome", self.step_outcome_tables()),
                 ("Steps of series", self.step_tables()),
                 ("Steps of series: shapes", self.shape_tables(self.step_shapes)),
                 ("Steps of series over ranks", self.step_scaling_tables()), ("Failed runs", self.failure_tables())]
        return [(heading, found) for heading, found in every if found]

    def text(self):
        """The sections, for a terminal: a list of texts."""
        found = [f"== {heading} ==\n\n" + "\n\n".join(tables.text(t) for t in made)
                 for heading, made in self.sections()]
        return (["\n".join(self.sentences())] if self.measured else []) + found or ["no points"]

    # ---- figures by section: (caption, figure) ----

    def outcome_figures(self, plots):
        made = plots.outcome(self.outcomes, self.sweeps)
        return _drawn([(made.title, made)] if made else [])

    def strong_figures(self, plots, groups=None):
        made = []
        for g in self.strong if groups is None else groups:
            what = "" if g.over == "ranks" else f" over {g.over}"
            made += [(f"Strong scaling{what}: {g.title}", plots.strong(g, self._predicted(g))),
                     (f"Efficiency{what}: {g.title}", plots.efficiency(g))]
        return _drawn(made)

    def threads_figures(self, plots):
        return self.strong_figures(plots, self.threaded)

    def _predicted(self, group):
        fitted = [one for one in group.series if one.fit and one.fit.is_free]
        return (self.predict or tables.default_ranks(fitted)[:2]) if fitted else []

    def weak_figures(self, plots, groups=None):
        return _drawn((f"Weak scaling: {g.title}", plots.weak(g)) for g in (self.weak if groups is None else groups))

    def model_figures(self, plots, groups=None):
        return _drawn((f"Cost models: {g.title}", plots.models(g, self.points))
                      for g in (self.strong if groups is None else groups))

    def kernel_figures(self, plots, sweeps=None):
        made = []
        for s in self.sweeps if sweeps is None else sweeps:
            # if nothing scales, the figure of the outcome already shows the shares
            heat = plots.heat(s) if any(o.speedup for o in self.outcomes) else None
            made += [(f"Share of the best: {s.title}", heat), (f"GFLOP/s of each kernel: {s.title}", plots.dots(s)),
                     (f"GFLOP/s over K: {s.title}", plots.rates(s))]
        return _drawn(made)

    def shape_figures(self, plots, found=None):
        return _drawn((f"GFLOP/s over {s.name}: {s.title}", plots.shapes(s))
                      for s in (self.shapes + self.step_shapes if found is None else found))

    def phase_figures(self, plots):
        """A figure per machine, problem and precision."""
        made = []
        parallel = [p for p in self.points if not p.is_serial]
        problems = series.by_key(parallel, lambda p: (p.machine, p.weak or p.name, p.precision))
        for (machine, name, precision), points in problems.items():
            figure = plots.phases(series.for_bars(points, plots.MOST_BARS), machine)
            made.append((f"Phases: {name}, {precision}, {machine}", figure))
        return _drawn(made)

    def roofline_figures(self, plots):
        return [(f"Roofline: {machine}, {precision}", plots.roofline(machine, precision, points, self.peak(machine)))
                for (machine, precision), points in self.rooflines.items()]

    def step_figures(self, plots, measurements=None):
        return _drawn((f"Roofline: {m.title}",
                       plots.steps_roofline(m.title, steps.roofline_points(m), series.device_bandwidth(m.points),
                                            self.peak(m.points[0].machine)))
                      for m in (self.steps if measurements is None else measurements))

    def step_scaling_figures(self, plots, groups=None):
        return self.strong_figures(plots, self.step_groups if groups is None else groups)

    def write_csv(self, path):
        """Writes a row per point. Steps of series have other columns: if there are also products, the steps go to a
        second file. Returns the names of files other than `path`."""
        own = path if not self.points else "-series".join(os.path.splitext(path))
        if self.points or not self.steps:
            table = io.StringIO(newline="")
            tables.write_csv(table, self.points, self.strong, self.weak)
            output.write(path, table.getvalue())
        if self.steps:
            table = io.StringIO(newline="")
            steps.write_csv(table, self.steps, self.step_groups)
            output.write(own, table.getvalue())
        return [own] if self.steps and own != path else []

    def draw(self, plots, folder):
        """All figures into the folder. Returns the names of the files."""
        os.makedirs(folder, exist_ok=True)
        made, names = [], set()
        for figures in (self.outcome_figures, self.strong_figures, self.threads_figures, self.weak_figures, self.model_figures,
                        self.kernel_figures, self.shape_figures, self.phase_figures, self.roofline_figures, self.step_figures,
                        self.step_scaling_figures):
            for caption, figure in figures(plots):
                name, number = slug(caption), 1
                while name in names:
                    number += 1
                    name = f"{slug(caption)}-{number}"
                names.add(name)
                made += plots.save(figure, os.path.join(folder, name))
        return made


def start(program, options):
    """The analysis of the records that the command line names. Prints remarks about them on the standard error."""
    study = Analysis(records.read(options.records), options.predict, options.peak)
    for remark in study.records.remarks:
        print(f"{program}: {lines.clean(remark)}", file=sys.stderr)
    return study
