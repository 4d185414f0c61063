# Sourced by tests/run and usable by hand: the environment for tests under mpirun, for any MPI.
# Open MPI reads its options from the environment (4: OMPI_MCA_, 5: also PRTE_MCA_); others ignore them.

export MPIRUN=${MPIRUN:-mpirun} MPICC=${MPICC:-mpicc}
# mpirun refuses root otherwise
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
# more ranks than cores: allowed, not bound, and a waiting rank leaves its core to a working one
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe PRTE_MCA_hwloc_default_binding_policy=none
export OMPI_MCA_mpi_yield_when_idle=1
# end a failed job at once: mpirun would first sleep for one to four seconds, in all tests a minute or more
export OMPI_MCA_odls_base_sigkill_timeout=0
# more threads than cores, too: a waiting thread must not spin
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}
# ranks of one machine talk through shared memory: no search for networks, no warning that there are none,
# and no single-copy transfers, which containers forbid
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader OMPI_MCA_btl_vader_single_copy_mechanism=none
export OMPI_MCA_btl_base_warn_component_unused=0
# hwloc, by which both MPIs find the cores, also looks for GPUs by OpenCL and CUDA: 200 MB and a second per
# rank (docs/SURPRISES.md)
export HWLOC_COMPONENTS=${HWLOC_COMPONENTS:--opencl,-cuda,-nvml,-gl}
# MPICH: its launcher forks the ranks itself; see mk/yield.c for how they wait
export HYDRA_LAUNCHER=fork

# sanitizers: leaks of MPI are suppressed, ThreadSanitizer ignores code that is not compiled for it, and
# mk/yield.c may be loaded before the sanitizers' libraries
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
