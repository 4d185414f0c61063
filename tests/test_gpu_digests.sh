#!/bin/bash
# Y on GPUs has the digests of tests/digests.txt: on one rank, and on ranks that have a GPU each
# or share one.
# limit: 300
. tests/lib.sh

on_gpus "Y on GPUs has the bits that tests/digests.txt has of it" "1 2 3 4 6" "$BUILD/tests/test_digests" --cuda
finish
