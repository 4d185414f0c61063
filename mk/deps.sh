#!/bin/sh
# Installs what the build, the tests or the lint need and this machine lacks. Usage:
#     deps.sh build|optional|test|adaptors|clang|openmpi|mpich|slurm|ci|lint|fuzz|figures|peers...
# Groups adaptors and peers are the libraries of bench-cpu: adaptors are small, so that tests compile with
# them, too. Packages of groups optional, ci, fuzz, adaptors and peers are left out if they cannot be
# installed; that is an error only if group peers is requested.
#
# (Debian's mpi4py is Open MPI's, whose mpirun would replace that of an installed MPICH.)
# THE list: group, package of Debian 12 and Ubuntu 24.04, module or name elsewhere, and a command that
# succeeds if it is available. What is available, from any source, is not installed again.
list() {
    cat <<'LIST'
build  gcc            gcc         command -v gcc && command -v ld
build  libc6-dev      gcc         echo '#include <stdio.h>' | gcc -fsyntax-only -x c -
build  libopenmpi-dev openmpi     test "$MPI" = 0 || echo '#include <mpi.h>' | $MPICC -fsyntax-only -x c -
build  openmpi-bin    openmpi     test "$MPI" = 0 || command -v mpirun
build  zlib1g-dev     zlib        echo '#include <zlib.h>' | gcc -fsyntax-only -x c -
build  libomp-dev     llvm-openmp test -z "$CLANG_USED" || echo '#include <omp.h>' | $MPICC -fopenmp -fsyntax-only -x c -
build  g++            gcc         test -z "$NVCC" || command -v g++
optional libmetis-dev metis       test "$METIS" = 0 || echo '#include <metis.h>' | $MPICC $CFLAGS -fsyntax-only -x c -
optional libisal-dev  isa-l       test "$ISAL" = 0 || echo '#include <isa-l/igzip_lib.h>' | $MPICC $CFLAGS -fsyntax-only -x c -
optional libbz2-dev   bzip2       test "$BZIP2" = 0 || echo '#include <bzlib.h>' | $MPICC $CFLAGS -fsyntax-only -x c -
optional liblzma-dev  xz          test "$LZMA" = 0 || echo '#include <lzma.h>' | $MPICC $CFLAGS -fsyntax-only -x c -
optional libzstd-dev  zstd        test "$ZSTD" = 0 || echo '#include <zstd.h>' | $MPICC $CFLAGS -fsyntax-only -x c -
optional libhwloc-dev hwloc       test "$HWLOC" = 0 || echo '#include <hwloc.h>' | $MPICC $CFLAGS -fsyntax-only -x c -
optional libopenblas-dev openblas  test "$BLAS" = 0 || { echo '#include <cblas.h>' && echo 'int main(void) { return 0; }'; } | $MPICC $CFLAGS -x c - -o /dev/null ${BLAS_LIBS:--lopenblas}
test   python3-scipy  python      for p in python3 /usr/bin/python3 python; do $p -c 'import scipy.sparse' && exit 0; done; false
test   python3-jsonschema python for p in python3 /usr/bin/python3 python; do $p -c 'import scipy.sparse, jsonschema' && exit 0; done; false
test   python3-mpi4py mpi4py      test "$MPI" = 0 && exit 0; echo '#include <mpi.h>' | $MPICC -dM -E -x c - | grep -q MPICH_VERSION && exit 0; for p in python3 /usr/bin/python3 python; do $p -c 'import scipy.sparse, mpi4py' && exit 0; done; false
test   pkg-config     pkg-config  command -v pkg-config
test   cmake          cmake       command -v cmake
test   groff-base     groff       command -v groff
test   bzip2          bzip2       test "$BZIP2" = 0 || command -v bzip2
test   xz-utils       xz          test "$LZMA" = 0 || command -v xz
test   zstd           zstd        test "$ZSTD" = 0 || command -v zstd
test   binutils       binutils    command -v nm
test   tar            tar         command -v tar
test   gzip           gzip        command -v gzip
test   g++            gcc         command -v g++
test   iproute2       iproute2    PATH=$PATH:/usr/sbin:/sbin; command -v ip
clang  clang          llvm        command -v ${CLANG:-clang}
clang  libclang-rt-dev compiler-rt echo 'int main(void) { return 0; }' | ${CLANG:-clang} -fsanitize=address,undefined -x c - -o /dev/null
clang  libomp-dev     llvm-openmp echo '#include <omp.h>' | ${CLANG:-clang} -fopenmp -fsyntax-only -x c -
openmpi libopenmpi-dev openmpi    echo '#include <mpi.h>' | $MPICC_openmpi -fsyntax-only -x c -
openmpi openmpi-bin   openmpi     command -v $MPIRUN_openmpi
mpich  libmpich-dev   mpich       echo '#include <mpi.h>' | $MPICC_mpich -fsyntax-only -x c -
mpich  mpich          mpich       command -v $MPIRUN_mpich
slurm  slurm-wlm      slurm       PATH=$PATH:/usr/sbin:/sbin; command -v slurmctld && command -v slurmd && command -v sbatch
slurm  munge          munge       PATH=$PATH:/usr/sbin:/sbin; command -v munged
calibrate python3-numpy python    for p in python3 /usr/bin/python3 python; do $p -c 'import numpy' && exit 0; done; false
figures python3-matplotlib python for p in python3 /usr/bin/python3 python; do $p -c 'import matplotlib' && exit 0; done; false
fuzz   clang          clang       command -v ${FUZZ_CC:-clang}
fuzz   libclang-rt-dev clang      echo 'int LLVMFuzzerTestOneInput(const char *p, unsigned long n) { return p && n ? 0 : 0; }' | ${FUZZ_CC:-clang} -x c - -o /dev/null -fsanitize=fuzzer,address,undefined
fuzz   libomp-dev     clang       { echo '#include <omp.h>' && echo 'int main(void) { return 0; }'; } | ${FUZZ_CC:-clang} -fopenmp -x c - -o /dev/null
fuzz   tar            tar         command -v tar
fuzz   gzip           gzip        command -v gzip
fuzz   llvm           clang       command -v llvm-cov
fuzz   libfast-float-dev fast_float echo '#include <fast_float/fast_float.h>' | ${FUZZ_CC:-clang} -fsyntax-only -x c++ -
peers  g++            gcc         command -v g++
peers  pkg-config     pkg-config  command -v pkg-config
adaptors libtrilinos-kokkos-dev kokkos echo '#include <Kokkos_Core.hpp>' | g++ -E -I/usr/include/trilinos -x c++ -
adaptors libtrilinos-kokkos-kernels-dev kokkos-kernels echo '#include <KokkosKernels_config.h>' | g++ -E -I/usr/include/trilinos -x c++ -
adaptors libeigen3-dev  eigen       echo '#include <Eigen/SparseCore>' | g++ -E -I/usr/include/eigen3 -x c++ -
peers  libgraphblas-dev graphblas echo '#include <GraphBLAS.h>' | g++ -E -x c++ -
adaptors librsb-dev     librsb      echo '#include <rsb.h>' | g++ -E -x c++ -
peers  libpetsc-real-dev petsc    pkg-config --exists petsc || pkg-config --exists PETSc
peers  python3-scipy  python      for p in "$PYTHON" python3 /usr/bin/python3; do $p -c 'import scipy.sparse' && exit 0; done; false
peers  python3-pip    python      sh bench/peers/mkl.sh --there || for p in "$PYTHON" python3 /usr/bin/python3; do $p -m pip --version && exit 0; done; false
ci     ccache         ccache      command -v ccache
lint   clang-format   clang       command -v clang-format
lint   clang-tidy     clang       command -v clang-tidy
lint   cppcheck       cppcheck    command -v cppcheck
LIST
}
MPICC=${MPICC:-mpicc}

missing= extra=
# names on systems without apt-get: of what the build needs, of what tests need, of what is optional
needed= tests= options=
find_missing() {
    missing= extra= needed= tests= options=
    while read -r group package name check; do
        case " $wanted " in *" $group "*) ;; *) continue ;; esac
        (eval "$check") >/dev/null 2>&1 && continue
        case $group in
        optional | ci | fuzz | adaptors | peers) extra="$extra $package" options="$options $name" ;;
        test) missing="$missing $package" tests="$tests $name" ;;
        *) missing="$missing $package" needed="$needed $name" ;;
        esac
    done <<EOT
$(list)
EOT
    return 0
}

wanted=$*
find_missing
[ -n "$missing$extra" ] || exit 0

sudo=
[ "$(id -u)" = 0 ] || sudo=sudo
if ! command -v apt-get >/dev/null 2>&1 || { [ -n "$sudo" ] && ! command -v sudo >/dev/null 2>&1; }; then
    once() { printf '%s\n' $1 | sort -u | tr '\n' ' ' | sed 's/ $//'; }
    [ -z "$tests" ] || echo "deps: missing, so some tests are skipped: $(once "$tests")" >&2
    [ -z "$options" ] || echo "deps: optional and missing, the build does without: $(once "$options")" >&2
    [ -n "$needed" ] || exit 0
    needed=$(once "$needed")
    echo "deps: missing: $needed; load them (module load $needed; Spack and conda-forge have the same names) or have the administrator install them" >&2
    exit 1
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() {
    echo "deps: installing $* (${sudo:+sudo }apt-get)"
    # the lists of packages may be missing (a bare image) or old: fetch them if installing fails
    apt_install "$@" || { $sudo apt-get update -q >"$log" 2>&1 && apt_install "$@"; }
}
apt_install() {
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" >"$log" 2>&1
}
[ -z "$missing" ] || install $missing || {
    tail -20 "$log" >&2
    echo "deps: apt-get could not install$missing" >&2
    exit 1
}
# all at once or, if that fails (one is unknown), one by one
[ -z "$extra" ] || install $extra || for package in $extra; do
    install $package || echo "deps: apt-get could not install $package: going on without"
done
case " $* " in *" peers "*) wanted="build adaptors peers" ;; *) wanted=build ;; esac
find_missing
missing=$missing$extra
[ -z "$missing" ] || echo "deps: still missing:$missing" >&2
[ -z "$missing" ]
