#!/bin/bash
# The build itself, on a copy of the tree in a folder whose name has a space: it builds what is out of date,
# and nothing else.
# limit: 900
. tests/lib.sh
# the variables of `make check` do not apply here
unset SERIES BASELINE PEERS
scratch
mkdir "$scratch/my tree" && cp -r Makefile mk include src contrib fortran kernels tests "$scratch/my tree/" || exit 1
cd "$scratch/my tree" || exit 1
# a small build without optimization, which is quick
build() { make -j "$(nproc)" NO_DEPS=1 V=0 BUILDDIR=build CUDA=0 PEERS=0 OPT=-O0 "$@" 2>&1; }
# fails SENTENCE TEXT COMMAND...: passes where the command fails, and its output contains TEXT
fails() {
    local out
    if out=$("${@:3}" 2>&1); then fail "$1"; else text "$1" "$2" "$out"; fi
}

out=$(build) || { printf '%s\n' "$out"; fail "make builds a fresh copy of the tree"; finish; }
pass "make builds a fresh copy of the tree"
ok "make leaves ./spmm_mpi as a link into build/" test "$(readlink spmm_mpi)" = build/cpu/spmm_mpi

# work OUTPUT: number of steps in the output of a build
work() { grep -c -E '^  (CC|AR|LD|NVCC) ' <<<"$1"; }
ok "a second make does nothing" test "$(work "$(build)")" = 0

touch src/io/numparse.h
out=$(build)
ok "a touched header rebuilds what includes it" grep -q "CC *src/io/numparse.c" <<<"$out"
touch include/spmm_types.h
out=$(build)
ok "a touched public header rebuilds the kernels" grep -q 'CC *kernels/' <<<"$out"
touch kernels/kernels.def
ok "a touched table of kernels rebuilds the files that name kernels" \
    test "$(build | sed -n 's/^  CC *//p' | sort | paste -sd ' ')" = "kernels/no_cuda.c kernels/registry.c"
touch tests/test.h
ok "a touched test header rebuilds no source of the library" test "$(build | grep -c 'CC *src/')" = 0

out=$(build CFLAGS=-DSOME_FLAG)
# this build compiles one of the two files of each of the 7 pairs nccl_*, graph_cut_*, gzip_*, bzip2_*, xz_*,
# zstd_* and topology_* (- 7), and no device_cuda*
ok "changed flags rebuild everything" test "$(grep -c 'CC *src/' <<<"$out")" = $(($(ls src/*/*.c | grep -vc device_cuda) - 7))
ok "and the same flags again do nothing" test "$(work "$(build CFLAGS=-DSOME_FLAG)")" = 0

rm spmm_mpi build/cpu/spmm_mpi build/cpu/libspmm.a
build CFLAGS=-DSOME_FLAG lib >/dev/null
ok "make lib builds the libraries, and no program" test -e build/cpu/libspmm.a -a ! -e build/cpu/spmm_mpi
build CFLAGS=-DSOME_FLAG spmm_mpi >/dev/null
ok "make spmm_mpi builds and links the program" test -x spmm_mpi
touch src/spmm_mpi/main.c
ok "and builds it again if it is out of date" test "$(build CFLAGS=-DSOME_FLAG spmm_mpi | grep -c 'CC *src/')" = 1

printf 'int sp_extra(void);\nint sp_extra(void) { return 1; }\n' >src/base/extra.c
build CFLAGS=-DSOME_FLAG >/dev/null
ok "a new source file joins the library" sh -c 'nm build/cpu/libspmm.a 2>/dev/null | grep -q sp_extra'
rm src/base/extra.c
build CFLAGS=-DSOME_FLAG >/dev/null
ok "a removed source file leaves the library" sh -c '! nm build/cpu/libspmm.a 2>/dev/null | grep -q sp_extra'

echo 'int unused_value(void) { int x; return 0; }' >src/base/extra.c
out=$(build CFLAGS=-DSOME_FLAG WERROR=1 build/cpu/src/base/extra.o)
text "with WERROR=1 warnings are errors" "-Werror" "$out"
if out=$(build CFLAGS=-DSOME_FLAG WERROR=0 build/cpu/src/base/extra.o); then
    text "else they are printed and no more" "warning: unused variable" "$out"
else
    fail "else they are printed and no more"
fi
rm src/base/extra.c

# the settings of the last build
build CFLAGS=-DSOME_FLAG >/dev/null
again=$(make NO_DEPS=1 BUILDDIR=build 2>&1)
ok "a make that is told nothing is the last one again" test "$(work "$again")" = 0
text "and says what it was told" "settings of the last build: CUDA=0 PEERS=0 CFLAGS=-DSOME_FLAG OPT=-O0" "$again"
out=$(make -n NO_DEPS=1 BUILDDIR=build PREFIX="$scratch/usr" install 2>&1)
[[ $out == *build/cpu/spmm_mpi* && $out != *build/cuda* ]]
ok "make install installs what make CUDA=0 built" test $? = 0
out=$(make NO_DEPS=1 BUILDDIR=build OPT=-O1 build/cpu/src/base/status.o V=1 2>&1)
[[ $out == *" -O1 "*-DSOME_FLAG* && $out == *"settings of the last build: CUDA=0 PEERS=0 CFLAGS=-DSOME_FLAG"$'\n'* ]]
ok "what is said again replaces what was said, and only that" test $? = 0
ok "one object is no build to remember" grep -q '^last_OPT := -O0$' build/settings

# other compilers, other MPIs
fails "CC= that is not there fails and says so" "there is no no-such-cc" build CC=no-such-cc
compiler() { readelf -p .comment build/cpu/src/base/status.o | grep -o -E 'clang|GCC' | head -1; }
if command -v clang >/dev/null; then
    build build/cpu/src/base/status.o >/dev/null
    first=$(compiler)
    build CC=clang build/cpu/src/base/status.o >/dev/null
    ok "CC=clang compiles anew, by clang" test "$(compiler)" = clang
    build build/cpu/src/base/status.o >/dev/null
    ok "without it the wrapper's own compiler does so again" test "$(compiler)" = "$first"
    fails "a clang without omp.h fails and names the package" "libomp-dev" build CC=clang CFLAGS=-nostdinc
else
    skip "CC=clang compiles anew, by clang" "no clang"
fi
if command -v mpicc.mpich >/dev/null; then
    ok "what leans on mpi.h compiles with MPICH without a warning" make NO_DEPS=1 BUILDDIR=mpich CUDA=0 MPICC=mpicc.mpich \
        WERROR=1 mpich/cpu/src/comm/nccl_none.o mpich/cpu/kernels/no_cuda.o mpich/cpu/kernels/cpu/cpu_csr.o mpich/cpu/src/comm/comm.o \
        mpich/cpu/src/exchange/exchange.o
    rm -rf mpich
else
    skip "what leans on mpi.h compiles with MPICH without a warning" "no MPICH"
fi
# flags that change the values of results; parts that are looked for by compiling are left out, to be quick
flags() { build METIS=0 ISAL=0 BZIP2=0 LZMA=0 ZSTD=0 HWLOC=0 BLAS=0 FORTRAN=0 SERIES=0 "$@" build/cpu/flags; }
for set in CFLAGS=-ffast-math CFLAGS=-Ofast LDFLAGS=-Ofast LDFLAGS=-ffast-math LDFLAGS=-funsafe-math-optimizations OPT=-Ofast "MPICC=$MPICC -ffast-math" \
    "CFLAGS=-O2 -fassociative-math" CFLAGS=-ffp-contract=fast CFLAGS=-ffp-model=fast CFLAGS=-fdenormal-fp-math=positive-zero \
    NVCCFLAGS=-use_fast_math NVCCFLAGS=--ftz=true "NVCCFLAGS=-Xcompiler -O2,-ffast-math" FCFLAGS=-Ofast; do
    flag=$(grep -oE -e '--?[a-zA-Z][a-zA-Z_=-]*$' <<<"$set")
    fails "$set is refused" "$flag in ${set%%=*} would change the values of results" flags "$set"
done
exported() { export "$1" && flags; }
for name in OMPI_CFLAGS OMPI_LDFLAGS NVCC_APPEND_FLAGS; do
    [[ $name != OMPI_* ]] || $MPICC --showme:version >/dev/null 2>&1 || continue
    fails "so is $name of the environment" "-ffast-math in " exported $name=-ffast-math
done
ok "flags that change no results are not" flags CFLAGS="-O2 -fno-math-errno -fno-trapping-math -fno-fast-math -ffp-contract=off" LDFLAGS=-Wl,-O1
for cc in gcc clang; do
    command -v $cc >/dev/null || { skip "a wrapper's hidden flag is refused by the sources, with $cc" "no $cc"; continue; }
    for hidden in -ffast-math -Ofast -ffinite-math-only; do
        text "a wrapper's hidden flag is refused by the sources, with $cc: $hidden" "-ffast-math or the like" \
            "$($cc $hidden -std=c11 -Icontrib/one_rank -Iinclude -Isrc -I. -fsyntax-only src/base/status.c 2>&1)"
    done
done
ok "libspmm.so does not make a process flush denormal numbers" sh -c '! nm build/cpu/libspmm.so | grep -q set_fast_math'
# a machine without apt-get, and without the packages asked for
mkdir bare && for tool in sh sed sort tr id cat printf test; do ln -s "$(command -v $tool)" bare/; done
out=$(PATH=$PWD/bare sh mk/deps.sh build test optional 2>&1)
text "without apt-get deps says what to load" "module load gcc openmpi zlib;" "$out"
text "and what is optional" "optional and missing, the build does without: bzip2 hwloc isa-l metis openblas xz zstd" "$out"
out=$(PATH=$PWD/bare sh mk/deps.sh test optional 2>&1)
ok "what is not needed is no error" test $? = 0

fails "CUDA=1 without nvcc fails and says what to do" "CUDA=1 needs nvcc" make NO_DEPS=1 BUILDDIR=build CUDA=1 NVCC=
fails "a wrong CUDA= fails and says what it may be" "auto, 1 and 0" make NO_DEPS=1 BUILDDIR=build CUDA=maybe
fails "a wrong METIS= fails and says what it may be" "auto, 1 and 0" make NO_DEPS=1 BUILDDIR=build METIS=maybe
fails "METIS=1 without METIS fails and says what to do" "METIS=1 needs metis.h" make NO_DEPS=1 BUILDDIR=build CUDA=0 METIS=1 METIS_LIBS=-lno-such-metis
out=$(build METIS_LIBS=-lno-such-metis -n | grep -v build/settings)
[[ $out == *graph_cut_none.c* && $out != *no-such-metis* && $out != *graph_cut_metis.c* ]]
ok "METIS=auto without METIS builds without" test $? = 0
out=$(build METIS=0 -n)
[[ $out == *graph_cut_none.c* && $out != *-lmetis* && $out != *graph_cut_metis.c* ]]
ok "METIS=0 leaves it out, be it there or not" test $? = 0
fails "a wrong LZMA= fails and says what it may be" "LZMA=yes is not one of auto, 1 and 0" make NO_DEPS=1 BUILDDIR=build LZMA=yes
for knob in "ISAL isa-l/igzip_lib.h libisal-dev" "BZIP2 bzlib.h libbz2-dev" "LZMA lzma.h liblzma-dev" "ZSTD zstd.h libzstd-dev" "HWLOC hwloc.h libhwloc-dev"; do
    read -r name header package <<<"$knob"
    # -nostdinc hides the headers of the system, as on a machine that lacks the library
    if out=$(make NO_DEPS=1 BUILDDIR=build CUDA=0 "$name=1" CFLAGS=-nostdinc 2>&1); then
        fail "$name=1 without its library fails"
    else
        text "$name=1 without its library fails and says what to do" "$name=1 needs $header" "$out"
        text "and names the package" "install $package" "$out"
    fi
done
out=$(build ISAL=0 BZIP2=0 LZMA=0 ZSTD=0 -n)
[[ $out == *bzip2_none.c*gzip_zlib.c*xz_none.c*zstd_none.c* && $out != *_found.c* && $out != *gzip_isal.c* && $out != *-lisal* && $out != *-lbz2* && $out != *-llzma* &&
    $out != *-lzstd* ]]
ok "ISAL=0, BZIP2=0, LZMA=0 and ZSTD=0 leave out what reads compressed files, but zlib" test $? = 0
out=$(build HWLOC=0 -n)
[[ $out == *topology_none.c* && $out != *topology_hwloc.c* && $out != *-lhwloc* ]]
ok "HWLOC=0 leaves it out, be it there or not" test $? = 0
out=$(build SERIES=0 BASELINE=0 -n build build-tests)
[[ $out == *kernels/cpu/* && $out != *kernels/baseline/* && $out != *kernels/series/* && $out != *src/series_mpi/* &&
    $out != *test_series* && $out != *cblas* && $out == *'rm -f build/cpu/series_mpi'* ]]
ok "SERIES=0 and BASELINE=0 leave out series_mpi, the baseline kernels and their tests" test $? = 0
build BASELINE=0 build/cpu/kernels/registry.o >/dev/null
ok "and the table of kernels has none of these" \
    sh -c 'nm build/cpu/kernels/registry.o | grep -q sp_kernel_cpu_csr && ! nm build/cpu/kernels/registry.o | grep -q sp_kernel_cpu_serial'
fails "a wrong BASELINE= fails and says what it may be" "BASELINE=auto is not one of 1 and 0" make NO_DEPS=1 BUILDDIR=build CUDA=0 BASELINE=auto
fails "a wrong PEERS= fails and says what it may be" "PEERS=2 is not one of auto, 1 and 0" build PEERS=2
fails "PEERS=1 without a library fails and says what to do" "mkl: run \`make bench-cpu-deps\`" build PEERS=1 MKL_DIR=/nowhere
mkdir -p build/cpu/peers && : >build/cpu/peers/peer_eigen.so
build >/dev/null
ok "PEERS=0 leaves no adaptor of an earlier build" test ! -e build/cpu/peers/peer_eigen.so
fails "without mpicc make says what to load" "module load" make NO_DEPS=1 BUILDDIR=build CUDA=0 MPICC=no-such-mpicc
ok "CUDA=auto without nvcc builds for the CPU" sh -c 'make -n NO_DEPS=1 BUILDDIR=build CUDA=auto NVCC= 2>&1 | grep -q build/cpu'
if nvcc=$(command -v nvcc); then
    ok "CUDA=auto with nvcc builds for the GPU too" sh -c 'make -n NO_DEPS=1 BUILDDIR=build CUDA=auto 2>&1 | grep -q build/cuda'
    out=$(make -n NO_DEPS=1 BUILDDIR=build CUDA=1 GPU_ARCH="80 90" NVCC="$nvcc" 2>&1)
    text "GPU_ARCH gives machine code for each" "arch=compute_80,code=sm_80" "$out"
    text "and PTX for the newest" "arch=compute_90,code=compute_90" "$out"
    mkdir -p other && : >other/libcusparse.so.12
    fails "CUSPARSE_HOME without its header says where it may be" "other: there is no cusparse.h in it or its include" \
        make NO_DEPS=1 BUILDDIR=build CUDA=1 CUSPARSE_HOME=other
    : >other/cusparse.h
    text "CUSPARSE_HOME may be one folder with header and library" "other/./libcusparse.so.12 -Wl,-rpath," \
        "$(make -n NO_DEPS=1 BUILDDIR=build CUDA=1 PEERS=auto CUSPARSE_HOME=other all 2>&1)"
else
    skip "CUDA=auto with nvcc builds for the GPU too" "no nvcc"
fi

text "the emulated GPU wants a folder without a space" "expected a folder without a space" "$(make NO_DEPS=1 BUILDDIR=build check-emulated 2>&1)"

# the corpus of the fuzz targets
archive=tests/fuzz/corpus.tar.gz
add() { make NO_DEPS=1 V=0 BUILDDIR=build CUDA=0 fuzz-add "$@" 2>&1; }
before=$(sum <$archive)
printf '0@0@1,2\n' >input
out=$(add INPUT=input AS=fuzz_none/new)
text "make fuzz-add for no target is refused" "TARGET is one of fuzz_csv" "$out"
out=$(add INPUT=no-such-file AS=fuzz_csv/new)
text "and without an input" "INPUT=FILE" "$out"
ok "and the archive stays as it was" test "$(sum <$archive)" = "$before"
out=$(add INPUT=input AS=fuzz_csv/new) || printf '%s\n' "$out"
ok "make fuzz-add adds one input to the archive" sh -c "tar xzOf $archive ./fuzz_csv/new | cmp - input"
rm -r build/cpu/fuzz-corpus
make NO_DEPS=1 V=0 BUILDDIR=build CUDA=0 build/cpu/fuzz-corpus >/dev/null
ok "which the build unpacks" cmp build/cpu/fuzz-corpus/fuzz_csv/new input
rm build/cpu/fuzz-corpus/fuzz_csv/new
mv build/cpu/fuzz-corpus/fuzz_csv/01071b86 input
# (this machine's tar or gzip may write other bytes than those that made the archive)
out=$(add INPUT=input AS=fuzz_csv/01071b86) || printf '%s\n' "$out"
before=$(sum <$archive)
out=$(add INPUT=input AS=fuzz_csv/01071b86) || printf '%s\n' "$out"
ok "and the same inputs make the same archive" test "$(sum <$archive)" = "$before"

help=$(make help-all)
for target in all run check check-slurm check-gpu asan check-asan check-tsan check-one-rank check-toolchains wheel fuzz fuzz-add bench-read deps install uninstall format lint clean MPI= CUDA= MPICC= CC= WERROR= METIS= ISAL= BZIP2= LZMA= ZSTD= HWLOC= SERIES= BASELINE= PEERS= NO_DEPS=1 V=; do
    [[ $help == *"$target"* ]] || missing+=" $target"
done
ok "make help-all lists every target and variable" test -z "$missing"
ok "make clean leaves nothing behind" sh -c 'make BUILDDIR=build clean && ! test -e build && ! test -e spmm_mpi'
finish
