# SPDX-License-Identifier: MIT
# Three packages for Debian, by CPack: the shared libraries, under a name that has their SONAME's
# version, so that two may be installed beside each other; what compiles and links; the tool.
set(MORTISE_PACKAGER "Mortise packager <packager@example.org>" CACHE STRING
    "Who answers for the packages: name and address")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR "${MORTISE_PACKAGER}")
set(CPACK_PACKAGE_CONTACT "${MORTISE_PACKAGER}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
# Whatever the umask of whoever makes them.
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_COMPONENTS_ALL library development)
if(TARGET mortise_tool)
    list(APPEND CPACK_COMPONENTS_ALL tool)
endif()
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # each has its own first line
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "distributed locks for C++ services - libraries
One lock with the same meaning on Redis, a quorum of them, ZooKeeper,
PostgreSQL, and files of one host. These are the shared libraries.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "distributed locks for C++ services - development files
One lock with the same meaning on Redis, a quorum of them, ZooKeeper,
PostgreSQL, and files of one host. These are the headers, the files for
CMake and pkg-config, and PostgreSQL's schema.")
set(CPACK_COMPONENT_TOOL_DESCRIPTION "distributed locks for the shell
The program mortise runs a command while it holds a lock on Redis, a quorum
of them, ZooKeeper, PostgreSQL, or files of one host; runs one once and
remembers its output; and tells who holds what, and who waits.")
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
# What the programs themselves say that they need; ours among it is not installed yet.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
# Before 1.0 the names of the libraries have the minor version, and a patch breaks no ABI.
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY >=)

# What every package has to bring beside what is installed.
set(CPACK_PRE_BUILD_SCRIPTS "${CMAKE_CURRENT_LIST_DIR}/finish.cmake")
include(CPack)
