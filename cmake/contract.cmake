# SPDX-License-Identifier: MIT
# mortise::contract: the contract suite, compiled in the project that asks for it. Included by
# mortiseConfig.cmake, which says where its sources are.
include(CMakeFindDependencyMacro)
find_dependency(GTest)
include("${CMAKE_CURRENT_LIST_DIR}/mortise-core-component.cmake")
if(NOT TARGET mortise_contract)
    file(GLOB_RECURSE _mortise_sources "${_mortise_contract}/*.cpp")
    # Objects, not an archive, of which nobody would ask for the tests. They are compiled where
    # something links them.
    add_library(mortise_contract OBJECT EXCLUDE_FROM_ALL ${_mortise_sources})
    add_library(mortise::contract ALIAS mortise_contract)
    target_include_directories(mortise_contract SYSTEM PUBLIC
        "${_mortise_contract}" "${_mortise_contract}/contract")
    target_compile_definitions(mortise_contract PUBLIC MORTISE_REQUIRE_SERVERS=0)
    target_link_libraries(mortise_contract PUBLIC mortise::core GTest::gmock_main)
    unset(_mortise_sources)
endif()
set(mortise_contract_FOUND TRUE)
