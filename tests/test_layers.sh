#!/bin/bash
# The layers of docs/DESIGN.md, as far as text shows them: who may call MPI, CUDA and exit().
. tests/lib.sh

# code FILE...: the files without comments and string literals, one line `file:number:text` each
code() {
    awk '
        FNR == 1 { inside = 0 }
        {
            line = $0; out = ""
            gsub(/\\./, "", line)
            gsub(/"[^"]*"/, "\"\"", line)
            while (line != "") {
                if (inside) {
                    at = index(line, "*/")
                    if (!at) break
                    line = substr(line, at + 2); inside = 0
                } else {
                    at = match(line, /\/[*\/]/)
                    if (!at) { out = out line; break }
                    out = out substr(line, 1, at - 1)
                    if (substr(line, at, 2) == "//") break
                    line = substr(line, at + 2); inside = 1
                }
            }
            print FILENAME ":" FNR ":" out
        }' "$@"
}

# none SENTENCE PATTERN FILE...: passes when the pattern is in none of the files' code
none() {
    local sentence=$1 pattern=$2 found
    shift 2
    if found=$(code "$@" | grep -E "^[^:]*:[0-9]*:.*($pattern)"); then
        printf '%s\n' "$found" | head -20 | sed 's/^/  /'
        fail "$sentence"
    else
        pass "$sentence"
    fi
}

# except NAMES FILE...: the files whose name without ending is not one of the names
except() {
    local names=" $1 " file base
    shift
    for file in "$@"; do
        [ -f "$file" ] || continue
        base=${file##*/}
        [[ $names == *" ${base%.*} "* ]] || echo "$file"
    done
}

shopt -s nullglob
sources=(src/*.[ch] kernels/*.[ch] kernels/*.cu kernels/*.cuh include/*.h)
# job is the other half of main: the phases that it names
mpi="comm watch grid scatter halo exchange exchange_ways exchange_mirror exchange_peer probe reduce nccl_found gather load load_part load_pass load_route load_tally plan job job_check job_layout job_load job_run job_time job_tune main
copy_rate pearson series_load series_check series_run series_accuracy series_main"

mpi=${mpi//$'\n'/ }
none "MPI is called only in ${mpi// /, }" 'MPI_[A-Z][a-z_]*[a-z] *\(|\bPMPI_' \
    $(except "$mpi" "${sources[@]}")
# the include line's file name is in quotes or <>: look at the raw text
if found=$(grep -n '#[[:space:]]*include[[:space:]]*[<"]mpi\.h' $(except "$mpi spmm" "${sources[@]}") /dev/null); then
    printf '%s\n' "$found"
    fail "<mpi.h> is included only there and in spmm.h"
else
    pass "<mpi.h> is included only there and in spmm.h"
fi
# NCCL's interface has CUDA's types
cuda=$(for f in "${sources[@]}"; do case $f in *.cu | *.cuh | src/device_cuda*.[ch] | src/comm/nccl_found.c) ;; *) echo "$f" ;; esac; done)
if found=$(grep -n '#[[:space:]]*include[[:space:]]*[<"]cuda' $cuda /dev/null); then
    printf '%s\n' "$found"
    fail "CUDA's headers are included only in device_cuda*, *.cu and *.cuh"
else
    pass "CUDA's headers are included only in device_cuda*, *.cu and *.cuh"
fi
none "CUDA is called only in device_cuda*, nccl_found.c, *.cu and *.cuh" '\bcuda[A-Z][A-Za-z]*' $cuda
# (an include guard does not ask)
none "no #if asks for CUDA: the build links one of two files instead" \
    '# *(if|ifdef|ifndef|elif)[^_A-Za-z].*CUDA([^_]|_[^C]|_C[^U])*$' $(printf '%s\n' "${sources[@]}" | grep -v '\.cuh\?$\|device_cuda\.h$')
none "METIS is called only in graph_metis.c: the build links it or graph_none.c" '\bMETIS_[A-Z]|\bidx_t\b' \
    $(except graph_metis "${sources[@]}")
none "exit and abort are called in main.c alone" '(^|[^A-Za-z0-9_])(exit|_exit|_Exit|abort) *\(' \
    $(except main "${sources[@]}")
none "kernels do not reach up: they include no header of the stages" '\bsp_(read|scatter|gather|verify|report|grid|comm)_' \
    kernels/*.[ch] kernels/*.cu kernels/*.cuh
finish
