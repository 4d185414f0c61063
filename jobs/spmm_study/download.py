"""Downloads a file over HTTP. Continues a part file if the file on the server is still the same."""
import errno
import http.client
import json
import os
import re
import shutil
import socket
import ssl
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

CHUNK = 2 ** 18
ENOUGH = 2 ** 20  # an attempt that receives so many bytes resets the count of attempts
FIRST_WAIT, LONGEST_WAIT = 0.5, 60  # seconds before another attempt; doubled each time
SHOWN = 200  # characters of a server's text that are shown
BUSY = (408, 429, 500, 502, 503, 504)  # status codes that may change a little later


class DownloadError(Exception):
    """A download failed; the text says why. missing: the server has no such file."""

    def __init__(self, text, missing=False):
        super().__init__(text)
        self.missing = missing


class _Cut(Exception):
    """An attempt that ended early; another may succeed. wait: seconds that the server asks for, or None."""

    def __init__(self, text, wait=None):
        super().__init__(text)
        self.wait = wait


class _Redirections(urllib.request.HTTPRedirectHandler):
    """Refuses a redirection from HTTPS to HTTP, where anybody on the way may answer."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        if req.type == "https" and urllib.parse.urlsplit(newurl).scheme != "https":
            raise DownloadError(f"{req.full_url}: found a redirection to {newurl[:SHOWN]}, expected one to https")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener():
    """An opener for HTTP and HTTPS only, with the proxies of the environment: no redirection can lead to a file or to FTP."""
    opener = urllib.request.OpenerDirector()
    for handler in (urllib.request.ProxyHandler, urllib.request.UnknownHandler, urllib.request.HTTPHandler,
                    urllib.request.HTTPSHandler, urllib.request.HTTPDefaultErrorHandler,
                    _Redirections, urllib.request.HTTPErrorProcessor):
        opener.add_handler(handler())
    return opener


def check_address(url):
    """Raises ValueError if `url` is no address of HTTP or HTTPS."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or \
            parts.username is not None or parts.port == 0 or not re.fullmatch("[!-~]+", url):
        raise ValueError(f"found \"{url}\", expected http://HOST[:PORT][/FOLDER] or https://...")


class Progress:
    """A progress line, which is overwritten; prints only on a terminal."""

    def __init__(self, name):
        self.name, self.shown, self.start = name, 0, time.monotonic()
        self.on = sys.stderr.isatty()

    def show(self, have, total):
        now = time.monotonic()
        if self.on and now - self.shown > 0.2:
            self.shown = now
            of = f" of {size_text(total)}" if total else ""
            print(f"\r{self.name}: {size_text(have)}{of}\033[K", end="", file=sys.stderr, flush=True)

    def end(self):
        if self.on and self.shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def size_text(count):
    for size, name in ((10 ** 9, "GB"), (10 ** 6, "MB"), (10 ** 3, "kB")):
        if count >= size:
            return f"{count / size:.3g} {name}"
    return f"{count} bytes"


def check_room(size, path):
    """Raises OSError if there is no room for a file of that size in the folder of `path`."""
    room = shutil.disk_usage(os.path.dirname(path)).free
    if size > room:
        raise OSError(errno.ENOSPC, f"the download has {size_text(size)}, but only {size_text(room)} are free", path)


class Server:
    """A server; timeout: seconds for each answer; tries: number of attempts."""

    def __init__(self, base, timeout=30, tries=5):
        self.base, self.timeout, self.tries = base.rstrip("/"), timeout, tries
        self._opener = _opener()

    def url(self, path):
        return f"{self.base}/{urllib.parse.quote(path)}"

    def _open(self, url, method="GET", headers=()):
        """The answer, whatever its code. Raises _Cut, DownloadError."""
        request = urllib.request.Request(url, method=method, headers={
            "User-Agent": "spmm_mpi-matrices-get", "Accept-Encoding": "identity", **dict(headers)})
        try:
            return self._opener.open(request, timeout=self.timeout)
        except urllib.error.HTTPError as error:
            if "would lead to an infinite loop" in str(error.msg):
                raise DownloadError(f"{url}: found redirections in a circle") from None
            return error
        except urllib.error.URLError as error:
            reason = error.reason
            if isinstance(reason, ssl.SSLError) and not isinstance(reason, (socket.timeout, ssl.SSLEOFError)):
                raise DownloadError(f"{url}: {reason}") from None
            if isinstance(reason, str):  # an address of another protocol
                raise DownloadError(f"{url}: {reason}") from None
            raise _Cut(_reason(reason, self.timeout)) from None
        except (OSError, http.client.HTTPException) as error:
            raise _Cut(_reason(error, self.timeout)) from None
        except ValueError as error:  # a redirection to an invalid address
            raise DownloadError(f"{url}: {str(error)[:SHOWN]}") from None

    def _again(self, url, attempt):
        """Calls attempt() until it succeeds, and returns its result. attempt.have: number of bytes received so far."""
        tried, wait = 0, FIRST_WAIT
        while True:
            before = attempt.have
            try:
                return attempt()
            except _Cut as cut:
                tried += 1
                if attempt.have - before >= ENOUGH:
                    tried, wait = 1, FIRST_WAIT
                if tried >= self.tries:
                    times = f" ({tried} attempts)" if tried > 1 else ""
                    raise DownloadError(f"{url}: {cut}{times}") from None
                time.sleep(wait if cut.wait is None else min(cut.wait, LONGEST_WAIT))
                wait = min(2 * wait, LONGEST_WAIT)

    def size(self, path):
        """The size of the file in bytes, as the server reports it; None: it does not."""
        url = self.url(path)

        def attempt():
            with self._open(url, "HEAD") as answer:
                if answer.code in (403, 405, 501):
                    return None
                _check_code(url, answer)
                return _whole(answer.headers.get("Content-Length"))
        attempt.have = 0
        return self._again(url, attempt)

    def get(self, path, part, name):
        """Downloads into the part file. What an earlier attempt left in it is kept if the server's ETag or date shows
        that the file is the same. Raises DownloadError, and leaves the part file; OSError of the disk, and removes it."""
        attempt = _Attempt(self, self.url(path), part, name)
        try:
            self._again(attempt.url, attempt)
        except OSError:
            attempt.drop()
            raise
        finally:
            attempt.progress.end()
        attempt.forget()


class _Attempt:
    """One file that is being downloaded. A note file beside the part file has its URL and its validator: ETag or date."""

    def __init__(self, server, url, part, name):
        self.server, self.url, self.part, self.note = server, url, part, part + ".from"
        self.progress, self.have = Progress(name), 0

    def forget(self):
        _remove(self.note)

    def drop(self):
        _remove(self.part)
        self.forget()
        self.have = 0

    def _noted(self):
        """The validator of the part file; None: there is nothing to continue."""
        try:
            with open(self.note, encoding="utf-8") as file:
                note = json.load(file)
            if note["url"] == self.url and isinstance(note["validator"], str):
                return note["validator"]
        except (OSError, ValueError, KeyError, TypeError):
            pass
        return None

    def __call__(self):
        validator = self._noted()
        self.have = os.path.getsize(self.part) if validator and os.path.exists(self.part) else 0
        headers = {"Range": f"bytes={self.have}-", "If-Range": validator} if self.have else {}
        with self.server._open(self.url, headers=headers) as answer:
            if answer.code == 416 and self.have:  # longer than the file, or complete
                whole = self.have == _whole(answer.headers.get("Content-Range", "").rpartition("/")[2])
                if whole and validator in (answer.headers.get("ETag"), answer.headers.get("Last-Modified")):
                    return
                self.drop()
                raise _Cut("the file has changed on the server")
            _check_code(self.url, answer)
            total = self._begin(answer)
            self._copy(answer, total)
        if total is not None and self.have < total:
            raise _Cut(f"the connection ended after {self.have} of {total} bytes")

    def _begin(self, answer):
        """Empties the part file unless the answer continues it. Returns the size of the whole file, or None."""
        length = _whole(answer.headers.get("Content-Length"))
        if answer.code == 206:
            found = re.fullmatch(r"bytes (\d{1,18})-\d{1,18}/(\d{1,18}|\*)", answer.headers.get("Content-Range", ""))
            if not found or int(found[1]) != self.have:
                self.drop()
                found = answer.headers.get("Content-Range", "none")[:SHOWN]
                raise _Cut(f"found Content-Range {found}, expected one from {self.have}")
            return None if length is None else self.have + length
        self.have = 0
        etag, date = answer.headers.get("ETag", ""), answer.headers.get("Last-Modified")
        validator = etag if etag.startswith('"') else date  # a weak tag does not promise the same bytes
        self.forget()
        with open(self.part, "wb"):
            pass
        if length is not None:
            check_room(length, self.part)
        if validator:
            with open(self.note, "w", encoding="utf-8") as file:
                json.dump({"url": self.url, "validator": validator}, file)
        return length

    def _copy(self, answer, total):
        with open(self.part, "ab") as file:
            while True:
                try:
                    data = answer.read(CHUNK)
                except (OSError, http.client.HTTPException) as error:
                    raise _Cut(_reason(error, self.server.timeout)) from None
                if not data:
                    return
                file.write(data)
                file.flush()
                self.have += len(data)
                self.progress.show(self.have, total)


def _whole(text):
    return int(text) if text and re.fullmatch(r"[0-9]{1,18}", text) else None


def _check_code(url, answer):
    """Raises _Cut for a status code that may change soon (BUSY), DownloadError for other errors."""
    if answer.code in (200, 206):
        return
    said = f"HTTP {answer.code} {(answer.reason or '')[:SHOWN]}".rstrip()
    if answer.code in BUSY:
        raise _Cut(said, _whole(answer.headers.get("Retry-After")))
    raise DownloadError(f"{url}: {said}", missing=answer.code in (404, 410))


def _reason(error, timeout):
    if isinstance(error, (socket.timeout, TimeoutError)):
        return f"no answer within {timeout:g} seconds"
    if isinstance(error, http.client.IncompleteRead):
        return "the connection ended early"
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__)[:SHOWN]


def _remove(path):
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
