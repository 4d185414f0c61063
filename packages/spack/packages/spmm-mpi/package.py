# The address of the published project is still missing: packages/README.md describes what to fill in, and how
# to install this from a tree until then (spack dev-build).
from spack.package import *

try:  # Spack 1.0 and newer have the build systems in the repository of packages
    from spack_repo.builtin.build_systems.cuda import CudaPackage
    from spack_repo.builtin.build_systems.makefile import MakefilePackage
except ImportError:
    pass


class SpmmMpi(MakefilePackage, CudaPackage):
    """Product of a sparse matrix and a dense multivector, distributed over MPI ranks that each use their cores or their
    GPU, and checked against the serial product: the programs spmm_mpi and series_mpi, and the library libspmm."""

    license("MIT")

    version("0.3.0")

    variant("nccl", default=False, when="+cuda", description="Move rows between GPUs with NCCL where it is fastest")
    variant("metis", default=False, description="Cut graphs of matrices with METIS (--partition graph)")
    variant("blas", default=False, when="+series", description="Let series_mpi multiply with OpenBLAS, to compare with")
    variant("compression", default=False, description="Read bzip2, xz and zstd files, and gzip files by ISA-L, twice as fast")
    variant("hwloc", default=False, description="Name the cores that are near a GPU")
    variant("fortran", default=False, description="Build the library's module for Fortran")
    variant("series", default=True, description="Build series_mpi, too")
    variant("baseline", default=True, description="Build the kernels that others are compared with")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+cuda")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("gmake", type="build")
    depends_on("mpi@3:")
    depends_on("zlib-api")
    depends_on("metis@5:", when="+metis")
    depends_on("openblas", when="+blas")
    depends_on("hwloc@2.1:", when="+hwloc")
    depends_on("isa-l", when="+compression")
    depends_on("bzip2", when="+compression")
    depends_on("xz", when="+compression")
    depends_on("zstd", when="+compression")
    depends_on("nccl", when="+nccl")
    depends_on("cuda@12:", when="+cuda")

    def settings(self):
        """Variables of make. Headers and libraries of dependencies are found by Spack's compiler wrapper, which mpicc
        calls."""
        spec = self.spec

        def chosen(name):
            return "1" if spec.satisfies(f"+{name}") else "0"

        found = [f"PREFIX={self.prefix}", f"MPICC={spec['mpi'].mpicc}", "NO_DEPS=1"]
        found += [f"{name.upper()}={chosen(name)}" for name in ("cuda", "nccl", "metis", "blas", "hwloc", "series", "baseline", "fortran")]
        # kernels of other libraries serve only for comparisons, which are built from the tree
        found += [f"{name}={chosen('compression')}" for name in ("ISAL", "BZIP2", "LZMA", "ZSTD")] + ["PEERS=0"]
        if spec.satisfies("+cuda"):
            found.append(f"NVCC={spec['cuda'].prefix.bin.nvcc}")
            archs = [arch for arch in spec.variants["cuda_arch"].value if arch != "none"]
            if archs:
                found.append(f"GPU_ARCH={' '.join(archs)}")
        if spec.satisfies("+nccl"):
            found.append(f"NCCL_HOME={spec['nccl'].prefix}")
        return found

    @property
    def build_targets(self):
        return self.settings() + ["build"]

    @property
    def install_targets(self):
        return self.settings() + ["install"]

    def test_product(self):
        """a product on one rank has the bits of the serial one"""
        program = which(self.prefix.bin.spmm_mpi)
        output = program("-d", "cpu", "-k", "4", "lap2d5:20", output=str.split, error=str.split)
        assert "PASS" in output
