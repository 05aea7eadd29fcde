# SPDX-License-Identifier: MIT
# Runs a program and checks its exit code and its words, both (ctest's PASS_REGULAR_EXPRESSION does
# not look at the exit code). It is given no input: some wait for Enter.
#   cmake -D RUN=program;argument... -D EXIT=0 -D WORDS=regex -P expect.cmake
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND ${RUN} INPUT_FILE /dev/null
    RESULT_VARIABLE code OUTPUT_VARIABLE words ERROR_VARIABLE words)
message("${words}")
if(NOT code EQUAL "${EXIT}")
    message(FATAL_ERROR "exit code ${code}, expected ${EXIT}")
endif()
if(NOT words MATCHES "${WORDS}")
    message(FATAL_ERROR "no '${WORDS}' in what it printed")
endif()
