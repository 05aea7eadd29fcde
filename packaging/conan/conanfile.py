# SPDX-License-Identifier: MIT
# Mortise for Conan 2: conan create packaging/conan
#
# By default it uses the libraries of the system, under their Debian names. With
# `-o "&:system_libs=False"` it uses the libraries of the remotes. They have no ZooKeeper client, so
# that backend is then left out.
import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load
from conan.tools.system.package_manager import Apt

required_conan_version = ">=2.0"


class MortiseConan(ConanFile):
    name = "mortise"
    license = "MIT"
    description = "Distributed locks for C++20 services: one Lock, the same meaning on every backend"
    topics = ("lock", "mutex", "lease", "redis", "zookeeper", "postgresql")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {
        "shared": [True, False],
        "fPIC": [True, False],
        "system_libs": [True, False],
        "with_redis": [True, False],
        "with_postgres": [True, False],
        "with_zookeeper": [True, False],
        "with_tool": [True, False],
    }
    default_options = {
        "shared": False,
        "fPIC": True,
        "system_libs": True,
        "with_redis": True,
        "with_postgres": True,
        "with_zookeeper": True,
        "with_tool": False,
    }
    implements = ["auto_shared_fpic"]

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, "../../include/mortise/version.hpp"))
        self.version = ".".join(re.findall(r"#define MORTISE_VERSION_\w+ (\d+)", header))

    def export_sources(self):
        root = os.path.join(self.recipe_folder, "../..")
        for pattern in ("CMakeLists.txt", "LICENSE", "LICENSES/*", "CHANGELOG.md", "cmake/*", "include/*",
                        "src/*", "tool/*", "packaging/debian/*", "tests/contract/*", "tests/support/*",
                        "tests/model/*"):
            copy(self, pattern, root, self.export_sources_folder)

    def config_options(self):
        if not self.options.system_libs:
            del self.options.with_zookeeper

    def requirements(self):
        if self.options.system_libs:
            return
        if self.options.with_redis:
            self.requires("hiredis/[>=1.0 <2]")
            self.requires("openssl/[>=3 <4]")
        if self.options.with_postgres:
            self.requires("libpq/[>=14]")
        if self.options.with_tool:
            self.requires("cli11/[>=2.1 <3]")
            self.requires("nlohmann_json/[>=3 <4]")

    def system_requirements(self):
        if not self.options.system_libs:
            return
        wanted = []
        if self.options.with_redis:
            wanted += ["libhiredis-dev", "libssl-dev"]
        if self.options.with_postgres:
            wanted += ["libpq-dev"]
        if self.options.with_zookeeper:
            wanted += ["libzookeeper-st-dev", "libssl-dev"]
        if self.options.with_tool:
            wanted += ["libcli11-dev", "nlohmann-json3-dev"]
        Apt(self).install(wanted, check=True)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        for test in ("TESTS", "BENCH", "EXAMPLES"):
            toolchain.cache_variables[f"MORTISE_BUILD_{test}"] = False
        toolchain.cache_variables["MORTISE_PROMETHEUS"] = "OFF"
        toolchain.cache_variables["CMAKE_UNITY_BUILD"] = True  # a third of the time
        toolchain.cache_variables["MORTISE_BUILD_TOOL"] = "ON" if self.options.with_tool else "OFF"
        for backend in ("redis", "postgres", "zookeeper"):
            toolchain.cache_variables[f"MORTISE_WITH_{backend.upper()}"] = bool(
                self.options.get_safe(f"with_{backend}"))
        # The kit for authors of stores needs OpenSSL, which the package has for Redis.
        toolchain.cache_variables["MORTISE_WITH_REMOTE"] = bool(self.options.with_redis)
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE*", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        # Its own CMake files define the components; the files that Conan generates do not.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/mortise"]
