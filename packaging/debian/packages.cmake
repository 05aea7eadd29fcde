# SPDX-License-Identifier: MIT
# CPack makes three packages for Debian: the shared libraries, the development files, and the tool.
# The name of the first has the version of the SONAME, so two versions can be installed side by side.
set(MORTISE_PACKAGER "Mortise packager <packager@example.org>" CACHE STRING
    "Maintainer of the packages: name and address")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR "${MORTISE_PACKAGER}")
set(CPACK_PACKAGE_CONTACT "${MORTISE_PACKAGER}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
# Independent of the umask of the build.
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_COMPONENTS_ALL library development)
if(TARGET mortise_tool)
    list(APPEND CPACK_COMPONENTS_ALL tool)
endif()
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # each package has its own summary
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "distributed locks for C++ services - libraries
One API for locks on Redis, a quorum of Redis servers, ZooKeeper,
PostgreSQL, and the files of one host. This package has the shared libraries.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "distributed locks for C++ services - development files
One API for locks on Redis, a quorum of Redis servers, ZooKeeper,
PostgreSQL, and the files of one host. This package has the headers, the
files for CMake and pkg-config, and the PostgreSQL schema.")
set(CPACK_COMPONENT_TOOL_DESCRIPTION "distributed locks for the shell
The program mortise runs a command while it holds a lock on Redis, a quorum
of Redis servers, ZooKeeper, PostgreSQL, or the files of one host. It can
also run a command once and remember its output, and list the holders and
waiters of locks.")
set(CPACK_COMPONENT_DEVELOPMENT_DEPENDS library)
set(CPACK_COMPONENT_TOOL_DEPENDS library)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SOURCE mortise)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME
    "libmortise${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA "${CMAKE_CURRENT_LIST_DIR}/triggers")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libmortise-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_TOOL_PACKAGE_NAME mortise)
set(CPACK_DEBIAN_TOOL_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
# The dependencies come from the binaries. Our own libraries are not installed yet.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
# Before 1.0 the library names include the minor version, and a patch release keeps the ABI.
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY >=)

# Adds the files that every package needs besides the installed ones.
set(CPACK_PRE_BUILD_SCRIPTS "${CMAKE_CURRENT_LIST_DIR}/finish.cmake")
include(CPack)
