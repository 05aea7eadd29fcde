# SPDX-License-Identifier: MIT
# What ctest reads as it starts, for mortise_discover() in CMakeLists.txt: it asks a program for its
# suites, and each of them becomes a test of ctest's.

function(mortise_list_suites program filter list)
    execute_process(COMMAND "${program}" --gtest_list_tests "--gtest_filter=${filter}"
        OUTPUT_VARIABLE output TIMEOUT 30 COMMAND_ERROR_IS_FATAL ANY)
    # A suite stands at the beginning of its line and ends with a dot; its tests are indented.
    string(REGEX MATCHALL "\n[^ \n]+[.]" suites "\n${output}")
    list(TRANSFORM suites REPLACE "[\n.]" "")
    list(REMOVE_DUPLICATES suites)
    list(JOIN suites "\n" suites)
    file(WRITE "${list}" "${suites}\n")
endfunction()

# `list` is a file that keeps them until the program, or who asks, is newer.
function(mortise_add_suites program filter list labels timeout processors)
    if(NOT EXISTS "${program}")
        # With its labels: what the short run has no test of, it does not build.
        cmake_path(GET list STEM name)
        add_test(${name}_NOT_BUILT ${name}_NOT_BUILT)
        set_tests_properties(${name}_NOT_BUILT PROPERTIES LABELS "${labels}")
        return()
    endif()
    if(NOT EXISTS "${list}" OR "${program}" IS_NEWER_THAN "${list}"
            OR "${CMAKE_CURRENT_LIST_FILE}" IS_NEWER_THAN "${list}")
        mortise_list_suites("${program}" "${filter}" "${list}")
    endif()
    file(STRINGS "${list}" suites)
    foreach(suite IN LISTS suites)
        add_test("${suite}" "${program}" "--gtest_filter=${suite}.*")
        # A suite is skipped where each of its tests is: none has passed, and behind the list of those that
        # were skipped there is no list of those that have failed. ctest does not look at the exit status then.
        set(its_labels "${labels}")
        mortise_short_or_full("${suite}" its_labels)
        set_tests_properties("${suite}" PROPERTIES LABELS "${its_labels}" TIMEOUT ${timeout}
            PROCESSORS ${processors}
            SKIP_REGULAR_EXPRESSION "\\[  PASSED  \\] 0 tests[.]\n(\\[  SKIPPED \\][^\n]*\n*)+$")
    endforeach()
endfunction()
