"""Shared by the tests of jobs/scaling and jobs/report."""
import html.parser
import os
import subprocess
import sys

from command import ROOT, equal, patience, scratch
import made_records as made

sys.path.insert(0, str(ROOT / "jobs"))
from spmm_study import analysis, profile, records  # noqa: E402


def near(found, expected, tolerance=1e-9):
    assert found is not None and abs(found - expected) <= tolerance * max(1, abs(expected)), (found, expected)


def cells(table, **wanted):
    """The only row that has these cells: {column: cell}."""
    rows = [dict(zip(table.heading, row)) for row in table.rows]
    found = [r for r in rows if all(r[name] == value for name, value in wanted.items())]
    equal(len(found), 1, f"rows with {wanted}")
    return found[0]


def analyzed(*lines, name="made.jsonl", **options):
    return analysis.Analysis(records.read([scratch(name, made.lines(lines))]), **options)


def start(program, *args, env=None):
    """Runs a program of jobs/, as a user starts it."""
    command = [sys.executable, str(ROOT / "jobs" / program), *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=patience(60), env={**os.environ, **(env or {})})


def without_matplotlib():
    """An environment in which matplotlib cannot be imported."""
    folder = scratch("no-plots")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "matplotlib.py"), "w", encoding="utf-8") as file:
        file.write("raise ImportError(\"No module named 'matplotlib'\")\n")
    return {"PYTHONPATH": folder}


class Checker(html.parser.HTMLParser):
    """Checks that elements are closed in the right order; collects ids, references and visible text."""
    VOID = {"meta", "br", "hr", "img", "link", "input"}

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.references, self.words, self.headings, self.tags = [], [], [], [], [], []
        self.labels = []
        self.feed(text)
        self.close()
        equal(self.open, [], "elements left open")

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in ("href", "xlink:href", "src"):
                self.references.append(value)
            if name in ("aria-labelledby", "aria-label"):
                self.labels.append((name, value))

    def handle_endtag(self, tag):
        equal(self.open.pop(), tag, "closing tag")

    def handle_data(self, data):
        if self.open[-1:] not in (["script"], ["style"]):
            self.words.append(data)
        if self.open and self.open[-1] == "h2":
            self.headings.append(data)

    @property
    def text(self):
        return "".join(self.words)


def checked_page(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    found = Checker(text)
    assert "http://" not in text and "https://" not in text, "a reference to elsewhere"
    equal(len(found.ids), len(set(found.ids)), "ids, and different ones")
    for reference in found.references:
        assert reference.startswith("data:application/gzip;base64,") or \
            reference.startswith("#") and reference[1:] in found.ids, f"{reference[:60]} leads nowhere"
    equal(found.tags.count("script"), 1, "scripts: the one that sorts")
    return found, text
