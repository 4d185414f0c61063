# shellcheck shell=bash source=jobs/site.sh
# Sourced by jobs/*.sbatch, in the folder that the job was submitted from: the root of the tree.
#     run_study STUDY [RANKS]     runs a study, or its points with that many ranks, with the settings of
#                                 site.env; then ends the job
set -u
. jobs/site.sh || exit 2

if [ -n "$SITE_MODULES$SITE_SETUP" ]; then
    set +u # modules and SITE_SETUP may read variables that are not set
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

# srun ignores --cpus-per-task of the job (since 22.05): launcher() passes the number to srun and mpirun
cpus=${SLURM_CPUS_PER_TASK:-1}
export OMP_NUM_THREADS=$cpus OMP_PLACES=cores
# with these, mpirun of Open MPI notices a lost node after one minute instead of eight (docs/SLURM.md)
export OMPI_MCA_oob_tcp_keepalive_time=${OMPI_MCA_oob_tcp_keepalive_time:-20}
export OMPI_MCA_oob_tcp_keepalive_intvl=${OMPI_MCA_oob_tcp_keepalive_intvl:-10}
export OMPI_MCA_oob_tcp_keepalive_probes=${OMPI_MCA_oob_tcp_keepalive_probes:-4}
# sbatch --export=NONE sets this; srun would then start ranks without this shell's environment, too
unset SLURM_EXPORT_ENV

# whose_mpirun: prints the MPI that mpirun belongs to: openmpi, mpich or intelmpi
whose_mpirun() {
    case $SITE_LAUNCHER-$(mpirun --version 2>&1) in
    mpirun-*"Intel(R) MPI"*) echo intelmpi ;;
    mpirun-*HYDRA*) echo mpich ;; # that of MVAPICH, too
    mpirun-*"Open MPI"* | mpirun-*OpenRTE* | mpirun-*PRRTE*) echo openmpi ;;
    mpirun-*) echo "error: mpirun --version does not name its MPI: set SITE_LAUNCHER=openmpi, mpich or intelmpi" >&2 && return 2 ;;
    *) echo "$SITE_LAUNCHER" ;;
    esac
}

# launcher RANKS: prints the words before the program. Nodes are filled one after another: if consecutive
# ranks were on different nodes, few ranks would share a node. Each rank sees all GPUs of its node and uses
# the one with its local number: no --gpu-bind, which would keep ranks from writing into each other's memory.
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
    # RESPECT_PROCESS_PLACEMENT=off: by default Intel MPI ignores -ppn, and places ranks as SLURM places all
    # tasks of the job
    intelmpi-cores) words="env I_MPI_JOB_RESPECT_PROCESS_PLACEMENT=off I_MPI_PIN_DOMAIN=$cpus:compact mpirun -np {ranks} -ppn $tasks" ;;
    intelmpi-none) words="env I_MPI_JOB_RESPECT_PROCESS_PLACEMENT=off I_MPI_PIN=off mpirun -np {ranks} -ppn $tasks" ;;
    esac
    echo "$words${SITE_LAUNCHER_OPTIONS:+ $SITE_LAUNCHER_OPTIONS}"
}

# A minute before the time limit SLURM sends SIGTERM to this shell alone (#SBATCH --signal=B:TERM@60). stop()
# forwards it to jobs/study, which ends the current run; its records are complete. The shell must outlive
# jobs/study, because SLURM kills what remains of a job when its shell ends.
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
        echo "error: the study needs $ranks ranks, but the job has ${SLURM_NTASKS:-1}: increase --nodes or --ntasks-per-node" >&2
        exit 2
    fi
    words=$(launcher "${ranks:-${SLURM_NTASKS:-1}}") || exit 2
    mkdir -p "$SITE_RECORDS" || exit 4
    echo "job ${SLURM_JOB_ID:-}: $name on ${SLURM_JOB_NODELIST:-this node}, by: $words"
    [ -z "$stopped" ] || exit 143
    jobs/study --records "$SITE_RECORDS/$name.jsonl" --program "$SITE_PROGRAM" --launcher "$words" \
        ${ranks:+--only "ranks=$ranks"} "$study" &
    study_pid=$!
    [ -z "$stopped" ] || stop # a signal may have arrived after the check above
    wait "$study_pid"
    status=$?
    # a signal ends the first wait, not the study
    while kill -0 "$study_pid" 2>/dev/null; do
        wait "$study_pid"
        status=$?
    done
    [ -z "$stopped" ] || echo "the study was stopped before its end; to continue, submit the same job again" >&2
    exit "$status"
}
