"""Settings that pyproject.toml cannot express: setuptools writes its intermediate files, build/ and
spmm_mpi.egg-info/, to a temporary folder instead of the tree."""
import atexit
import shutil
import tempfile

import setuptools

made = tempfile.mkdtemp(prefix="spmm_mpi-")
atexit.register(shutil.rmtree, made, ignore_errors=True)
setuptools.setup(options={"build": {"build_base": made}, "egg_info": {"egg_base": made}})
