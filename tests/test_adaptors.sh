#!/bin/bash
# The adaptors of bench_cpu compile for the libraries that this machine has, and their products are right.
# limit: 120
. tests/lib.sh
case $BUILD in *asan* | *tsan*) skip "adaptors compile" "not with sanitizers"; finish ;; esac
scratch
# make build-tests has built them
built=$(realpath -m "$BUILD/../adaptors")
mkdir "$scratch/bench" && cp "$BUILD/bench/bench_cpu" "$scratch/bench/" || finish
text "adaptors to all libraries that are found compile without a warning" "exit status 0" "$(cat "$built/log" 2>&1)"
[ ! -d "$built/${BUILD##*/}/peers" ] || ln -s "$built/${BUILD##*/}/peers" "$scratch/peers"
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
