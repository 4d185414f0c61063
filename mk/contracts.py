#!/usr/bin/env python3
"""make lint: how many prototypes in headers have a contract, a comment directly above them. Exit status 1 unless all public
ones (include/) and 95 % of the others do."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PRIVATE_SHARE = 0.95


def prototypes(text):
    """(line number, name, whether a comment ends directly above) of each function that the header declares or defines."""
    text = re.sub(r"^#.*(?:\\\n.*)*", lambda m: "\n" * m[0].count("\n"), text, flags=re.M)
    for m in re.finditer(r"^(?:static inline )?(?:const )?\w[\w *]*?[ *](\w+)\((?:[^(){};]|\([^()]*\))*\)(?:\s*SP_PRINTF\([^)]*\))?(?:;|\s*\{)",
                         text, re.M):
        if m[0].startswith(("typedef", "return", "else")):
            continue
        above = text[:m.start()].rstrip(" ")
        yield text.count("\n", 0, m.start()) + 1, m[1], above.endswith("*/\n")


def main():
    failed = 0
    for what, folders, share in (("public", ["include"], 1), ("private", ["src", "contrib", "kernels"], PRIVATE_SHARE)):
        found = [(path.relative_to(ROOT), *p) for folder in folders for path in sorted((ROOT / folder).rglob("*.h"))
                 for p in prototypes(path.read_text())]
        without = [f for f in found if not f[3]]
        told = len(found) - len(without)
        print(f"lint: contracts: {told} of {len(found)} {what} prototypes ({100 * told / len(found):.1f} %)")
        if told < share * len(found):
            failed = 1
            print("\n".join(f"{path}:{line}: {name} has no comment of its own" for path, line, name, _ in without))
    return failed


sys.exit(main())
