# Sourced by tests/run and usable by hand: what a test run under mpirun needs, whatever the MPI.
# Open MPI takes its options from the environment (4: OMPI_MCA_, 5: also PRTE_MCA_); others ignore them.

export MPIRUN=${MPIRUN:-mpirun} MPICC=${MPICC:-mpicc}
# root is meant
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
# more ranks than cores: allowed, not bound, and a waiting rank leaves the core to a working one
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe PRTE_MCA_hwloc_default_binding_policy=none
export OMPI_MCA_mpi_yield_when_idle=1
# a job that failed ends at once: without this mpirun sleeps for one to four seconds, a minute or more of the
# tests
export OMPI_MCA_odls_base_sigkill_timeout=0
# more threads than cores, too: a waiting one must not spin
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}
# ranks of one machine talk through shared memory: no search for networks, no warning that there are none,
# and no single-copy transfers, which containers forbid
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader OMPI_MCA_btl_vader_single_copy_mechanism=none
export OMPI_MCA_btl_base_warn_component_unused=0
# hwloc, which both MPIs ask for the cores, looks for GPUs by OpenCL and CUDA, too: 200 MB and a second per
# rank (docs/SURPRISES.md)
export HWLOC_COMPONENTS=${HWLOC_COMPONENTS:--opencl,-cuda,-nvml,-gl}
# MPICH: its launcher starts the ranks itself; how they wait is mk/yield.c's subject
export HYDRA_LAUNCHER=fork

# sanitizers: MPI's own leaks are not ours, and what is not compiled for the one of threads it cannot judge;
# mk/yield.c may be loaded before their libraries
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:fast_unwind_on_malloc=0:allocator_may_return_null=1:verify_asan_link_order=0}
export LSAN_OPTIONS=${LSAN_OPTIONS:-suppressions=$PWD/tests/lsan.supp:print_suppressions=0}
export TSAN_OPTIONS=${TSAN_OPTIONS:-ignore_noninstrumented_modules=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}

if [ -z "${PYTHON:-}" ]; then
    PYTHON=python3
    for p in python3 /usr/bin/python3 python; do
        if $p -c 'import scipy.sparse' 2>/dev/null; then
            PYTHON=$p
            break
        fi
    done
fi
export PYTHON
