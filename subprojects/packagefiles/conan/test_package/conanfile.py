"""Builds test/consumers/consumer.cpp against the package, by CMake and by pkg-config, and runs both programs."""
import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeToolchain
from conan.tools.layout import basic_layout


class ReelTest(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps", "PkgConfigDeps"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        basic_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()
        consumer = os.path.join(self.source_folder, "..", "..", "..", "..", "test", "consumers", "consumer.cpp")
        self.run(f'c++ -std=c++20 -o by_pkgconfig "{consumer}" '
                 f'$(PKG_CONFIG_PATH="{self.generators_folder}" pkg-config --cflags --libs reel)')

    def test(self):
        if can_run(self):
            for program in ("by_cmake", "by_pkgconfig"):
                self.run(os.path.join(self.build_folder, program), env="conanrun")
