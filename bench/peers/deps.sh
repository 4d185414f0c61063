#!/bin/sh
# Installs what the adaptors of this folder need and this machine lacks: packages of Debian 12 and Ubuntu 24.04
# by apt-get; MKL, which Debian has in an old version only, from PyPI's wheels into $MKL_DIR, for nobody else.
# Each library may be missing: bench_cpu does without. Exit status 1 when one still is.
#
# THE list: package, and a command that succeeds when it is there.
list() {
    cat <<'LIST'
g++                            command -v g++
pkg-config                     command -v pkg-config
libtrilinos-kokkos-dev         header -I/usr/include/trilinos Kokkos_Core.hpp
libtrilinos-kokkos-kernels-dev header -I/usr/include/trilinos KokkosKernels_config.h
libeigen3-dev                  header -I/usr/include/eigen3 Eigen/SparseCore
libgraphblas-dev               header -I. GraphBLAS.h
librsb-dev                     header -I. rsb.h
libpetsc-real-dev              pkg-config --exists petsc || pkg-config --exists PETSc
python3-scipy                  for p in "$PYTHON" python3 /usr/bin/python3; do $p -c 'import scipy.sparse' && exit 0; done; false
python3-pip                    has_mkl || { for p in "$PYTHON" python3 /usr/bin/python3; do $p -m pip --version && exit 0; done; false; }
LIST
}
PYTHON=${PYTHON:-python3}
MKL_DIR=${MKL_DIR:-build/peers/mkl}

# header FLAG NAME: a file of that name is where the compiler looks
header() { echo "#if !__has_include(<$2>)
#error
#endif" | g++ "$1" -fsyntax-only -x c++ -; }
has_mkl() { [ "$(uname -m)" != x86_64 ] || [ -f "$MKL_DIR/include/mkl_spblas.h" ]; }

find_missing() {
    missing=
    while read -r package check; do
        (eval "$check") >/dev/null 2>&1 || missing="$missing $package"
    done <<EOT
$(list)
EOT
}

log=$(mktemp) && wheels=$(mktemp -d) || exit 1
trap 'rm -rf "$log" "$wheels"' EXIT
sudo=
[ "$(id -u)" = 0 ] || sudo=sudo
install() {
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" >"$log" 2>&1
}

# all in one go, or, where one of them is unknown, those that there are
install_packages() {
    install "$@" && return
    $sudo apt-get update -q >"$log" 2>&1
    install "$@" && return
    for package in "$@"; do
        install "$package" || {
            tail -3 "$log" >&2
            echo "bench-cpu-deps: apt-get could not install $package" >&2
        }
    done
}

# the shared objects and headers of two wheels; not the Intel OpenMP that pip would add, as this process has
# GNU's
install_mkl() {
    for p in "$PYTHON" python3 /usr/bin/python3; do
        $p -m pip --version >/dev/null 2>&1 || continue
        echo "bench-cpu-deps: installing MKL into $MKL_DIR (pip download)"
        $p -m pip download -q --no-deps --only-binary :all: -d "$wheels" mkl mkl-include >"$log" 2>&1 || break
        for wheel in "$wheels"/*.whl; do $p -m zipfile -e "$wheel" "$wheels/all" || break 2; done
        rm -rf "$MKL_DIR"
        mkdir -p "$MKL_DIR" && cp -r "$wheels"/all/*.data/data/* "$MKL_DIR" && return
    done
    cat "$log" >&2
    echo "bench-cpu-deps: could not install MKL" >&2
}

find_missing
if [ -n "$missing" ]; then
    if command -v apt-get >/dev/null && { [ -z "$sudo" ] || command -v sudo >/dev/null; }; then
        echo "bench-cpu-deps: installing$missing (${sudo:+sudo }apt-get)"
        install_packages $missing
    else
        echo "bench-cpu-deps: missing:$missing; load or build them, or have the administrator install them" >&2
    fi
fi
has_mkl || install_mkl
find_missing
has_mkl || missing="$missing MKL"
[ -z "$missing" ] || echo "bench-cpu-deps: still missing:$missing" >&2
[ -z "$missing" ]
