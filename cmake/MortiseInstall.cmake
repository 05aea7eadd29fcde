# SPDX-License-Identifier: MIT
# The part of the package that belongs to no component: what find_package(mortise) reads first.
#
# CMake has components of an installation, too, which are others: `library` (shared libraries),
# `development` (all that compiles and links), `tool`, and `licenses`. A package is made of each but
# the last, whose texts have their own place in it: packaging/README.md.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/mortise")
configure_package_config_file(
    "${CMAKE_CURRENT_LIST_DIR}/mortiseConfig.cmake.in"
    "${PROJECT_BINARY_DIR}/package/mortiseConfig.cmake"
    INSTALL_DESTINATION "${package_dir}"
    NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(
    "${PROJECT_BINARY_DIR}/package/mortiseConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion)
install(FILES
    "${PROJECT_BINARY_DIR}/package/mortiseConfig.cmake"
    "${PROJECT_BINARY_DIR}/package/mortiseConfigVersion.cmake"
    DESTINATION "${package_dir}" COMPONENT development)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE"
    DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT licenses)
if(PROJECT_IS_TOP_LEVEL)
    include("${PROJECT_SOURCE_DIR}/packaging/debian/packages.cmake")
endif()
