#!/bin/bash
# What jobs/submit would tell sbatch; needs no SLURM.
. tests/lib.sh
scratch

# a site of the test's own
site() {
    cp jobs/site.env "$scratch/site.env"
    printf '%s\n' "$@" >>"$scratch/site.env"
}
# submit OPTIONS...: its output and exit code in $out and $code
submit() {
    out=$(SPMM_SITE=$scratch/site.env jobs/submit "$@" 2>&1)
    code=$?
}
# refused SENTENCE TEXT OPTIONS...
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
    "sbatch --output=$scratch/records/%x-%j.out jobs/cpu.sbatch jobs/studies/cpu.study" "$out"
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
    "sbatch --account=proj --partition=cores --qos=low --exclusive --dependency=afterany:JOBID --output=records/%x-%j.out jobs/collect.sbatch $scratch/own.study" "$out"

out=$(cd "$scratch" && SPMM_SITE=site.env "$root/jobs/submit" strong --dry-run --study own.study 2>&1)
text "from another folder, files are of that folder" "SPMM_SITE=$scratch/site.env sbatch" "$out"
text "from another folder, the study too" "jobs/strong.sbatch $scratch/own.study" "$out"

refused "no name of a job is a usage error that lists them" "NAME: collect, cpu, gpu-node, many-nodes, strong, weak" --dry-run
refused "an unknown job is named" "no job jobs/nix.sbatch" nix --dry-run
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

# each job says what the time limit needs, and each study can be read
for file in jobs/*.sbatch; do
    [ "$file" = jobs/collect.sbatch ] ||
        ok "$file: SIGTERM comes to its shell before the time limit" grep -q '^#SBATCH --signal=B:TERM@60$' "$file"
    ok "$file is a script that bash can read" bash -n "$file"
done
for file in jobs/studies/*.study; do
    ok "jobs/study reads $file" jobs/study --dry-run --program "$SPMM_MPI" --records "$scratch/none.jsonl" "$file"
done
finish
