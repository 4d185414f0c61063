#!/bin/bash
# The adaptors of bench_cpu compile for the libraries that this machine has, and their products are right.
# limit: 480
. tests/lib.sh
cuda=0
case $BUILD in *cuda) cuda=1 ;; *asan* | *tsan*) skip "adaptors compile" "not with sanitizers"; finish ;; esac
scratch
build() { make NO_DEPS=1 V=0 CUDA=$cuda MPICC="$MPICC" PYTHON="$PYTHON" WERROR=1 "$@"; }
ok "bench_cpu builds" build BUILDDIR="$(dirname "$BUILD")" "$BUILD/bench/bench_cpu"
mkdir "$scratch/bench" && cp "$BUILD/bench/bench_cpu" "$scratch/bench/" || finish
# without optimization, as Kokkos takes minutes with it
ok "adaptors to all libraries that are found compile without a warning" build -j2 OPT=-O0 BUILDDIR="$scratch/build" \
    MKL_DIR="${MKLROOT:-$(realpath -m "$BUILD/../peers/mkl")}" bench-cpu-adaptors
[ ! -d "$scratch"/build/*/peers ] || ln -s "$scratch"/build/*/peers "$scratch/peers"
out=$("$scratch/bench/bench_cpu" -t 2 -r 2 -k 1,4 lap2d5:20 2>&1; echo "exit status $?")
names=$(sed -n 's/^BENCH_PEERS := //p' mk/bench.mk)
for name in $names; do
    if [[ $out == *"not found: $name ("* ]]; then
        skip "products by $name are right" "there is no $name here"
    else
        # after K = 4; the blank keeps kokkos from matching kokkos-blocks
        ok "products by $name are right" grep -q "^  $name .* [0-9.]*e[-+][0-9]* " <<<"${out#*K = 4}"
    fi
done
text "none of them is wrong or fails" "exit status 0" "$out"
finish
