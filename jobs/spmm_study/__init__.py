"""Studies of spmm_mpi: running them, and reading what they recorded."""
