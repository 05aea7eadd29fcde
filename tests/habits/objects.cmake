# SPDX-License-Identifier: MIT
# Compiles each source of the library by itself, and lists the objects in objects.txt.
cmake_minimum_required(VERSION 3.25)

function(run)
    execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

run("${CMAKE_COMMAND}" -G Ninja -S "${SOURCE_DIR}" -B "${WORK_DIR}"
    "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}" -DCMAKE_BUILD_TYPE=Debug
    -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DCMAKE_COMPILE_WARNING_AS_ERROR=ON -DMORTISE_UNITY=OFF
    -DMORTISE_BUILD_TESTS=OFF -DMORTISE_BUILD_BENCH=OFF -DMORTISE_BUILD_EXAMPLES=OFF -DMORTISE_BUILD_TOOL=OFF)
run("${CMAKE_COMMAND}" --build "${WORK_DIR}" --parallel 2)
file(GLOB_RECURSE objects "${WORK_DIR}/CMakeFiles/*.o")
list(JOIN objects "\n" text)
file(WRITE "${WORK_DIR}/objects.txt" "${text}\n")
