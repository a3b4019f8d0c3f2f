"""A recipe for Conan 2: conan create subprojects/packagefiles/conan -s compiler.cppstd=20 --build missing. It packages the
source tree that it lies in."""
import os

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, rmdir
from conan.tools.gnu import PkgConfigDeps
from conan.tools.layout import basic_layout
from conan.tools.meson import Meson, MesonToolchain

TREE = ("meson.build", "meson_options.txt", "LICENSE", "include/*", "lib/*", "bench/*", "samples/*", "test/*")


class ReelConan(ConanFile):
    name = "reel"
    version = "0.2.0"
    license = "Apache-2.0"
    description = "Automatic differentiation of dense arrays: gradient tapes, forward mode, fused SIMD kernels"
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "lapack": [True, False]}
    default_options = {"shared": True, "lapack": True}

    def export_sources(self):
        root = os.path.join(self.recipe_folder, "..", "..", "..")
        for pattern in TREE:
            copy(self, pattern, root, self.export_sources_folder, excludes="*/__pycache__/*")

    def layout(self):
        basic_layout(self)

    def validate(self):
        check_min_cppstd(self, 20)
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("reel is for Linux only")

    def requirements(self):
        self.requires("fmt/[>=9]")
        self.requires("onetbb/[>=2021]")
        self.requires("sleef/[>=3.5]")
        self.requires("xsimd/[>=8.1]")
        if self.options.lapack:
            self.requires("openblas/[>=0.3]")
        # Optional for Meson, which would take those of the system: named, so that a package is the same everywhere.
        self.requires("nlohmann_json/[>=3]")
        self.requires("zlib/[>=1.2]")

    def build_requirements(self):
        self.tool_requires("meson/[>=1.0]")

    def generate(self):
        PkgConfigDeps(self).generate()
        toolchain = MesonToolchain(self)
        toolchain.project_options["tests"] = "disabled"
        toolchain.project_options["samples"] = "false"
        toolchain.project_options["mpi"] = "disabled"
        toolchain.project_options["lapack"] = "enabled" if self.options.lapack else "disabled"
        toolchain.generate()

    def build(self):
        meson = Meson(self)
        meson.configure()
        meson.build()

    def package(self):
        Meson(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        # Conan's generators write these for its own folders.
        for folder in ("cmake", "pkgconfig"):
            rmdir(self, os.path.join(self.package_folder, "lib", folder))

    def package_info(self):
        self.cpp_info.libs = ["reel"]
        self.cpp_info.system_libs = ["m", "pthread"]
        self.cpp_info.set_property("pkg_config_name", "reel")
        self.cpp_info.set_property("cmake_target_name", "reel::reel")
        self.cpp_info.set_property("cmake_config_version_compat", "SameMinorVersion")
