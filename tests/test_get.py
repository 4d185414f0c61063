"""matrices/get and name: in study files, with a server on the loopback that imitates the collection and its
errors.
limit: 300"""
import email.message
import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import threading
import time
import urllib.request

import collection_server as served
from command import PROGRAM, ROOT, equal, finish, patience, scratch, skip, test, within
from collection_server import INDEX, archive, cut, length, matrix, member

sys.path.insert(0, str(ROOT / "jobs"))
from spmm_study import collection, download, names  # noqa: E402

SERVER = served.Server()
SERVER.silence = threading.Event()
SERVER.add("HB/one", matrix(50))
SERVER.add("HB/twice", matrix(60))
SERVER.add("Other/twice", matrix(70))
BIG, OTHER = matrix(200000, "one"), matrix(200000, "two")  # 4 MB each


def stored(text):
    """big.tar.gz without compression, so that texts of equal length give archives of equal length."""
    return gzip.compress(archive([member("big/big.mtx", data=text)], plain=True), 0)


SERVER.files["/MM/HB/big.tar.gz"] = stored(BIG)
SERVER.index("HB/one", "HB/twice", "Other/twice", "HB/big")
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
ENVIRONMENT["SPMM_COLLECTION"] = SERVER.url
caches = 0


def cache():
    """The path of a new cache folder."""
    global caches
    caches += 1
    return scratch(f"cache {caches}")


def words(*args):
    return [sys.executable, str(ROOT / "matrices/get"), *map(str, args)]


class Fork:
    """A process without threads that has imported the command's modules, and forks for each run: starting Python a
    hundred times would take half a minute."""
    SOURCE = """
import json, os, signal, sys
from spmm_study import commands, get_command
for line in sys.stdin:
    args, out, err = json.loads(line)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        sys.argv = ["matrices/get", *args]
        for number, path in ((0, os.devnull), (1, out), (2, err)):
            os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o666), number)
        try:
            code = commands.run("get")
        except SystemExit as end:
            code = end.code
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    print(os.waitpid(child, 0)[1], flush=True)
"""

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, "-c", self.SOURCE], stdin=subprocess.PIPE, text=True,
                                        stdout=subprocess.PIPE, env={**ENVIRONMENT, "PYTHONPATH": str(ROOT / "jobs")})

    def run(self, args):
        """(exit code, or the negative number of a signal; output; errors)"""
        print(json.dumps([args, scratch("out"), scratch("err")]), file=self.process.stdin, flush=True)
        status = int(self.process.stdout.readline())
        return os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status), text_of("out"), text_of("err")


def text_of(name):
    with open(scratch(name), encoding="utf-8") as file:
        return file.read()


FORK = Fork()


def get(folder, *args):
    """(exit code, output, errors) of matrices/get. Clears the server's log first."""
    SERVER.log.clear()
    code, out, err = FORK.run(["--cache", folder, *map(str, args)])
    assert "Traceback" not in err, err
    return code, out, err


def refused(expected_code, text, folder, *args):
    code, out, err = get(folder, *args)
    errors = [line for line in err.splitlines() if line.startswith("get: error: ")]
    equal((code, len(errors)), (expected_code, 1), err)
    within(errors[0], text)
    equal(leftovers(folder), [], err)


def leftovers(folder):
    return [name for _, folders, files in os.walk(folder) for name in folders + files
            if name.endswith((".part", ".from", ".lock", ".unpacked"))]


def read(path):
    with open(path, "rb") as file:
        return file.read()


def faults(name, *those):
    SERVER.faults[f"/MM/{name}.tar.gz"] = list(those)


# ---- downloads ----

with test("a matrix is fetched, unpacked with what lies beside it, noted, and from then on taken from the cache"):
    folder = cache()
    code, out, err = get(folder, "HB/one")
    path = os.path.join(folder, "HB/one/one.mtx")
    equal((code, read(path), sorted(os.listdir(os.path.dirname(path)))), (0, matrix(50), ["one.mtx", "one_b.mtx"]), err)
    within(out, f"HB/one: {path}, ")
    note, = names.read_list(os.path.join(folder, "checksums.txt"))
    equal(note[:3], ("HB/one", collection.sha256_of(path), len(matrix(50))))
    equal(get(folder, "--print", "HB/one"), (0, path + "\n", ""))
    equal((SERVER.log, leftovers(folder)), ([], []))

with test("a name alone is looked up in the index, which is kept; one of several groups lists them"):
    folder = cache()
    code, out, err = get(folder, "--print", "one")
    equal((code, out, len(SERVER.gets(INDEX))), (0, os.path.join(folder, "HB/one/one.mtx") + "\n", 1), err)
    refused(2, "twice is in 2 groups: expected one of HB/twice, Other/twice", folder, "twice")
    equal(SERVER.log, [])
    equal(read(get(folder, "--print", "Other/twice")[1].strip()), matrix(70))

with test("a name that there is none of is exit code 3 with the ones that may have been meant"):
    folder = cache()
    refused(3, "HB/onne: the collection has no such matrix; did you mean HB/one?", folder, "HB/onne")
    refused(3, "twize: the collection has no such matrix; did you mean ", folder, "twize")
    for bad in ("../etc", "HB/..", "HB/one/one", "", "HB/a b", "-x/y"):
        refused(2, "expected GROUP/NAME or NAME", folder, "--", bad)
    equal(get(folder)[0], 2)
    for address in ("ftp://127.0.0.1/", "127.0.0.1", "http://127.0.0.1:99999", "http://a b/", "http://a:b@c/",
                    "http://\u00fc/", "http://[/", "http:///MM"):
        refused(2, "address of the collection: ", folder, "one", f"--from={address}")
    equal(get(folder, "one", "--tries", "0")[0], 2)

with test("an index that lacks a name is asked for anew once it is a day old"):
    folder = cache()
    SERVER.index("HB/one")
    equal(get(folder, "one")[0], 0)
    SERVER.index("HB/one", "HB/twice", "Other/twice", "HB/big")
    refused(3, "no such matrix", folder, "big")
    equal(len(SERVER.gets(INDEX)), 0)
    os.utime(os.path.join(folder, "ssstats.csv"), (0, time.time() - 2 * 24 * 3600))
    equal((get(folder, "big")[0], len(SERVER.gets(INDEX))), (0, 1))

with test("--list takes a file's names and checksums, --to has links, --dry-run the sizes; errors name file and line"):
    folder, to = cache(), scratch("to")
    listed = scratch("some.txt", "# two\nHB/one\n\nHB/big  # and another\n")
    code, out, err = get(folder, "--list", listed, "--dry-run")
    equal(code, 0, err)
    within(out, f"HB/one, 50 x 50, 50 entries: {len(SERVER.files['/MM/HB/one.tar.gz'])} bytes to download\n")
    within(out, "2 matrices, ")
    equal(sorted({m for m, _, _ in SERVER.log}), ["GET", "HEAD"])
    equal(SERVER.gets("/MM/HB/one.tar.gz"), [])
    code, out, err = get(folder, "--list", listed, "--to", to, "--print")
    equal((code, out.split("\n")[:2]), (0, [f"{to}/one.mtx", f"{to}/big.mtx"]), err)
    assert os.path.samefile(f"{to}/one.mtx", os.path.join(folder, "HB/one/one.mtx"))
    within(get(folder, "--list", listed, "--dry-run")[1], "2 matrices, 0 bytes to download")
    equal(get(folder, "HB/twice", "--to", to)[0], 0)
    refused(4, "a different file of that name exists", folder, "Other/twice", "--to", to)
    for line in ("one", "HB/one sha256=12", "HB/one md5=1", "HB/one bytes=1 bytes=1"):
        refused(3, "bad.txt:2: found", folder, "--list", scratch("bad.txt", f"# bad\n{line}\n"))
    refused(2, "there is no list nix; there are: ", folder, "--list", "nix")
    refused(3, "none.txt: No such file", folder, "--list", "none.txt")

with test("a list that is what a fetch writes is refused before anything is fetched, by any name of it"):
    folder, to = cache(), scratch("to-list")
    os.makedirs(os.path.join(folder, "HB"))
    os.makedirs(to)
    for place in (os.path.join(folder, "HB/one.tar.gz.part"), os.path.join(to, "one.mtx")):
        with open(place, "w", encoding="utf-8") as file:
            file.write("HB/one\n")
        os.link(place, place + ".txt")
        os.symlink(place, place + ".soft.txt")
        for name in (place + ".txt", place + ".soft.txt", os.path.join(os.path.dirname(place), ".", os.path.basename(place) + ".txt")):
            code, out, err = get(folder, "--list", name, "--to", to)
            equal((code, out, len(err.splitlines()), SERVER.log), (2, "", 1, []), err)
            within(err, "which would be lost")
        equal(open(place, encoding="utf-8").read(), "HB/one\n")
        os.unlink(place)

with test("every list of matrices/lists can be read, names no matrix twice, and says what it is for"):
    lists = sorted((ROOT / "matrices/lists").glob("*.txt"))
    assert len(lists) > 3
    for path in lists:
        items = names.read_list(str(path))
        equal(len({item.name for item in items}), len(items), path)
        assert items and path.read_text().startswith("# "), path

with test("what the list small pins is what lies in matrices/, and another matrix of such a name is refused"):
    folder, pins = cache(), {item.name: item.sha256 for item in names.read_list(names.list_path("small"))}
    for name, sha256 in pins.items():
        path = str(ROOT / "matrices" / f"{name.split('/')[1]}.mtx")
        text = read(path) if os.path.exists(path) else gzip.decompress(read(path + ".gz"))
        equal(sha256, None if name == "HB/bcsstk16" else hashlib.sha256(text).hexdigest(), name)
    SERVER.add("HB/nos4", matrix(50))
    refused(3, f"expected {pins['HB/nos4']} as {names.list_path('small')}:3 says", folder, "HB/nos4")
    SERVER.add("HB/nos4", read(ROOT / "matrices/nos4.mtx"))
    equal(get(folder, "HB/nos4")[0], 0)

# ---- connections ----

with test("a download that is cut off goes on where it stopped, by itself"):
    folder = cache()
    faults("HB/big", cut(1000000))
    code, out, err = get(folder, "HB/big")
    equal((code, read(os.path.join(folder, "HB/big/big.mtx")) == BIG), (0, True), err)
    equal([r for _, _, r in SERVER.log], [None, "bytes=1000000-"])

with test("and in another run; a file that changed meanwhile begins anew, as does one on a server without ranges"):
    for tags, ranges, change, expected in (("strong", True, False, 1), ("date", True, False, 1),
                                           ("weak", True, False, 0), ("strong", False, False, 1),
                                           ("strong", True, True, 1)):
        folder = cache()
        SERVER.tags, SERVER.ranges, before = tags, ranges, SERVER.files["/MM/HB/big.tar.gz"]
        faults("HB/big", cut(1000000))
        code, _, err = get(folder, "--tries", "1", "HB/big")
        equal(code, 4, err)
        within(err, f"the connection ended after 1000000 of {len(before)} bytes")
        if change:
            SERVER.files["/MM/HB/big.tar.gz"] = stored(OTHER)
        code, _, err = get(folder, "HB/big")
        equal(code, 0, err)
        assert read(os.path.join(folder, "HB/big/big.mtx")) == (OTHER if change else BIG), (tags, ranges, change)
        equal(len([r for _, _, r in SERVER.log if r]), expected, (tags, ranges, change))
        equal(leftovers(folder), [])
        SERVER.tags, SERVER.ranges, SERVER.files["/MM/HB/big.tar.gz"] = "strong", True, before

with test("a part file that is as long as the file, and one that is longer, come out right"):
    for more in (b"", b"more"):
        folder, data = cache(), SERVER.files["/MM/HB/big.tar.gz"]
        faults("HB/big", cut(1000))
        equal(get(folder, "--tries", "1", "HB/big")[0], 4)
        with open(os.path.join(folder, "HB/big.tar.gz.part"), "wb") as file:
            file.write(data + more)
        code, _, err = get(folder, "HB/big")
        equal((code, read(os.path.join(folder, "HB/big/big.mtx")) == BIG), (0, True), err)

with test("a Content-Length that is too long or too short is an error, none at all is not"):
    size = len(SERVER.files["/MM/HB/one.tar.gz"])
    folder = cache()
    faults("HB/one", *[length(size + 5)] * 2)
    code, _, err = get(folder, "--tries", "2", "HB/one")
    equal(code, 4, err)
    within(err, f"the connection ended after {size} of {size + 5} bytes (2 attempts)")
    folder = cache()
    faults("HB/one", length(size - 5))
    refused(3, "damaged or cut off", folder, "HB/one")
    faults("HB/one", length(None))
    equal(get(folder, "HB/one")[0], 0)

with test("HTTP 500 and 503 are tried again, with Retry-After; other refusals are not"):
    folder = cache()
    faults("HB/one", served.code(500), served.code(503, Retry_After="0"))
    code, _, err = get(folder, "HB/one")
    equal((code, len(SERVER.log)), (0, 3), err)
    folder = cache()
    faults("HB/one", *[served.code(502)] * 2)
    refused(4, "HTTP 502 Bad Gateway (2 attempts)", folder, "HB/one", "--tries", "2")
    faults("HB/one", served.code(403))
    refused(4, "HTTP 403", folder, "HB/one")
    faults("HB/one", served.code(404))
    refused(3, "HTTP 404 Not Found, though the index names it", folder, "HB/one")

with test("redirections are followed, but not in circles, nor to files"):
    folder = cache()
    faults("HB/one", served.code(301, Location=f"{SERVER.url}/there.tar.gz"))
    SERVER.files["/there.tar.gz"] = SERVER.files["/MM/HB/one.tar.gz"]
    equal((get(folder, "HB/one")[0], read(os.path.join(folder, "HB/one/one.mtx"))), (0, matrix(50)))
    faults("HB/twice", *[served.code(302, Location="/MM/HB/twice.tar.gz")] * 20)
    refused(4, "redirections in a circle", folder, "HB/twice")
    for place in ("file:///etc/passwd", "ftp://127.0.0.1/x"):
        faults("HB/twice", served.code(302, Location=place))
        refused(4, "/MM/HB/twice.tar.gz", folder, "HB/twice", "--tries", "1")
    for place in ("http://[bad", "http://a..b/x"):
        faults("HB/twice", served.code(302, Location=place))
        refused(4, "/MM/HB/twice.tar.gz: ", folder, "HB/twice", "--tries", "1")
    faults("HB/twice")

with test("redirections from https lead to https alone"):
    def redirected(to):
        """The error after a server on https has answered with a redirection to that address."""
        server, headers = download.Server("https://127.0.0.1:9"), email.message.Message()
        headers["Location"] = to
        request = urllib.request.Request("https://127.0.0.1:9/MM/HB/one.tar.gz")
        request.timeout = 1
        try:
            server._opener.error("http", request, io.BytesIO(), 302, "Found", headers)
        except (download.DownloadError, OSError) as error:
            return str(error)
    for to in (SERVER.url + "/MM/HB/one.tar.gz", SERVER.url.replace("http:", "HTTP:") + "/MM/HB/one.tar.gz"):
        SERVER.log.clear()
        within(redirected(to), "https://127.0.0.1:9/MM/HB/one.tar.gz: found a redirection to ")
        equal(SERVER.log, [])
    for to in ("https://127.0.0.1:9/x", "//127.0.0.1:9/x", "/x"):
        within(redirected(to), "Connection refused")

with test("what a server or an archive says is printed without controls"):
    odd, folder = "\x1b[31mred\x07\x9b", cache()

    def said(number):
        return lambda handler, data: (handler.send_response(number, odd), handler.send_header("Content-Length", "0"),
                                      handler.end_headers())
    one, index = SERVER.files["/MM/HB/one.tar.gz"], SERVER.files[INDEX]
    for fault in (said(403), said(503), served.code(302, Location=f"ftp://127.0.0.1/{odd}"),
                  served.code(302, Location=f"http://{odd}/"), served.code(206, Content_Range=odd)):
        faults("HB/one", fault)
        code, _, err = get(folder, "HB/one", "--tries", "1")
        equal((code, re.findall("[\x00-\x09\x0b-\x1f\x7f-\x9f]", err), len(err.splitlines())), (4, [], 2), err)
    SERVER.files["/MM/HB/one.tar.gz"] = archive([member(f"one/{odd}\n", data=b"x")])
    SERVER.files[INDEX] = index.replace(b"HB,one", b"HB,\x1b[31mone")
    for name in ("HB/one", "one"):
        code, _, err = get(folder, name)
        equal((code, re.findall("[\x00-\x09\x0b-\x1f\x7f-\x9f]", err)), (3, []), err)
    SERVER.files["/MM/HB/one.tar.gz"], SERVER.files[INDEX] = one, index

with test("a server that is silent, and one that is not there, are exit code 4"):
    folder = cache()
    faults("HB/one", served.silent)
    refused(4, "no answer within 1 seconds", folder, "HB/one", "--tries", "1", "--timeout", "1")
    SERVER.silence.set()
    refused(4, "127.0.0.1:9", folder, "HB/one", "--tries", "1", "--from", "http://127.0.0.1:9")
    SERVER.faults["/none" + INDEX] = [served.code(500)]
    refused(4, "HTTP 500", folder, "one", "--tries", "1", "--from", SERVER.url + "/none")
    refused(3, "HTTP 404", folder, "one", "--from", SERVER.url + "/none")

# ---- contents of archives ----

with test("an archive that is damaged, cut off, or none, leaves nothing in the cache, and is exit code 3"):
    folder, whole = cache(), SERVER.files["/MM/HB/one.tar.gz"]
    faults("HB/one", served.damaged)
    refused(3, "one.tar.gz: ", folder, "HB/one")
    text = matrix(50)
    plain = archive([member("one/one.mtx", data=text)], plain=True)
    bad = {"cut off": gzip.compress(plain)[:-9], "no gzip file": b"<html>log in</html>",
           "expected one/one.mtx": archive([]), "damaged": gzip.compress(plain[:700]),
           "found other.mtx, expected": archive([member("one/other.mtx", data=text)]),
           "does not begin with %%MatrixMarket": archive([member("one/one.mtx", data=b"<html>")]),
           "not a tar archive": gzip.compress(b"x" * 5000), "expected NAME.tar.gz": b"",
           "a second member": archive([member("one/one.mtx", data=text)] * 2)}
    for said, fields in (("a sparse file", {"GNU.sparse.map": "0,0", "GNU.sparse.size": "4096"}),
                         ("invalid literal", {"GNU.sparse.size": "abc"}),
                         ("headers of more than", {"comment": "x" * 2 ** 20})):
        info, data = member("one/one.mtx", data=text)
        info.pax_headers = fields
        bad[said] = archive([(info, data)])
    for said, data in bad.items():
        SERVER.files["/MM/HB/one.tar.gz"] = data
        refused(3, said, folder, "HB/one")
        assert not os.path.exists(os.path.join(folder, "HB/one")), said
    # bytes after the end of the tar are ignored, but the checksum covers them
    plain += bytes(2 ** 22)
    SERVER.files["/MM/HB/one.tar.gz"] = gzip.compress(plain[:-1] + b"!")[:-8] + gzip.compress(plain)[-8:]
    refused(3, "CRC", folder, "HB/one")
    SERVER.files["/MM/HB/one.tar.gz"] = whole

with test("members that lead out of their folder, links and devices are refused"):
    folder, whole, text = cache(), SERVER.files["/MM/HB/one.tar.gz"], matrix(50)
    good = member("one/one.mtx", data=text)
    for name in ("../one.mtx", "/tmp/one.mtx", "one/../../one.mtx", "one/..", "two/one.mtx", "one.mtx",
                 "one/deep/one.mtx", "one\\..\\x"):
        SERVER.files["/MM/HB/one.tar.gz"] = archive([good, member(name, data=text)])
        refused(3, "expected one/FILE", folder, "HB/one")
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE):
        SERVER.files["/MM/HB/one.tar.gz"] = archive([member("one/x", kind, "/etc/passwd"), good])
        refused(3, "expected a regular file", folder, "HB/one")
    SERVER.files["/MM/HB/one.tar.gz"] = whole
    equal([f for f in os.listdir(folder) if f not in ("HB", "ssstats.csv")], [])

with test("a matrix that comes again and differs is refused, as is one that a list's checksum does not fit"):
    folder, whole = cache(), SERVER.files["/MM/HB/one.tar.gz"]
    path = os.path.join(folder, "HB/one/one.mtx")
    equal(get(folder, "HB/one")[0], 0)
    sha256 = collection.sha256_of(path)
    for old in (path, path.replace("one.mtx", "one_b.mtx")):
        os.unlink(old)
    SERVER.add("HB/one", matrix(50, "x"))
    refused(3, "checksums.txt:1 says: correct or remove that line if the new file is right", folder, "HB/one")
    assert not os.path.exists(path)
    SERVER.add("HB/one", matrix(50).replace(b"7 7 7.5", b"7 7 7.6"))
    refused(3, f"expected {sha256}", folder, "HB/one")
    os.unlink(os.path.join(folder, "checksums.txt"))
    refused(3, "own.txt:1 says", folder, "--list", scratch("own.txt", f"HB/one sha256={sha256}\n"))
    SERVER.files["/MM/HB/one.tar.gz"] = whole
    equal(get(folder, "--list", scratch("own.txt"))[0], 0)
    with open(path, "r+b") as file:
        file.seek(60)
        file.write(b"9")
    equal(get(folder, "HB/one")[0], 0)
    refused(3, "found one.mtx with SHA-256", folder, "--check", "HB/one")
    with open(path, "ab") as file:
        file.write(b"\n")
    refused(3, "bytes, expected", folder, "HB/one")

with test("an index that is cut off or no index is refused, and not kept"):
    folder, whole = cache(), SERVER.files[INDEX]
    for bad, text in ((b"<html>", ":1: found"), (whole[:-60], "ssstats.csv"), (b"", ":1: found"),
                      (whole.replace(b"HB,one,50", b"HB,one,x"), ":3: found"),
                      (whole.replace(b"HB,one", b"..,one"), ":3: found")):
        SERVER.files[INDEX] = bad
        refused(3, text, folder, "one")
        assert not os.path.exists(os.path.join(folder, "ssstats.csv"))
    SERVER.files[INDEX] = whole

with test("a complex matrix is said to need --precision c128"):
    SERVER.add("HB/turning", matrix(5, field="complex"))
    within(get(cache(), "HB/turning")[2], "its values are complex: --precision c128")

# ---- cache ----

with test("--offline takes what is in the cache and asks nobody"):
    folder = cache()
    refused(3, "which has no index", folder, "--offline", "one")
    refused(3, "run matrices/get HB/one", folder, "--offline", "HB/one")
    equal(get(folder, "one")[0], 0)
    for name in ("one", "HB/one"):
        equal(get(folder, "--offline", "--print", name)[:2], (0, os.path.join(folder, "HB/one/one.mtx") + "\n"))
        equal(SERVER.log, [])
    refused(3, "HB/big is not in", folder, "--offline", "big")
    os.unlink(os.path.join(folder, "ssstats.csv"))
    equal(get(folder, "--offline", "--print", "one")[1], os.path.join(folder, "HB/one/one.mtx") + "\n")

with test("two processes at once: one downloads, the other waits, both have it"):
    folder = cache()
    SERVER.log.clear()
    SERVER.gate.clear()
    both = [subprocess.Popen(words("--cache", folder, "HB/one"), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True, env=ENVIRONMENT) for _ in range(2)]
    for _ in range(200):  # until one has sent a request, and the other waits
        if SERVER.log:
            break
        time.sleep(0.05)
    time.sleep(patience(0.7))
    SERVER.gate.set()
    found = [one.communicate(timeout=patience(30)) for one in both]
    equal([one.returncode for one in both], [0, 0], found)
    equal((len(SERVER.log), found[0][0], leftovers(folder)), (1, found[1][0], []))
    within(found[0][1] + found[1][1], "waiting for another process that downloads it")

with test("a process that is killed leaves nothing that keeps the next one from it"):
    folder = cache()
    SERVER.gate.clear()
    SERVER.log.clear()
    one = subprocess.Popen(words("--cache", folder, "HB/one"), stderr=subprocess.DEVNULL, env=ENVIRONMENT)
    while not SERVER.log:
        time.sleep(0.02)
    one.kill()
    one.wait()
    SERVER.gate.set()
    os.makedirs(os.path.join(folder, "HB/one.unpacked"))
    scratch(os.path.join(folder, "HB/one.unpacked/one.mtx"), "half")
    equal(get(folder, "HB/one")[0], 0)
    equal((read(os.path.join(folder, "HB/one/one.mtx")), leftovers(folder)), (matrix(50), []))

with test("the cache is where SPMM_MATRICES, XDG_CACHE_HOME or HOME say, and an error where none does"):
    home = scratch("home")
    for env, expected in (({"SPMM_MATRICES": home + "/m"}, home + "/m"),
                          ({"SPMM_MATRICES": "", "XDG_CACHE_HOME": home + "/x"}, home + "/x/spmm_mpi/matrices"),
                          ({"SPMM_MATRICES": "", "XDG_CACHE_HOME": "relative", "HOME": home},
                           home + "/.cache/spmm_mpi/matrices")):
        found = subprocess.run(words("--print", "HB/one"), capture_output=True, text=True, check=False,
                               env={**ENVIRONMENT, **env})
        equal(found.stdout, f"{expected}/HB/one/one.mtx\n", found.stderr)
    env = {**ENVIRONMENT, "SPMM_MATRICES": scratch("a file", "x") + "/below"}
    found = subprocess.run(words("HB/one"), capture_output=True, text=True, check=False, env=env)
    equal((found.returncode, len(found.stderr.splitlines())), (4, 1), found.stderr)

with test("spmm_mpi does not take the variables for misspelled ones of its own"):
    found = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=False,
                           env={**ENVIRONMENT, "SPMM_MATRICES": "x"})
    equal((found.returncode, found.stderr), (0, ""))


def on_small_disk(kilobytes, *args):
    """(exit code, errors, remaining files) of matrices/get with its cache on a file system of that size; None: none
    can be mounted here."""
    folder = scratch("small")
    os.makedirs(folder, exist_ok=True)
    script = 'mount -t tmpfs -o size="$1" none "$2" || exit 99; shift 2; "$@"; code=$?; find "$CACHE" -type f; exit $code'
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", f"{kilobytes}k", folder,
                           *words("--cache", folder, *args)], capture_output=True, text=True, timeout=patience(60), check=False,
                          env={**ENVIRONMENT, "CACHE": folder})
    return None if done.returncode == 99 or "unshare" in done.stderr else (done.returncode, done.stderr, done.stdout)


SENTENCE = "a disk that becomes full is exit code 4 and one line, and no half file is left"
if os.geteuid() != 0 or on_small_disk(100, "HB/one") is None:
    skip(SENTENCE, "no file system of its own can be mounted here")
else:
    with test(SENTENCE):
        SERVER.files["/MM/HB/dense.tar.gz"] = archive([member("dense/dense.mtx", data=matrix(5) + b"%" * 900000)])
        for name, fault, text in (("HB/big", [], "are free"), ("HB/big", [length(None)], "No space left"),
                                  ("HB/dense", [], "are free")):
            faults(name, *fault)
            code, err, left = on_small_disk(500, name)
            equal((code, left), (4, ""), err)
            within(err.splitlines()[-1], text)

# ---- studies ----

STUDY = "columns = 3\nranks = 1\nthreads = 1\ndevices = cpu\nrounds = 1\nrepeats = 2\n"


def study(text, folder, *options, records="named.jsonl"):
    path = scratch(records)
    launcher = os.environ.get("MPIRUN", "mpirun") + " -np {ranks}"
    done = subprocess.run([sys.executable, str(ROOT / "jobs/study"), "--program", PROGRAM, "--launcher", launcher,
                           "--records", path, *options, scratch("named.study", text)], capture_output=True, text=True,
                          timeout=patience(60), check=False, env={**ENVIRONMENT, "SPMM_MATRICES": folder})
    assert "Traceback" not in done.stderr, done.stderr
    runs = [json.loads(line) for line in open(path, encoding="utf-8")] if os.path.exists(path) else []
    return done.returncode, done.stdout, done.stderr, [r for r in runs if "study" in r]


with test("a study takes name: and list:, fetches before it runs, and its records keep the name"):
    folder = cache()
    text = STUDY + f"matrices = lap2d5:9 name:HB/one name:big list:{scratch('study-list.txt', 'HB/twice' + chr(10))}\n"
    code, out, err, runs = study(text, folder)
    equal((code, [r["study"]["settings"]["matrix"] for r in runs]),
          (0, ["lap2d5:9", "name:HB/one", "name:big", "name:HB/twice"]), err)
    equal([(r["matrix"]["source"], r["matrix"]["rows"]) for r in runs],
          [("lap2d5:9", 81), ("HB/one", 50), ("HB/big", 200000), ("HB/twice", 60)])
    for r in runs[1:]:
        within(r["study"]["point"], r["study"]["settings"]["matrix"])
        equal((r["study"]["command"][-1], folder in str(r)), (r["study"]["settings"]["matrix"], False))
    SERVER.log.clear()
    again = study(text, folder)
    equal((again[0], len(again[3]), SERVER.log), (0, 4, []), again[2])

with test("matrices/get --study fetches what a study names, and nothing of a study without names is asked for"):
    folder = cache()
    code, out, err = get(folder, "--study", scratch("named.study"), "--print")
    equal((code, len(out.splitlines())), (0, 3), err)
    code, out, err, runs = study(STUDY + "matrices = lap2d5:9\n", cache(), "--dry-run", records="none.jsonl")
    equal((code, err), (0, ""))

with test("a name that is none is the line's fault; without a network nothing is recorded, and it says what to do"):
    for word, code, text in (("name:HB/{ranks}", 3, "named.study:7: found the name"),
                             ("name:", 3, "named.study:7: found the name"),
                             ("list:nix", 3, "named.study:7: there is no list nix"),
                             ("name:HB/onne", 3, "did you mean HB/one?"), ("name:twice", 2, "expected one of HB/twice, Other/twice")):
        found = study(STUDY + f"matrices = {word}\n", cache(), records="wrong.jsonl")
        said = [line for line in found[2].splitlines() if line.startswith("study: ")]
        equal((found[0], len(said), found[3]), (code, 1, []), found[2])
        within(found[2], text)
    faults("HB/one", *[served.code(403)] * 2)
    found = study(STUDY + "matrices = name:HB/one\n", cache(), records="wrong.jsonl")
    equal((found[0], found[3]), (4, []))
    within(found[2], "run matrices/get --study")

with test("jobs/submit fetches before it submits, and submits nothing where that fails"):
    faults("HB/one")
    folder, bin_folder = cache(), scratch("bin")
    os.makedirs(bin_folder)
    with open(os.path.join(bin_folder, "sbatch"), "w", encoding="utf-8") as file:
        file.write('#!/bin/sh\necho "$@" >>"$SUBMITTED"; echo 42\n')
    os.chmod(file.name, 0o755)
    site = scratch("site.env", f"SITE_RECORDS={scratch('site-records')}\n")
    env = {**ENVIRONMENT, "SPMM_MATRICES": folder, "SPMM_SITE": site, "SUBMITTED": scratch("submitted"),
           "PATH": bin_folder + ":" + os.environ["PATH"]}

    def submit(word, *options):
        path = scratch("submitted.study", f"columns = 1\nmatrices = lap2d5:9 {word} # name:comment\n")
        done = subprocess.run([str(ROOT / "jobs/submit"), "cpu", "--study", path, *options], capture_output=True,
                              text=True, env=env, check=False, timeout=patience(60))
        return done.returncode, done.stdout + done.stderr
    found = submit("name:HB/one", "--dry-run")
    equal(found[0], 0, found)
    within(found[1], "matrices/get --study ")
    assert not os.path.exists(os.path.join(folder, "HB"))
    found = submit("name:HB/onne")
    equal((found[0], os.path.exists(env["SUBMITTED"])), (3, False), found)
    found = submit("name:HB/one")
    equal((found[0], os.path.exists(os.path.join(folder, "HB/one/one.mtx"))), (0, True), found)
    assert os.path.exists(env["SUBMITTED"])
    assert "matrices/get" not in submit("lap3d7:4", "--dry-run")[1]

FORK.process.stdin.close()
FORK.process.wait()
SERVER.close()
finish()
