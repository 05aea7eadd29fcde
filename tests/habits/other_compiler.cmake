# SPDX-License-Identifier: MIT
# Builds the library, the tool and the examples with another compiler than the tests are built with.
cmake_minimum_required(VERSION 3.25)

function(run)
    execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

run("${CMAKE_COMMAND}" -G Ninja -S "${SOURCE_DIR}" -B "${WORK_DIR}"
    "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}" -DCMAKE_BUILD_TYPE=Debug
    -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DCMAKE_COMPILE_WARNING_AS_ERROR=ON -DMORTISE_BUILD_TESTS=OFF -DMORTISE_BUILD_BENCH=OFF
    -DMORTISE_BUILD_EXAMPLES=ON -DMORTISE_BUILD_TOOL=ON)
run("${CMAKE_COMMAND}" --build "${WORK_DIR}" --parallel 2)
