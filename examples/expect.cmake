# SPDX-License-Identifier: MIT
# Runs a program, and checks its exit code and its output. (PASS_REGULAR_EXPRESSION of ctest does not
# check the exit code.) The program gets no input, because some examples wait for Enter.
#   cmake -D RUN=program;argument... -D NAME=example -D EXIT=0 -D OUTPUT=regex -P expect.cmake
# With OUTPUT=@page the page states the output, in the block that follows <!-- output: example -->. There
# `...` stands for any text within a line.
cmake_minimum_required(VERSION 3.25)

if(OUTPUT MATCHES "^@(.*)$")
    set(page "${CMAKE_MATCH_1}")
    file(READ "${page}" text)
    if(NOT text MATCHES "<!-- output: ${NAME} -->\n```[a-z]*\n([^`]*)\n```\n")
        message(FATAL_ERROR "${page}: no block follows <!-- output: ${NAME} -->")
    endif()
    string(REGEX REPLACE "([][+.*()^$?|\\])" "\\\\\\1" OUTPUT "${CMAKE_MATCH_1}")
    string(REPLACE "\\.\\.\\." "[^\n]*" OUTPUT "${OUTPUT}")
endif()

execute_process(COMMAND ${RUN} INPUT_FILE /dev/null
    RESULT_VARIABLE code OUTPUT_VARIABLE printed ERROR_VARIABLE printed)
message("${printed}")
if(NOT code EQUAL "${EXIT}")
    message(FATAL_ERROR "exit code ${code}, expected ${EXIT}")
endif()
if(NOT printed MATCHES "${OUTPUT}")
    message(FATAL_ERROR "the output does not match:\n${OUTPUT}")
endif()
