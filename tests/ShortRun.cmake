# SPDX-License-Identifier: MIT
# What the short run leaves to the full one: ./dev test, and ./dev test rest. Read by CMake, and by ctest as it starts.

# Tests that `regex` matches as a whole.
set(mortise_tests_of_full
)

# Test programs of which the short run has no test: it does not build them.
set(mortise_programs_of_full
)

# Adds the label `full` to a test that is not in the short run.
function(mortise_short_or_full name labels)
    foreach(regex IN LISTS mortise_tests_of_full)
        if(name MATCHES "^(${regex})$" AND NOT "long" IN_LIST ${labels})
            set(${labels} ${${labels}} full PARENT_SCOPE)
            return()
        endif()
    endforeach()
endfunction()
