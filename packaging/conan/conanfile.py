"""Conan 2: `conan create packaging/conan` in the source. OpenBLAS with LAPACK is Conan's own where openblas=True, else the
system's (on Debian libopenblas-openmp-dev and liblapacke-dev)."""
import os
import re

from conan import ConanFile
from conan.tools.files import copy, rmdir
from conan.tools.gnu import PkgConfigDeps
from conan.tools.layout import basic_layout
from conan.tools.meson import Meson, MesonToolchain


class Hinge(ConanFile):
    name = "hinge"
    license = "BSD-3-Clause"
    description = "Dense kernel support vector machines, trained exactly at the speed of BLAS"
    homepage = "https://hinge.example.org"
    topics = ("svm", "machine-learning", "blas", "openmp")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], "tools": [True, False], "openblas": [True, False],
               "compression": [True, False]}
    default_options = {"shared": False, "fPIC": True, "tools": True, "openblas": True, "compression": True,
                       "openblas/*:build_lapack": True, "openblas/*:use_openmp": True}
    implements = ["auto_shared_fpic"]
    languages = "C"

    def set_version(self):
        with open(os.path.join(self.recipe_folder, "../../meson.build"), encoding="utf-8") as build:
            self.version = re.search(r"version: '([\d.]+)'", build.read())[1]

    def export_sources(self):
        top = os.path.join(self.recipe_folder, "../..")
        for pattern in ("meson.build", "meson_options.txt", "LICENSE", "*.md", "include/*", "lib/*", "kernels/*", "solver/*",
                        "mpi/*", "compat/*", "tools/*", "scripts/*", "doc/*", "examples/*", "data/*"):
            copy(self, pattern, top, self.export_sources_folder, excludes="build*")

    def requirements(self):
        if self.options.openblas:
            self.requires("openblas/[>=0.3.20]")
        if self.options.compression:
            self.requires("xz_utils/[>=5.4]")
            self.requires("zlib/[>=1.2.11 <2]")

    def layout(self):
        basic_layout(self)

    def generate(self):
        PkgConfigDeps(self).generate()
        toolchain = MesonToolchain(self)
        on = {True: "enabled", False: "disabled"}
        toolchain.project_options.update({
            "tools": on[bool(self.options.tools)], "xz": on[bool(self.options.compression)],
            "gz": on[bool(self.options.compression)], "compat": "disabled", "examples": "disabled", "test": "disabled",
            "benchmarks": "disabled", "mpi": "disabled", "wrap_mode": "nofallback"})
        toolchain.generate()

    def build(self):
        meson = Meson(self)
        meson.configure()
        meson.build()

    def package(self):
        Meson(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        for folder in ("lib/pkgconfig", "lib/cmake", "share"):
            rmdir(self, os.path.join(self.package_folder, folder))

    def package_info(self):
        self.cpp_info.libs = ["hinge"]
        self.cpp_info.set_property("pkg_config_name", "hinge")
        self.cpp_info.set_property("cmake_file_name", "hinge")
        self.cpp_info.set_property("cmake_target_name", "hinge::hinge")
        if not self.options.shared:
            self.cpp_info.sharedlinkflags = self.cpp_info.exelinkflags = ["-fopenmp"]
            self.cpp_info.system_libs = ["m"] if self.options.openblas else ["lapacke", "openblas", "m"]
