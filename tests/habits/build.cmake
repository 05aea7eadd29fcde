# SPDX-License-Identifier: MIT
# Builds the library in a folder of its own, and lists the objects in objects.txt. OPTIONS: what else this build is
# configured with.
cmake_minimum_required(VERSION 3.25)

function(run)
    execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

separate_arguments(options UNIX_COMMAND "${OPTIONS}")
run("${CMAKE_COMMAND}" -G Ninja -S "${SOURCE_DIR}" -B "${WORK_DIR}"
    "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}" -DCMAKE_BUILD_TYPE=Debug
    -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DCMAKE_COMPILE_WARNING_AS_ERROR=ON -DMORTISE_BUILD_TESTS=OFF -DMORTISE_BUILD_BENCH=OFF
    ${options})
run("${CMAKE_COMMAND}" --build "${WORK_DIR}" --parallel 2)
file(GLOB_RECURSE objects "${WORK_DIR}/CMakeFiles/*.o")
list(JOIN objects "\n" text)
file(WRITE "${WORK_DIR}/objects.txt" "${text}\n")
