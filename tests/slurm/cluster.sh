# shellcheck shell=bash
# Sourced by tests/slurm/check: a SLURM of two nodes on this machine, with all its files in one folder.
#     cluster_start FOLDER     starts it, sets SLURM_CONF; on failure prints the reason and returns 1
#     cluster_stop             ends all its processes; the caller removes the folder
# It has its own ports, sockets, keys, state and logs: an installed SLURM or munge is not affected.

cluster= # its folder
# srun --mpi for the machine's MPI: Open MPI uses PMIx, whose library comes with it; MPICH uses PMI-2, which
# is part of Debian's SLURM
case $(mpirun --version 2>&1) in
*HYDRA*) CLUSTER_MPI=pmi2 ;;
*) CLUSTER_MPI=pmix ;;
esac
cluster_pids=()

cluster_start() {
    cluster=$1
    mkdir -p "$cluster"/{state,munge,tmp/n1,tmp/n2,log} || return 1
    # munge requires that all can search the folders of its socket, and only the owner can write to them
    chmod 711 "$cluster" "$cluster/munge"
    cluster_munge && cluster_configure || return 1
    # the caller's variables may be for another SLURM
    local v
    for v in $(compgen -e | grep -E '^(SLURM|SBATCH|SRUN|SALLOC|SQUEUE|SCANCEL|PMIX)_'); do unset "$v"; done
    export SLURM_CONF=$cluster/slurm.conf
    cluster_daemon slurmctld -D -i
    cluster_daemon slurmd -D -N n1
    cluster_daemon slurmd -D -N n2
    cluster_wait 30 cluster_idle && return
    echo "  the nodes did not become idle:"
    sinfo 2>&1
    tail -n 15 "$cluster"/log/*
    return 1
}

# cluster_daemon COMMAND...: starts it in the background, in a new session, which Ctrl-C does not reach
cluster_daemon() {
    setsid "$@" >>"$cluster/log/daemons" 2>&1 </dev/null &
    cluster_pids+=($!)
}

cluster_munge() {
    head -c 128 /dev/urandom >"$cluster/munge/key" && chmod 400 "$cluster/munge/key"
    cluster_daemon munged --foreground --key-file="$cluster/munge/key" --socket="$cluster/munge/socket" \
        --pid-file="$cluster/munge/pid" --log-file="$cluster/munge/log" --seed-file="$cluster/munge/seed" \
        --num-threads=2
    cluster_wait 10 test -S "$cluster/munge/socket" && return
    echo "  munged did not start:"
    cat "$cluster/log/daemons" "$cluster/munge/log" 2>/dev/null
    return 1
}

# free_ports N: prints ports that are not in use
free_ports() {
    python3 -c '
import socket, sys
s = [socket.socket() for _ in range(int(sys.argv[1]))]
for x in s: x.bind(("127.0.0.1", 0))
print(*(x.getsockname()[1] for x in s))' "$1"
}

# Each node claims 6 CPUs and 4 GPUs, whatever the machine has: jobs are placed as on real nodes, but not
# bound (there is no TaskPlugin, the default). TmpFS contains the node's name, so that files of srun's PMIx
# plugin do not clash.
cluster_configure() {
    local ctl n1 n2 i
    read -r ctl n1 n2 <<<"$(free_ports 3)"
    [ -n "$n2" ] || return 1
    for i in 0 1 2 3; do ln -s /dev/null "$cluster/nvidia$i"; done
    echo "Name=gpu File=$cluster/nvidia[0-3] Flags=nvidia_gpu_env" >"$cluster/gres.conf"
    cat >"$cluster/slurm.conf" <<CONF
ClusterName=spmm_check
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=$ctl
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$cluster/munge/socket
StateSaveLocation=$cluster/state
SlurmdSpoolDir=$cluster/spool.%n
SlurmctldPidFile=$cluster/slurmctld.pid
SlurmdPidFile=$cluster/slurmd.%n.pid
SlurmctldLogFile=$cluster/log/slurmctld
SlurmdLogFile=$cluster/log/slurmd.%n
TmpFS=$cluster/tmp/%n
ProctrackType=proctrack/linuxproc
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,bf_interval=2,sched_interval=2
SlurmdParameters=config_overrides
GresTypes=gpu
MpiDefault=$CLUSTER_MPI
EnforcePartLimits=ALL
ReturnToService=2
KillWait=5
MailProg=/bin/true
NodeName=n1 NodeHostname=localhost NodeAddr=127.0.0.1 Port=$n1 CPUs=6 RealMemory=1000 Gres=gpu:4
NodeName=n2 NodeHostname=localhost NodeAddr=127.0.0.1 Port=$n2 CPUs=6 RealMemory=1000 Gres=gpu:4
PartitionName=check Nodes=n1,n2 Default=YES MaxTime=INFINITE OverSubscribe=NO
PartitionName=other Nodes=n1,n2 MaxTime=INFINITE OverSubscribe=NO
PartitionName=wide Nodes=n1,n2 MinNodes=2 MaxTime=INFINITE OverSubscribe=NO
CONF
}

cluster_idle() { [ "$(sinfo -h -p check -o "%T %D" 2>/dev/null)" = "idle 2" ]; }

# cluster_wait SECONDS COMMAND...: repeats the command until it succeeds; returns 1 after SECONDS
cluster_wait() {
    local end=$((SECONDS + $(patience "$1")))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.2
    done
}

# prints the processes with this SLURM_CONF: SLURM's daemons, job steps, and what these started
cluster_processes() {
    local p
    for p in /proc/[0-9]*; do
        p=${p#/proc/}
        [ "$p" != $$ ] && [ "$p" != "$BASHPID" ] || continue
        tr '\0' '\n' 2>/dev/null <"/proc/$p/environ" | grep -qxF "SLURM_CONF=$cluster/slurm.conf" && echo "$p"
    done
}

cluster_stop() {
    [ -n "$cluster" ] || return 0
    local p
    # jobs first, so that slurmd ends their steps as at a real site
    if [ ${#cluster_pids[@]} -gt 1 ]; then
        timeout 10 scancel --state=RUNNING,PENDING -u root 2>/dev/null
        cluster_wait 10 cluster_empty
    fi
    for p in "${cluster_pids[@]}"; do kill "$p" 2>/dev/null; done
    cluster_wait 5 cluster_ended
    for p in "${cluster_pids[@]}" $(cluster_processes); do kill -9 "$p" 2>/dev/null; done
    wait "${cluster_pids[@]}" 2>/dev/null
    cluster_pids=()
}
cluster_empty() { [ -z "$(timeout 5 squeue -h 2>/dev/null)" ]; }
cluster_ended() {
    local p
    for p in "${cluster_pids[@]}"; do ! kill -0 "$p" 2>/dev/null || return 1; done
}
