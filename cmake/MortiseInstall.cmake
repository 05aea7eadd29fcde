# SPDX-License-Identifier: MIT
# The part of the package that belongs to no component: what find_package(mortise) reads first.
#
# CMake has components of an installation, too, which are others: `library` (shared libraries),
# `development` (all that compiles and links), `tool`, and `licenses`. A package is made of each but
# the last, whose texts have their own place in it: packaging/README.md.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/mortise")
set(contract_dir "${CMAKE_INSTALL_DATADIR}/mortise/contract")
# It alone knows where it is, and so where the rest is: a package manager that moves these files
# (vcpkg) corrects the first lines of this one, and of no other.
configure_package_config_file(
    "${CMAKE_CURRENT_LIST_DIR}/mortiseConfig.cmake.in"
    "${PROJECT_BINARY_DIR}/package/mortiseConfig.cmake"
    INSTALL_DESTINATION "${package_dir}"
    PATH_VARS contract_dir
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

# The contract suite, as sources: a project that asks for it compiles it, with its own compiler and
# its own GoogleTest. Left out is what tests the core, and what puts our own backends to it.
set(tests "${PROJECT_SOURCE_DIR}/tests")
file(GLOB contract_tests RELATIVE "${tests}" CONFIGURE_DEPENDS "${tests}/contract/*_test.cpp")
list(FILTER contract_tests EXCLUDE REGEX
    "/(core_|late_answers|interface|short_of_memory|grounds)|_contract_test")
file(GLOB contract_support RELATIVE "${tests}" CONFIGURE_DEPENDS "${tests}/support/contract_*")
list(APPEND contract_support
    contract/mortise_contract.hpp
    model/build.hpp model/history.cpp model/history.hpp model/process.cpp model/process.hpp model/seed.hpp
    support/detached.hpp support/eventually.hpp support/grounds.hpp support/hostile_names.hpp support/needs.hpp
    support/own_time.cpp support/own_time.hpp support/system_call_filter.hpp support/taken_within.hpp)
foreach(file IN LISTS contract_tests contract_support)
    cmake_path(GET file PARENT_PATH folder)
    install(FILES "${tests}/${file}" DESTINATION "${contract_dir}/${folder}" COMPONENT development)
endforeach()
install(FILES "${CMAKE_CURRENT_LIST_DIR}/contract.cmake" RENAME mortise-contract-component.cmake
    DESTINATION "${package_dir}" COMPONENT development)

if(PROJECT_IS_TOP_LEVEL)
    include("${PROJECT_SOURCE_DIR}/packaging/debian/packages.cmake")
endif()
