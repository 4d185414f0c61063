#!/bin/bash
# Products with fewer columns than the plan's K, on GPUs (test_widths.c): on one rank, and on ranks that
# have a GPU each or share one.
# limit: 600
. tests/lib.sh

on_gpus "products of fewer columns on GPUs have the bits of plans for these" "1 2 3" "$BUILD/tests/test_widths" --cuda
finish
