#!/bin/bash
# Random products by the library on GPUs, each compared with exact arithmetic (test_differential.c): on one
# rank, and on ranks that have a GPU each or share one. limit: 300
. tests/lib.sh

on_gpus "random products on GPUs come to what exact arithmetic says" "1 2 3" "$BUILD/tests/test_differential" --cuda --cases 60
finish
