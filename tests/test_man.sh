#!/bin/bash
# The man pages: groff has no warnings; the library's page has each function and type of the headers, and a
# program that works.
. tests/lib.sh
scratch
page=$scratch/spmm.3
ok "the library's man page is made of the headers" sh -c "awk -f mk/man.awk docs/spmm.3.in >$page"
missing=
functions=$(sed -n 's/^[a-z].*[ *]\(spmm_[a-z_0-9]*\)(.*/\1/p' include/spmm.h include/spmm_types.h include/spmm_extended.h)
types=$(sed -n 's/^} \(spmm_[a-z_]*\);$/\1/p; s/^typedef.*[ }]\(spmm_[a-z_]*\);$/\1/p' include/spmm.h include/spmm_types.h include/spmm_extended.h)
for name in $functions $types; do grep -qx "\.SS $name" "$page" || missing+=" $name"; done
# (at least 27, in case the patterns above find too few)
ok "it has a section for every function and type" test -z "$missing" -a "$(wc -w <<<"$functions $types")" -ge 27
# a section has a text after the prototype
bare=$(awk '/^\.S[SH] / { if (name != "" && !text) print name; name = ""; text = 0 }
    /^\.SH / { functions = $2 == "FUNCTIONS" }
    /^\.SS / { name = functions ? $2 : "" }
    /^\.EE/ { after = 1; next }
    /^\.EX/ { after = 0 }
    after && /^[A-Z]/ { text = 1 }' "$page")
text "and a text for every function" "[]" "[$bare]"
missing=
for name in $(sed -n 's/^    S(\(SPMM_[A-Z_]*\),.*/\1/p' include/spmm_types.h); do grep -qx "\.B $name" "$page" || missing+=" $name"; done
ok "and every status" test -z "$missing"
missing=
for name in $(sed -n 's/^    {"\(SPMM_[A-Z_]*\)".*/\1/p' src/base/environment.c | grep -vx SPMM_TILE_EDGE) OMP_NUM_THREADS; do
    grep -qx "\.B $name" "$page" || missing+=" $name"
done
ok "and every variable of the environment that the library reads" test -z "$missing"
text "and the version" "\"spmm_mpi $(sed -n 's/^.define SPMM_VERSION "\(.*\)"/\1/p' include/spmm_types.h)\"" "$(grep '^\.TH' "$page")"
ok "no line of the template is left" sh -c "! grep -n '^@' $page"
if command -v groff >/dev/null; then
    for file in "$page" docs/spmm_mpi.1 docs/series_mpi.1; do
        text "groff has no warning about ${file##*/}" "[]" "[$(groff -man -ww -Tutf8 "$file" 2>&1 >/dev/null)]"
    done
else
    skip "groff has no warning about the man pages" "no groff"
fi

case $BUILD in *asan* | *tsan*) skip "the page's example works" "not with sanitizers"; finish ;; esac
# as a reader copies it
awk '/^\.SH/ { inside = $2 == "EXAMPLES" } /^\.EE/ { copy = 0 } inside && copy { print } /^\.EX/ { copy = 1 }' "$page" |
    sed 's/\\-/-/g; s/\\e/\\/g; s/^\\&//' >"$scratch/product.c"
ok "the page's example is the source as it was" cmp "$scratch/product.c" examples/product.c
ok "it compiles" $MPICC -std=c11 -Wall -Wextra -Werror -Iinclude "$scratch/product.c" -o "$scratch/product" \
    -L"$BUILD" -lspmm -Wl,-rpath,"$(realpath "$BUILD")"
# sum of Y: the 5-point Laplacian of 8 x 8 points sums to 32, times 1 + 2 + 3 + 4 for the columns of X
for ranks in 1 2 4; do
    text "and runs on $ranks rank$([ $ranks = 1 ] || echo s)" "[$ranks ranks, sum 320]" \
        "[$($MPIRUN -np $ranks "$scratch/product" 2>&1 | awk '{ n++; sum += $NF } END { print n " ranks, sum " sum }')]"
done
sed -n '/^ \* *\\code$/,/^ \* *\\endcode$/{/code$/!s/^ \*//p}' include/spmm.h >"$scratch/first.c"
ok "the program at the beginning of spmm.h compiles" $MPICC -std=c11 -Wall -Wextra -Werror -Iinclude -c "$scratch/first.c" -o "$scratch/first.o"
text "an error is told" "product: " "$($MPIRUN -np 2 "$scratch/product" nothing:3 2>&1)"
finish
