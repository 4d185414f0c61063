"""Gets matrices of the SuiteSparse Matrix Collection (https://sparse.tamu.edu) by name, and unpacks them into a cache.

    matrices/get Janna/ML_Laplace cage9        a name needs no group if it is in only one group
    matrices/get --list fem --dry-run          the matrices of matrices/lists/fem.txt, and the bytes to download
    mpirun -np 4 ./spmm_mpi $(matrices/get --print Janna/ML_Laplace)

An interrupted download resumes where it stopped. Study files accept the same names:
matrices = name:Janna/ML_Laplace list:fem

Exit codes: 0 done; 2 usage, or a name that is in several groups; 3 no such matrix, or one that is damaged or whose
size or checksum is not the recorded one; 4 no network, no space, no access.
"""
import argparse
import os
import sys

from . import collection, download, lines, names, output, points
from .commands import Parser
from .names import CollectionError


def _whole(text):
    value = lines.whole(text, 1, 1000)
    if value is None:
        raise argparse.ArgumentTypeError(f"found {text}, expected a whole number from 1 to 1000")
    return value


def options():
    parser = Parser(prog="matrices/get", description=__doc__)
    parser.add_argument("names", metavar="NAME", nargs="*", help="GROUP/NAME, or NAME if it is in only one group")
    parser.add_argument("--list", metavar="LIST", action="append", default=[],
                        help="the names in matrices/lists/LIST.txt, or in the file with this path")
    parser.add_argument("--study", metavar="FILE", action="append", default=[],
                        help="the names in a study file")
    parser.add_argument("--to", metavar="FOLDER", help="also put NAME.mtx into FOLDER (a hard link, or a copy)")
    parser.add_argument("--dry-run", action="store_true", help="print the sizes, download only the index")
    parser.add_argument("--offline", action="store_true", help="use only the cache, contact no server")
    parser.add_argument("--print", action="store_true", help="print the paths and nothing else")
    parser.add_argument("--check", action="store_true", help="also verify checksums of matrices in the cache")
    parser.add_argument("--from", metavar="URL", dest="server",
                        help=f"another server with /MM/GROUP/NAME.tar.gz and /files/{collection.INDEX} (default: "
                             f"SPMM_COLLECTION, or {collection.SERVER})")
    parser.add_argument("--cache", metavar="FOLDER",
                        help="where matrices are kept (default: SPMM_MATRICES, or spmm_mpi/matrices in XDG_CACHE_HOME or "
                             "~/.cache)")
    parser.add_argument("--timeout", metavar="SECONDS", type=_whole, default=30,
                        help="how long to wait for an answer or more data (default %(default)s)")
    parser.add_argument("--tries", metavar="N", type=_whole, default=5,
                        help="attempts when a server is busy or a connection ends (default %(default)s)")
    found = parser.parse_args()
    if not found.names + found.list + found.study:
        parser.error("which matrices? NAME, --list or --study")
    return found


def _wanted(o):
    """(names as they were asked for, Items of the lists)"""
    items = [item for word in o.list for item in names.read_list(names.list_path(word))]
    asked = o.names + [item.name for item in items]
    for path in o.study:
        study = points.read(path)
        asked += points.names(study)
        items += study.pins
    for name in asked:
        names.check_name(name)
    return list(dict.fromkeys(asked)), items


class _All:
    """Processes the requested matrices one after another; an error of one does not stop the others."""

    def __init__(self, o, cache):
        self.o, self.cache, self.code, self.total = o, cache, 0, 0

    def each(self, asked, one):
        """Calls one() for each matrix, and returns the exit code of the first that failed. Raises CollectionError if network
        or room is missing: the others would fail, too."""
        for name in asked:
            try:
                one(self.cache.full_name(name))
            except CollectionError as error:
                self.code = self.code or error.code
                if error.code == names.RESOURCES:
                    raise
                print(f"get: error: {error}", file=sys.stderr)
        return self.code

    def get(self, name):
        path = self.cache.path(name, self.o.check, (lambda text: None) if self.o.print else collection.say)
        path = collection.place(path, self.o.to) if self.o.to else path
        text = path if self.o.print else lines.clean(f"{name}: {path}, {download.size_text(os.path.getsize(path))}")
        print(text, flush=True)

    def show(self, name):
        size, entry = self.cache.download_size(name), self.cache.index().get(name)
        what = f", {entry.rows} x {entry.cols}, {entry.nnz} entries" if entry else ""
        come = "in the cache" if size == 0 else f"{download.size_text(size)} to download" if size else \
            "not in the cache" if self.o.offline else "to download, of unknown size"
        print(f"{name}{what}: {come}", flush=True)
        self.total += size or 0


def main():
    o = options()
    asked, items = _wanted(o)
    server = download.Server(o.server or collection.server_address(), o.timeout, o.tries)
    cache = collection.Cache(o.cache and os.path.abspath(o.cache), server, o.offline, items)
    output.keep([*map(names.list_path, o.list), *o.study], cache.written(asked))
    if o.to:
        files = dict.fromkeys(f"{name.rpartition('/')[2]}.mtx" for name in asked)
        output.keep((), [("--to:", os.path.join(o.to, file)) for file in files])
    found = _All(o, cache)
    if not o.dry_run:
        return found.each(asked, found.get)
    code = found.each(asked, found.show)
    print(f"{len(asked)} matri{'x' if len(asked) == 1 else 'ces'}, {download.size_text(found.total)} to download, "
          f"compressed; cache: {lines.clean(cache.folder)}")
    return code
