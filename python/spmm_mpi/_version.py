"""The version of libspmm whose structures and functions _library.py mirrors: SPMM_VERSION of include/spmm_types.h."""
VERSION = "0.3.0"
