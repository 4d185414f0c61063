#!/bin/sh
# Installs MKL from PyPI's wheels into $MKL_DIR, for the benches only: shared objects and headers. (Debian's
# MKL is old.) Leaves out the Intel OpenMP that pip would add, because the benches use GNU's. --there:
# installs nothing; exit status 0 if MKL is there, or is not made for this machine.
MKL_DIR=${MKL_DIR:-build/peers/mkl}
[ "$(uname -m)" != x86_64 ] || [ -f "$MKL_DIR/include/mkl_spblas.h" ] && exit 0
[ "$1" != --there ] || exit 1

log=$(mktemp) && wheels=$(mktemp -d) || exit 1
trap 'rm -rf "$log" "$wheels"' EXIT
for p in "${PYTHON:-python3}" python3 /usr/bin/python3; do
    $p -m pip --version >/dev/null 2>&1 || continue
    echo "bench-cpu-deps: installing MKL into $MKL_DIR (pip download)"
    $p -m pip download -q --no-deps --only-binary :all: -d "$wheels" mkl mkl-include >"$log" 2>&1 || break
    for wheel in "$wheels"/*.whl; do $p -m zipfile -e "$wheel" "$wheels/all" || break 2; done
    rm -rf "$MKL_DIR"
    mkdir -p "$MKL_DIR" && cp -r "$wheels"/all/*.data/data/* "$MKL_DIR" && exit 0
done
cat "$log" >&2
echo "bench-cpu-deps: could not install MKL" >&2
exit 1
