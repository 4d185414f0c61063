"""A server on the loopback that imitates the SuiteSparse Matrix Collection: its index, its archives, and faults of
servers. Used by test_get.py."""
import gzip
import hashlib
import http.server
import io
import re
import tarfile
import threading

INDEX = "/files/ssstats.csv"


def matrix(rows=50, note="", field="real"):
    """A diagonal matrix in Matrix Market format."""
    lines = "".join(f"{i} {i} {i}.5{' 0' * (field == 'complex')}\n" for i in range(1, rows + 1))
    return f"%%MatrixMarket matrix coordinate {field} general\n%{note}\n{rows} {rows} {rows}\n{lines}".encode()


def member(name, kind=tarfile.REGTYPE, link="", data=b""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, len(data)
    return info, data


def archive(members, plain=False):
    """The bytes of NAME.tar.gz with these members: (TarInfo, bytes); plain: without gzip."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for info, data in members:
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue() if plain else gzip.compress(out.getvalue(), 1)


def of_matrix(name, text):
    """The archive of a matrix as the collection makes it: a folder, the matrix, a right-hand side."""
    return archive([member(f"{name}/", tarfile.DIRTYPE), member(f"{name}/{name}.mtx", data=text),
                    member(f"{name}/{name}_b.mtx", data=b"%%MatrixMarket matrix array real general\n1 1\n1.0\n")])


class Server:
    """files: {path: bytes}. faults: {path: [fault, ..]}, each request uses up one until none is left; a fault is a
    function of the handler and the bytes. log: (method, path, Range or None) of each request."""

    def __init__(self):
        self.files, self.faults, self.log, self.ranges, self.tags = {}, {}, [], True, "strong"
        self.gate = threading.Event()
        self.gate.set()
        outer = self

        class Handler(_Handler):
            server_of_test = outer
        self._http = _Quiet(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def add(self, name, text):
        """Adds the matrix GROUP/NAME."""
        self.files[f"/MM/{name}.tar.gz"] = of_matrix(name.split("/")[1], text)

    def index(self, *names):
        self.files[INDEX] = (f"{len(names)}\n31-Oct-2023 18:12:37\n" + "".join(
            f"{name.replace('/', ',')},50,50,50,1,0,0,1,1,1,power network problem,50\n" for name in names)).encode()

    def gets(self, path):
        return [found for found in self.log if found[:2] == ("GET", path)]

    def close(self):
        self._http.shutdown()
        self._http.server_close()


class _Quiet(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # clients that were killed, or closed the connection early


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def tag(self, data):
        return f'"{hashlib.md5(data).hexdigest()}"'

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        server = self.server_of_test
        server.log.append((self.command, self.path, self.headers.get("Range")))
        server.gate.wait(10)
        faults = server.faults.get(self.path, [])
        data = server.files.get(self.path)
        if faults:
            return faults.pop(0)(self, data)
        if data is None:
            return self.answer(404)
        return self.whole(data)

    def answer(self, code, body=b"", **headers):
        self.send_response(code)
        for name, value in {"Content_Length": len(body), **headers}.items():
            if value is not None:
                self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def whole(self, data):
        server, start = self.server_of_test, None
        found = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", "")) if server.ranges else None
        tag = {"strong": {"ETag": self.tag(data)}, "weak": {"ETag": "W/" + self.tag(data)},
               "date": {"Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT"}}[server.tags]
        if found and self.headers.get("If-Range") in (None, *tag.values()):
            start = int(found[1])
        if start is not None and start >= len(data):
            return self.answer(416, Content_Range=f"bytes */{len(data)}", **tag)
        if start is not None:
            return self.answer(206, data[start:], Content_Range=f"bytes {start}-{len(data) - 1}/{len(data)}", **tag)
        return self.answer(200, data, Accept_Ranges="bytes" if server.ranges else "none", **tag)


# ---- faults ----

def code(number, **headers):
    return lambda handler, data: handler.answer(number, b"<html>no</html>", **headers)


def cut(after):
    """Ends the connection after so many bytes of the file."""
    def fault(handler, data):
        class Short:
            def __init__(self, to):
                self.to = to

            def write(self, text):
                self.to.write(text[:after])
                self.to.flush()
        plain, handler.wfile = handler.wfile, Short(handler.wfile)
        headers = handler.end_headers

        def end_headers():
            short, handler.wfile = handler.wfile, plain
            headers()
            handler.wfile = short
        handler.end_headers = end_headers
        handler.whole(data)
        handler.wfile = plain
        handler.close_connection = True
    return fault


def length(announced):
    """Sends a wrong Content-Length; None: none, and the connection ends with the file."""
    def fault(handler, data):
        handler.answer(200, data, Content_Length=announced, Connection="close", ETag=handler.tag(data))
        handler.close_connection = True
    return fault


def damaged(handler, data):
    """Sends the file with one wrong byte in the middle."""
    half = len(data) // 2
    handler.answer(200, data[:half] + bytes([data[half] ^ 0x55]) + data[half + 1:], ETag=handler.tag(data))


def silent(handler, data):
    """Sends nothing for longer than any client waits."""
    handler.server_of_test.silence.wait(20)
    handler.close_connection = True
