# shellcheck shell=bash source=jobs/site.env Sourced by jobs/submit and jobs/common.sh, from the root of the
# tree: reads the settings of jobs/site.env, or of the file that SPMM_SITE names. Gives empty and missing
# settings their defaults, and refuses invalid ones.

# site_wrong NAME EXPECTED: prints that a setting is invalid, and returns 2
site_wrong() {
    local text="${SPMM_SITE:-jobs/site.env}: $1=${!1}: expected $2"
    echo "error: ${text//[[:cntrl:]]/?}" >&2
    return 2
}

# site_is NAME WORDS...: checks that the setting is one of the words
site_is() {
    case " ${*:2} " in *" ${!1} "*) ;; *) site_wrong "$1" "one of: ${*:2}" ;; esac
}

# site_counts NAME: checks that the setting is empty, or a number from 1 to 9999
site_counts() {
    [[ ${!1} =~ ^([1-9][0-9]{0,3})?$ ]] || site_wrong "$1" "a number from 1 to 9999, or nothing"
}

# site_python: checks that python3 is installed and new enough; prints an error if not
site_python() {
    if ! command -v python3 >/dev/null; then
        echo "error: there is no python3 on the PATH: provide one by SITE_MODULES or SITE_SETUP" >&2
        return 2
    fi
    # shellcheck disable=SC2209 # a variable of that command alone
    PYTHONPATH=jobs python3 -c 'import spmm_study'
}

site_read() {
    local name
    . "$(realpath -- "${SPMM_SITE:-jobs/site.env}")" || return 2
    for name in ACCOUNT PARTITION_CPU PARTITION_GPU SBATCH_OPTIONS SBATCH_OPTIONS_CPU SBATCH_OPTIONS_GPU EXCLUSIVE \
        CORES_PER_NODE GPUS_PER_NODE MODULES SETUP LAUNCHER MPI LAUNCHER_OPTIONS BIND PROGRAM RECORDS; do
        name=SITE_$name
        declare -g "$name=${!name:-}"
    done
    SITE_EXCLUSIVE=${SITE_EXCLUSIVE:-yes} SITE_LAUNCHER=${SITE_LAUNCHER:-mpirun} SITE_BIND=${SITE_BIND:-cores}
    SITE_PROGRAM=${SITE_PROGRAM:-./spmm_mpi} SITE_RECORDS=${SITE_RECORDS:-records}
    site_is SITE_EXCLUSIVE yes no && site_is SITE_LAUNCHER srun mpirun openmpi mpich intelmpi &&
        site_is SITE_BIND cores none && site_counts SITE_CORES_PER_NODE && site_counts SITE_GPUS_PER_NODE
}
site_read
