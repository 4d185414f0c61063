"""CUDA kernels over the shapes of their launches: for products, threads per block and lanes of a sub-warp; for steps of
series, threads per block and blocks per series."""
from dataclasses import dataclass

from . import series, tables
from .records import settings_text

# {name in a record: its meaning}
PRODUCT_AXES = {"block_size": "threads per block", "subwarp": "lanes of a sub-warp"}
STEP_AXES = {"block": "threads per block", "blocks_per_series": "blocks per series"}


@dataclass
class Shapes:
    """One machine, matrix (or series), precision and number of ranks. name: what the sizes count; lines: {(kernel, K or
    step): {size: the fastest point}}, each with at least two sizes."""
    title: str
    name: str
    kind: str  # what the second member of the keys is: K or step
    lines: dict

    @property
    def sizes(self):
        return sorted({size for line in self.lines.values() for size in line})

    @property
    def kinds(self):
        """Each K, or step."""
        return list(dict.fromkeys(kind for _, kind in self.lines))


def _lines(points, key, size):
    """{key: {size: the fastest point}} for keys with at least two sizes."""
    found = {}
    for p in points:
        line, at = found.setdefault(key(p), {}), size(p)
        if at and (at not in line or p.spread.median < line[at].spread.median):
            line[at] = p
    return {name: found[name] for name in sorted(found) if len(found[name]) > 1}


def _taken(point, axis):
    """The size that the kernel used; if it is not recorded, the one that was requested."""
    return int(point.middle("launch", axis) or point.settings.get(axis) or 0)


def _label(point, axis, shared):
    form = "" if point.format in point.kernel.replace("_", "-") else f" ({point.format})"
    grid = "" if point.grid[1] == 1 else f", {tables.grid(point)}"
    more = settings_text(s for s in point.extra_settings if s not in shared and s[0] != axis)
    return f"{point.kernel}{form}{grid}" + (f", {more}" if more else "")


def of_products(points):
    """Shapes in which products were run on GPUs."""
    made, gpus = [], [p for p in points if p.device != "cpu" and not p.weak]
    for members in series.by_key(gpus, lambda p: (p.machine, p.source, p.precision, p.ranks)).values():
        p, shared = members[0], series.shared_extras(members)
        title = ", ".join(part for part in (p.name, p.precision, f"{p.ranks} rank{'s' * (p.ranks != 1)}", p.machine,
                                            settings_text(shared)) if part)
        for axis, name in PRODUCT_AXES.items():
            lines = _lines(members, lambda q, a=axis: (_label(q, a, shared), q.k), lambda q, a=axis: _taken(q, a))
            made += [Shapes(title, name, "K", lines)] if lines else []
    return made


def _step_label(point, axis):
    other = {"block": ("blocks_per_series", " /{}"), "blocks_per_series": ("block", ", block {}")}[axis]
    return point.runs[0]["kernel"] + (other[1].format(point.run(other[0])) if point.run(other[0]) else "") + \
        (f", {point.memory}" if point.memory != "device" else "")


def of_steps(measurements):
    """Shapes in which steps of series were run."""
    made = []
    for m in measurements:
        for ranks, members in series.by_key([p for p in m.right if p.flop], lambda p: p.ranks).items():
            title = f"{m.title}, {ranks} rank{'s' * (ranks != 1)}"
            for axis, name in STEP_AXES.items():
                lines = _lines(members, lambda q, a=axis: (_step_label(q, a), q.step), lambda q, a=axis: q.run(a))
                made += [Shapes(title, name, "step", lines)] if lines else []
    return made


def table(shapes):
    """A row per kernel and K, a column per size; the best of each row is marked."""
    rows = []
    for (kernel, kind), line in shapes.lines.items():
        best = max(line, key=lambda size, line=line: line[size].gflops)
        cells = [tables.significant(line[n].gflops) + " *" * (n == best) if n in line else tables.NONE
                 for n in shapes.sizes]
        rows.append([kernel, str(kind), *cells, str(best), tables.ms(line[best].spread.median)])
    heading = ["kernel", shapes.kind, *map(str, shapes.sizes), "best", "its ms"]
    return tables.Table(f"GFLOP/s by {shapes.name}: {shapes.title}", heading, rows, ("kernel", "step"),
                        [f"columns: {shapes.name}, as the kernel took them; *: the best of a row"])
