#!/bin/bash
# What jobs/submit passes to sbatch, and what jobs run; needs no SLURM.
. tests/lib.sh
scratch

# site LINES...: a site.env for this test, with these lines
site() {
    cp jobs/site.env "$scratch/site.env"
    printf '%s\n' "$@" >>"$scratch/site.env"
}
# submit OPTIONS...: sets $out and $code to its output and exit code
submit() {
    out=$(SPMM_SITE=$scratch/site.env jobs/submit "$@" 2>&1)
    code=$?
}
# refused SENTENCE TEXT OPTIONS...: the exit code is 2, and the output contains TEXT
refused() {
    submit "${@:3}"
    if [ "$code" = 2 ] && [[ $out == *"$2"* ]]; then
        pass "$1"
    else
        printf '%s\n' "  exit code $code, expected 2 and \"$2\":" "$out"
        fail "$1"
    fi
}

site "SITE_RECORDS=$scratch/records"
submit cpu --dry-run
text "jobs/submit --dry-run prints the line of sbatch" \
    "sbatch --exclusive --output=$scratch/records/%x-%j.out jobs/cpu.sbatch jobs/studies/cpu.study" "$out"
ok "jobs/submit --dry-run makes no folder and exits with 0" test "$code" = 0 -a ! -e "$scratch/records"

site SITE_ACCOUNT=proj SITE_PARTITION_CPU=cores SITE_PARTITION_GPU=gpus 'SITE_SBATCH_OPTIONS="--qos=low --exclusive"'
submit cpu --dry-run --time=5
text "account, partition and options of site.env go on the line, the caller's behind them" \
    "sbatch --account=proj --partition=cores --qos=low --exclusive --output=records/%x-%j.out --time=5 jobs/cpu.sbatch" "$out"
submit gpu-node --dry-run
text "a job with GPUs goes to their partition" "--account=proj --partition=gpus" "$out"
submit many-nodes --dry-run --gpus-per-node=4
text "so does one that gets them by an option" "--partition=gpus" "$out"

printf '%s\n' 'matrices = lap2d5:9' '  ranks= 1  2 16 # few' >"$scratch/own.study"
submit strong --dry-run --study "$scratch/own.study" --gpus-per-node=1 "--comment=two words"
text "a scaling study is an array of its numbers of ranks" \
    "--array=1,2,16 --output=records/%x-%A_%a.out --gpus-per-node=1 --comment=two\\ words jobs/strong.sbatch $scratch/own.study" "$out"
text "its collecting job waits for the array, on the partition without GPUs" \
    "sbatch --account=proj --partition=cores --qos=low --dependency=afterany:JOBID --output=records/%x-%j.out --comment=two\\ words jobs/collect.sbatch $scratch/own.study" "$out"

out=$(cd "$scratch" && SPMM_SITE=site.env "$root/jobs/submit" strong --dry-run --study own.study 2>&1)
text "from another folder, files are of that folder" "SPMM_SITE=$scratch/site.env sbatch" "$out"
text "from another folder, the study too" "jobs/strong.sbatch $scratch/own.study" "$out"

ln -f "$scratch/own.study" "$scratch/hard.study"
ln -sf own.study "$scratch/soft.study"
for other in own.study ./own.study hard.study soft.study; do
    refused "an output of the job that is its study is refused: $other" "is the input $scratch/own.study" strong --dry-run --study "$scratch/own.study" "--output=$scratch/$other"
done
refused "so is one behind -e" "is the input" cpu --dry-run --study "$scratch/own.study" -e "$scratch/hard.study"
cp "$scratch/site.env" "$scratch/site.env.kept"
site "SITE_RECORDS=$scratch"
ln -f "$scratch/own.study" "$scratch/own.jsonl"
refused "so are records that are the study" "own.jsonl is the input" strong --dry-run --study "$scratch/own.study"
rm "$scratch/own.jsonl" && mv "$scratch/site.env.kept" "$scratch/site.env"

# ---- what differs from site to site ----

# line JOB: prints the sbatch line of that job, from sbatch on
line() { sed -n "s|^.*\(sbatch .*jobs/$1.sbatch .*\)|\1|p" <<<"$out"; }
# says SENTENCE LINE OPTIONS...: the sbatch line of the job that is first in OPTIONS contains LINE
says() {
    submit "${@:3}" --dry-run
    text "$1" "$2" "$(line "$3")"
}
# lacks SENTENCE WORD OPTIONS...: that line does not contain WORD
lacks() {
    submit "${@:3}" --dry-run
    if [ "$code" = 0 ] && [[ " $(line "$3") " != *" $2"* ]]; then pass "$1"; else
        printf '%s\n' "  exit code $code, has $2:" "$out"
        fail "$1"
    fi
}

: >"$scratch/site.env"
says "an empty site.env is one of defaults" "sbatch --exclusive --output=records/%x-%j.out jobs/cpu.sbatch jobs/studies/cpu.study" cpu
says "gpu-node without settings: four GPUs, a rank each" "sbatch --exclusive --gpus-per-node=4 --ntasks-per-node=4 --output" gpu-node

lacks "--oversubscribe of sbatch is not contradicted" --exclusive cpu --oversubscribe
lacks "nor is another --exclusive" "--exclusive " cpu --exclusive=user

site 'SITE_SBATCH_OPTIONS_CPU="-C cpu"' 'SITE_SBATCH_OPTIONS_GPU="-C gpu --account=m1234_g"' SITE_ACCOUNT=m1234 SITE_CORES_PER_NODE=128
says "jobs without GPUs get their options, and the cores of a node" \
    "sbatch --account=m1234 -C cpu --exclusive --cpus-per-task=16 --output" cpu
says "jobs with GPUs get theirs, the account last, and one rank per GPU" \
    "sbatch --account=m1234 -C gpu --account=m1234_g --exclusive --gpus-per-node=4 --ntasks-per-node=4 --cpus-per-task=32" gpu-node
says "other GPUs a node by hand give as many ranks" "--ntasks-per-node=8 --cpus-per-task=16 --output=records/%x-%j.out --gpus-per-node=8 jobs" gpu-node --gpus-per-node=8
says "of an array, too" "--ntasks-per-node=8 --cpus-per-task=16 --array" strong --nodes=2 --gpus-per-node 8
says "ranks by hand divide the cores" "--cpus-per-task=64 --output=records/%x-%j.out -G 2 --ntasks-per-node 2 jobs" gpu-node -G 2 --ntasks-per-node 2
lacks "cores by hand stay as they are" --cpus-per-task cpu -c 2
site SITE_GPUS_PER_NODE=8
says "nodes of 8 GPUs" "--gpus-per-node=8 --ntasks-per-node=8 --output" gpu-node
site 'SITE_SBATCH_OPTIONS_GPU="--gres=gpu:a100:4"' SITE_GPUS_PER_NODE=8
says "GPUs that site.env asks for by --gres give the ranks" "sbatch --gres=gpu:a100:4 --exclusive --ntasks-per-node=4 --output" gpu-node
lacks "and are asked for once" --gpus-per-node gpu-node
lacks "GPUs by hand replace them" "--gres=gpu:a100" gpu-node --gpus-per-node=2
lacks "a job without GPUs has none of it" --gres cpu

site SITE_EXCLUSIVE=no
lacks "SITE_EXCLUSIVE=no shares nodes" --exclusive cpu
site 'SITE_SBATCH_OPTIONS="--exclusive --mem=0"'
says "--exclusive is said once" "sbatch --exclusive --mem=0 --output" cpu
lacks "--no-exclusive shares nodes whatever site.env says" --exclusive cpu --no-exclusive

# the collecting job gets the options for who pays, where it waits and whom to notify, but not those for the
# nodes, cores, GPUs, time or memory of the other jobs
site 'SITE_SBATCH_OPTIONS="--qos=low --mem=0 --hint=nomultithread"' 'SITE_SBATCH_OPTIONS_CPU="-C cpu"' SITE_CORES_PER_NODE=64
submit strong --dry-run -A proj -q regular --partition big --reservation=r1 --mail-type=END --mail-user me@example.org -xn7 \
    --nodes=4 --gpus-per-node 4 -c 8 --time 4:00:00 --mem=3G -w n1,n2 --signal=B:TERM@99 --job-name=x
text "the collecting job gets the account, qos, partition, reservation and mail of the command line, and nothing of its nodes" \
    "sbatch --qos=low --constraint=cpu --dependency=afterany:JOBID --output=records/%x-%j.out -A proj -q regular --partition big --reservation=r1 --mail-type=END --mail-user me@example.org -xn7 jobs/collect.sbatch" \
    "$(line collect)"
text "the array gets all of it" "-A proj -q regular --partition big --reservation=r1 --mail-type=END --mail-user me@example.org -xn7 --nodes=4 --gpus-per-node 4 -c 8 --time 4:00:00 --mem=3G -w n1,n2 --signal=B:TERM@99 --job-name=x jobs/strong.sbatch" "$(line strong)"
says "collecting by itself gets what it is given" "sbatch --qos=low --constraint=cpu --output=records/%x-%j.out --mem=9G jobs/collect.sbatch" \
    collect --study jobs/studies/strong.study --mem=9G

for wrong in SITE_EXCLUSIVE=maybe SITE_LAUNCHER=prun SITE_BIND=core SITE_GPUS_PER_NODE=four SITE_CORES_PER_NODE=0; do
    site $wrong
    refused "$wrong is refused" "site.env: $wrong: expected" cpu --dry-run
done

# an sbatch that refuses the collecting job: the array must not remain alone
mkdir "$scratch/slurm" "$scratch/old"
cat >"$scratch/slurm/sbatch" <<'EOF'
#!/bin/bash
case "$*" in *collect.sbatch*) echo "sbatch: error: Invalid account" >&2 && exit 7 ;; esac
echo "42;cluster1"
EOF
printf '%s\n' '#!/bin/bash' "echo \"\$*\" >$scratch/canceled" >"$scratch/slurm/scancel"
chmod +x "$scratch"/slurm/*
site "SITE_RECORDS=$scratch/records"
PATH=$scratch/slurm:$PATH submit strong
text "where sbatch refuses the collecting job, it says why" "Invalid account" "$out"
ok "its exit code is that of jobs/submit" test "$code" = 7
text "and the array is canceled, on its cluster" "-M cluster1 42" "$(cat "$scratch/canceled" 2>&1)"

# ---- within a job ----

# launched SETTINGS...: sets $out to the words before the program for 8 ranks, 4 on a node, with 2 cores each;
# mpirun --version prints $mpirun_says
launched() {
    site "$@"
    printf '%s\n' '#!/bin/bash' "echo '$mpirun_says'" >"$scratch/slurm/mpirun"
    chmod +x "$scratch/slurm/mpirun"
    out=$(SPMM_SITE=$scratch/site.env SLURM_NTASKS_PER_NODE=4 SLURM_CPUS_PER_TASK=2 PATH=$scratch/slurm:$PATH \
        bash -c '. jobs/common.sh && launcher 8 && echo "$GREETING" && env | grep keepalive | sort' 2>&1)
    code=$?
}
mpirun_says="mpirun (Open MPI) 4.1.4"
launched SITE_LAUNCHER=srun SITE_MPI=
text "srun without SITE_MPI leaves the site's default" "srun -N 2 -n {ranks} -c 2 --distribution=block:block --cpu-bind=cores" "$out"
sed -i '/^SITE_MPI/d' "$scratch/site.env"
out=$(SPMM_SITE=$scratch/site.env bash -c '. jobs/common.sh && launcher 8' 2>&1)
text "so it does where site.env has no line SITE_MPI" "srun -N 1 -n {ranks}" "$out"
launched SITE_LAUNCHER=srun SITE_MPI=cray_shasta
text "srun gets SITE_MPI" "srun --mpi=cray_shasta -N 2" "$out"
launched SITE_LAUNCHER=
text "Open MPI's mpirun" "mpirun -np {ranks} --map-by ppr:4:node:PE=2 --bind-to core" "$out"
mpirun_says="HYDRA build details:"
launched
text "MPICH's mpirun" "mpirun -np {ranks} -ppn 4 -bind-to core:2" "$out"
launched SITE_BIND=none
text "MPICH's, not binding" "mpirun -np {ranks} -ppn 4 -bind-to none" "$out"
launched SITE_LAUNCHER=openmpi SITE_LAUNCHER_OPTIONS='"--mca pml ucx"'
text "a launcher that is named is not asked whose it is" "--map-by ppr:4:node:PE=2 --bind-to core --mca pml ucx" "$out"
mpirun_says="Intel(R) MPI Library for Linux* OS, Version 2021.12 Build 20240213"
launched
text "Intel MPI's mpirun" "env I_MPI_JOB_RESPECT_PROCESS_PLACEMENT=off I_MPI_PIN_DOMAIN=2:compact mpirun -np {ranks} -ppn 4" "$out"
mpirun_says="some other"
launched
text "an mpirun that does not say whose it is" "SITE_LAUNCHER=openmpi, mpich or intelmpi" "$out"
ok "ends the job" test "$code" = 2
launched SITE_LAUNCHER=openmpi "SITE_SETUP='export GREETING=hello; module() { :; }
    GREETING+=\" world\"
    export OMPI_MCA_oob_tcp_keepalive_time=77'" 
text "SITE_SETUP is run in the job, line by line" "hello world" "$out"
text "mpirun of Open MPI is told to look after its connections, as SITE_SETUP says where it does" \
    "keepalive_intvl=10"$'\n'"OMPI_MCA_oob_tcp_keepalive_probes=4"$'\n'"OMPI_MCA_oob_tcp_keepalive_time=77" "$out"
launched "SITE_SETUP='false'"
ok "and ends it where its last line fails" test "$code" = 4

# the version of Python is checked before other code is parsed, also by old Pythons
printf '%s\n' '#!/bin/bash' 'exec '"$(command -v python3)"' -c "import sys
sys.version_info = (3, 6, 15, \"final\", 0)
sys.argv = sys.argv[1:]
import runpy
sys.path.insert(0, \"jobs\")
if sys.argv[0] == \"-c\": exec(sys.argv[1])
else: runpy.run_path(sys.argv[0], run_name=\"__main__\")" "$@"' >"$scratch/old/python3"
chmod +x "$scratch/old/python3"
for command in study scaling report compare conversions; do
    out=$(PATH=$scratch/old:$PATH jobs/$command --help 2>&1)
    ok "jobs/$command ends on an old Python" test $? = 2
    text "jobs/$command says which it found, and which it needs" "$command: error: found Python 3.6" "$out"
done
rm "$scratch/site.env" && site "SITE_RECORDS=$scratch/records"
PATH=$scratch/old:$scratch/slurm:$PATH refused "jobs/submit says so, too" "found Python 3.6" cpu
site SITE_MODULES=python
PATH=$scratch/slurm:$scratch/old:$PATH submit cpu
ok "but not where modules may bring another" test "$code" = 0
out=$(SPMM_SITE=$scratch/site.env PATH=$scratch/old:$PATH bash -c 'module() { :; }; . jobs/common.sh' 2>&1)
text "a job says so before it begins" "found Python 3.6" "$out"
for python in python2.7 python3.6; do
    if $python -c 0 2>/dev/null; then
        out=$($python jobs/study 2>&1)
        text "$python reads as far as that" "study: error: found Python ${python#python}" "$out"
    else
        skip "$python reads as far as that" "no $python"
    fi
done

# ---- what is refused ----

refused "no name of a job is a usage error that lists them" "NAME: collect, cpu, gpu-node, many-nodes, strong, weak" --dry-run
refused "an unknown job is named" "no job jobs/nix.sbatch" nix --dry-run
refused "and without the controls that it may have" "jobs/a?[31m?b.sbatch" $'a\e[31m\nb' --dry-run
refused "a missing study is named" "no study nix.study" cpu --dry-run --study nix.study
refused "--study without a file is a usage error" "--study FILE" cpu --study
echo 'matrices = lap2d5:9' >"$scratch/own.study"
refused "an array over a study without ranks is refused" "no line" weak --dry-run --study "$scratch/own.study"
if command -v sbatch >/dev/null; then
    mkdir "$scratch/bin"
    for tool in bash dirname realpath grep sed tr mkdir; do ln -s "$(command -v $tool)" "$scratch/bin/$tool"; done
    PATH=$scratch/bin refused "without sbatch on the PATH it says so" "no sbatch on the PATH" cpu
else
    refused "without sbatch on the PATH it says so" "no sbatch on the PATH" cpu
fi
rm "$scratch/site.env"
refused "a missing site.env is named" "no file $scratch/site.env" cpu --dry-run

out=$(cd "$scratch" && bash "$root/jobs/cpu.sbatch" 2>&1)
ok "a job that was submitted from another folder ends" test $? = 2
text "and names the file that is not there" "jobs/common.sh" "$out"

# each job requests a signal before the time limit, and each study can be read
for file in jobs/*.sbatch; do
    [ "$file" = jobs/collect.sbatch ] ||
        ok "$file: SIGTERM comes to its shell before the time limit" grep -q '^#SBATCH --signal=B:TERM@60$' "$file"
    ok "$file is a script that bash can read" bash -n "$file"
done
kernels=$("$SPMM_MPI" --list-kernels)
for file in jobs/studies/*.study; do
    if [[ $kernels != *cpu_serial* ]] && grep -q '^serial *= *yes' "$file"; then
        skip "jobs/study reads $file" "the build is without the baseline kernels (BASELINE=0)"
        continue
    fi
    ok "jobs/study reads $file" jobs/study --dry-run --program "$SPMM_MPI" --records "$scratch/none.jsonl" "$file"
done
finish
