# shellcheck shell=bash source=jobs/site.sh
# Sourced by jobs/*.sbatch, in the folder that the job was submitted from: the root of the tree.
#     run_study STUDY [RANKS]     runs a study, or its points of that many ranks, as site.env says;
#                                 ends the job
set -u
. jobs/site.sh || exit 2

if [ -n "$SITE_MODULES$SITE_SETUP" ]; then
    set +u # what sites write there reads variables that are not set
    type module >/dev/null 2>&1 || . /etc/profile
    if [ -n "$SITE_MODULES" ]; then
        # shellcheck disable=SC2086 # words
        module load $SITE_MODULES || exit 4
    fi
    if ! eval "$SITE_SETUP"; then
        echo "error: the last line of SITE_SETUP failed" >&2
        exit 4
    fi
    set -u
fi
site_python || exit 2

# srun does not take this from the job any more (since 22.05), so both launchers are told below
cpus=${SLURM_CPUS_PER_TASK:-1}
export OMP_NUM_THREADS=$cpus OMP_PLACES=cores
# mpirun of Open MPI notices within a minute, and not after eight, that a node is gone without a word
# (docs/SLURM.md)
export OMPI_MCA_oob_tcp_keepalive_time=${OMPI_MCA_oob_tcp_keepalive_time:-20}
export OMPI_MCA_oob_tcp_keepalive_intvl=${OMPI_MCA_oob_tcp_keepalive_intvl:-10}
export OMPI_MCA_oob_tcp_keepalive_probes=${OMPI_MCA_oob_tcp_keepalive_probes:-4}
# where jobs are submitted without the environment, srun would leave this one behind, too
unset SLURM_EXPORT_ENV

# whose_mpirun: openmpi, mpich or intelmpi
whose_mpirun() {
    case $SITE_LAUNCHER-$(mpirun --version 2>&1) in
    mpirun-*"Intel(R) MPI"*) echo intelmpi ;;
    mpirun-*HYDRA*) echo mpich ;; # MVAPICH has it, too
    mpirun-*"Open MPI"* | mpirun-*OpenRTE* | mpirun-*PRRTE*) echo openmpi ;;
    mpirun-*) echo "error: mpirun --version does not say whose it is: SITE_LAUNCHER=openmpi, mpich or intelmpi does" >&2 && return 2 ;;
    *) echo "$SITE_LAUNCHER" ;;
    esac
}

# launcher RANKS: the words before the program. Nodes are filled one after another, and not one rank on each:
# few ranks are then neighbors. Of a node's GPUs each rank sees all and takes that of its number there: no
# --gpu-bind, with which ranks could not write into each other's memory.
launcher() {
    local tasks=${SLURM_NTASKS_PER_NODE:-$1} by=srun words
    [ "$SITE_LAUNCHER" = srun ] || by=$(whose_mpirun) || return 2
    case $by-$SITE_BIND in
    srun-*)
        words="srun ${SITE_MPI:+--mpi=$SITE_MPI }-N $((($1 + tasks - 1) / tasks)) -n {ranks} -c $cpus --distribution=block:block"
        words+=" --cpu-bind=$SITE_BIND"
        ;;
    openmpi-cores) words="mpirun -np {ranks} --map-by ppr:$tasks:node:PE=$cpus --bind-to core" ;;
    openmpi-none) words="mpirun -np {ranks} --map-by ppr:$tasks:node --bind-to none" ;;
    mpich-cores) words="mpirun -np {ranks} -ppn $tasks -bind-to core:$cpus" ;;
    mpich-none) words="mpirun -np {ranks} -ppn $tasks -bind-to none" ;;
    # left alone, it places ranks as SLURM would place a full job's
    intelmpi-cores) words="env I_MPI_JOB_RESPECT_PROCESS_PLACEMENT=off I_MPI_PIN_DOMAIN=$cpus:compact mpirun -np {ranks} -ppn $tasks" ;;
    intelmpi-none) words="env I_MPI_JOB_RESPECT_PROCESS_PLACEMENT=off I_MPI_PIN=off mpirun -np {ranks} -ppn $tasks" ;;
    esac
    echo "$words${SITE_LAUNCHER_OPTIONS:+ $SITE_LAUNCHER_OPTIONS}"
}

# Before its time limit SLURM sends SIGTERM to this shell alone (#SBATCH --signal=B:TERM@60): the study ends
# its run, has whole records behind it, and says how to go on. The shell must outlive it, or SLURM would kill
# both.
study_pid="" stopped=""
stop() {
    stopped=1
    [ -z "$study_pid" ] || kill -TERM "$study_pid" 2>/dev/null
}
trap stop TERM INT

run_study() {
    local study=$1 ranks=${2:-} name status words
    name=$(basename "$study" .study)${ranks:+.ranks-$ranks}
    if [ "${ranks:-1}" -gt "${SLURM_NTASKS:-1}" ]; then
        echo "error: $ranks ranks wanted, but the job has ${SLURM_NTASKS:-1}: more --nodes or --ntasks-per-node" >&2
        exit 2
    fi
    words=$(launcher "${ranks:-${SLURM_NTASKS:-1}}") || exit 2
    mkdir -p "$SITE_RECORDS" || exit 4
    echo "job ${SLURM_JOB_ID:-}: $name on ${SLURM_JOB_NODELIST:-this node}, by: $words"
    [ -z "$stopped" ] || exit 143
    jobs/study --records "$SITE_RECORDS/$name.jsonl" --program "$SITE_PROGRAM" --launcher "$words" \
        ${ranks:+--only "ranks=$ranks"} "$study" &
    study_pid=$!
    [ -z "$stopped" ] || stop # a signal since the last look
    wait "$study_pid"
    status=$?
    # a signal ends the first wait, not the study
    while kill -0 "$study_pid" 2>/dev/null; do
        wait "$study_pid"
        status=$?
    done
    [ -z "$stopped" ] || echo "stopped before the end; submit the same again, and it goes on" >&2
    exit "$status"
}
