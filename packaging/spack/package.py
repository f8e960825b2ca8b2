from spack.package import *


class Hinge(MesonPackage):
    """Dense kernel support vector machines, trained exactly at the speed of BLAS."""

    homepage = "https://hinge.example.org"
    url = "https://hinge.example.org/hinge-@version@.tar.xz"

    license("BSD-3-Clause")

    version("@version@", sha256="@sha256@")

    variant("tools", default=True, description="the command hinge")
    variant("compat", default=True, description="the interface of LIBSVM")
    variant("mpi", default=False, description="training over MPI")
    variant("xz", default=True, description="read .xz data")
    variant("gz", default=True, description="read .gz data")

    depends_on("c", type="build")
    depends_on("meson@1.0:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("openblas threads=openmp")
    depends_on("mpi", when="+mpi")
    depends_on("xz", when="+xz")
    depends_on("zlib-api", when="+gz")

    def meson_args(self):
        args = ["-Dexamples=disabled", "-Dtest=disabled", "-Dbenchmarks=disabled"]
        for name in ("tools", "compat", "mpi", "xz", "gz"):
            args.append(f"-D{name}={'enabled' if f'+{name}' in self.spec else 'disabled'}")
        return args
