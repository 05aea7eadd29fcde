# SPDX-License-Identifier: MIT
# One step of a package test: cmake -D STEP=... -D WORK_DIR=... -P run.cmake (see CMakeLists.txt).
cmake_minimum_required(VERSION 3.25)

set(consumer "${CMAKE_CURRENT_LIST_DIR}/consumer")

# Runs a command; its failure is ours.
function(run)
    execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Runs the consumer, which has to print the fencing token of the lock that it took.
function(run_consumer)
    execute_process(COMMAND ${ARGV} OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
    if(NOT output MATCHES "^token [1-9][0-9]*\n$")
        message(FATAL_ERROR "the consumer printed '${output}'")
    endif()
    message(STATUS "the consumer printed: ${output}")
endfunction()

# Configures `source` in WORK_DIR/build. Without optimisation: what programs do is tested elsewhere,
# how they are built and find the library is tested here.
set(configure "${CMAKE_COMMAND}" -G Ninja -B "${WORK_DIR}/build"
    "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}"
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O0 "-DCMAKE_PREFIX_PATH=${PREFIX}")
set(build "${CMAKE_COMMAND}" --build "${WORK_DIR}/build" --parallel 2)

# Configures `source`, which has to be refused with `words`.
function(refused source words)
    execute_process(COMMAND ${configure} -S "${source}" ${ARGN}
        RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
    string(REGEX REPLACE "[ \n]+" " " output "${output}")
    if(result EQUAL 0 OR NOT output MATCHES "${words}")
        message(FATAL_ERROR "expected a refusal with '${words}', got (${result}): ${output}")
    endif()
    message(STATUS "refused with: ${words}")
endfunction()

file(REMOVE_RECURSE "${WORK_DIR}/prefix")
if(NOT STEP MATCHES "^(add_subdirectory|install)$")
    file(REMOVE_RECURSE "${WORK_DIR}")
endif()
file(MAKE_DIRECTORY "${WORK_DIR}")

if(STEP STREQUAL "install")
    # Built anew: the library that the tests link has deliberate mistakes in it, which only they switch on.
    run(${configure} -S "${SOURCE_DIR}" -D MORTISE_BUILD_TESTS=OFF -D MORTISE_BUILD_BENCH=OFF
        -D MORTISE_BUILD_EXAMPLES=OFF -D MORTISE_BUILD_TOOL=OFF)
    run(${build})
    run("${CMAKE_COMMAND}" --install "${WORK_DIR}/build" --prefix "${WORK_DIR}/prefix")

elseif(STEP STREQUAL "add_subdirectory")
    run(${configure} -S "${consumer}" -D USE=add_subdirectory -D "MORTISE_SOURCE=${SOURCE_DIR}"
        -D BUILD_SHARED_LIBS=ON -D MORTISE_INSTALL=ON
        # As some users' projects do it; and it costs a third, since most of the work is the headers
        # of the standard library. All files of a component in one, so that a name which two of them
        # use is found today, and not when a new file shifts the groups.
        -D CMAKE_UNITY_BUILD=ON -D CMAKE_UNITY_BUILD_BATCH_SIZE=0)
    run(${build})
    run_consumer("${WORK_DIR}/build/consumer")
    run("${CMAKE_COMMAND}" --install "${WORK_DIR}/build" --prefix "${WORK_DIR}/prefix")

elseif(STEP STREQUAL "find_package")
    # As Conan's toolchain has it: whatever others' CMake files are like, ours find what they need.
    run(${configure} -S "${consumer}" -D USE=find_package -D CMAKE_FIND_PACKAGE_PREFER_CONFIG=ON)
    run(${build})
    run_consumer("${WORK_DIR}/build/consumer")

elseif(STEP STREQUAL "pkg_config")
    # Without --static: what a static package needs is public in it. With it: the same program, since
    # others' files say `pkg-config --static` for archives. It links Debian's shared libraries.
    foreach(static IN ITEMS "" "--static")
        run("${CMAKE_COMMAND}" -E env "PKG_CONFIG_PATH=${PREFIX}/${LIBDIR}/pkgconfig"
            sh -c "\"$1\" -std=c++20 \"$2\" -o \"$3\" $(pkg-config ${static} --cflags --libs mortise)"
            sh "${CXX}" "${consumer}/main.cpp" "${WORK_DIR}/consumer${static}")
        run_consumer("${CMAKE_COMMAND}" -E env "LD_LIBRARY_PATH=${PREFIX}/${LIBDIR}"
            "${WORK_DIR}/consumer${static}")
    endforeach()

elseif(STEP STREQUAL "licenses")
    # Who gets the library gets the licenses of all that is in it, and of nothing else.
    set(expected LICENSE)
    file(GLOB with_zookeeper "${PREFIX}/${LIBDIR}/libmortise-zookeeper.*")
    if(with_zookeeper)
        list(APPEND expected LICENSES/Apache-2.0.txt LICENSES/NOTICE.txt LICENSES/hashtable.txt)
    endif()
    set(names)
    foreach(file IN LISTS expected)
        cmake_path(GET file FILENAME name)
        list(APPEND names "${name}")
        run("${CMAKE_COMMAND}" -E compare_files
            "${SOURCE_DIR}/${file}" "${PREFIX}/${DOCDIR}/${name}")
    endforeach()
    file(GLOB found RELATIVE "${PREFIX}/${DOCDIR}" "${PREFIX}/${DOCDIR}/*")
    list(SORT found)
    list(SORT names)
    if(NOT found STREQUAL names)
        message(FATAL_ERROR "expected ${names}, found ${found}")
    endif()

elseif(STEP STREQUAL "sql")
    # What docs/stores/postgresql-running.md gives to psql.
    set(wanted_of_schema "CREATE TABLE IF NOT EXISTS mortise\\.lock ")
    set(wanted_of_application "GRANT EXECUTE ON FUNCTION mortise\\.")
    foreach(name IN ITEMS schema application)
        file(READ "${PREFIX}/${DATADIR}/mortise/postgresql/${name}.sql" text)
        if(NOT text MATCHES "${wanted_of_${name}}" OR text MATCHES "@")
            message(FATAL_ERROR "${name}.sql is not what psql needs: ${text}")
        endif()
    endforeach()

elseif(STEP STREQUAL "one_component")
    run(${configure} -S "${consumer}" -D USE=one_component)
    run(${build})
    run_consumer("${WORK_DIR}/build/consumer")

elseif(STEP STREQUAL "beside_zookeeper_mt")
    run(${configure} -S "${consumer}" -D USE=beside_zookeeper_mt)
    run(${build})
    run_consumer(bash "${CMAKE_CURRENT_LIST_DIR}/with_zookeeper.sh" "${WORK_DIR}/build/consumer")

elseif(STEP STREQUAL "unknown_component")
    refused("${consumer}" "mortise has no component 'sundial' here; installed: contract, core, mortise"
        -D USE=find_package -D COMPONENTS=sundial)

elseif(STEP STREQUAL "other_version")
    refused("${consumer}" "compatible with requested version \"0.2\""
        -D USE=find_package -D VERSION=0.2)

elseif(STEP STREQUAL "language")
    # The first error is ours, whichever header is first: of an older language, and of a library
    # without std::stop_token.
    file(WRITE "${WORK_DIR}/no_stop_token" "#include <version>\n#undef __cpp_lib_jthread\n")
    file(GLOB_RECURSE headers "${SOURCE_DIR}/include/mortise/*.hpp")
    list(FILTER headers EXCLUDE REGEX "/version.hpp$") # macros only
    foreach(header IN LISTS headers)
        foreach(each IN ITEMS "-std=c++17|Mortise needs C..20: compile with -std=c..20"
                "-std=c++20;-include;${WORK_DIR}/no_stop_token|Mortise needs std::stop_token")
            string(REGEX REPLACE "[|].*" "" flags "${each}")
            string(REGEX REPLACE ".*[|]" "" words "${each}")
            execute_process(COMMAND "${CXX}" ${flags} -E -x c++
                -I "${SOURCE_DIR}/include" "${header}"
                RESULT_VARIABLE result OUTPUT_QUIET ERROR_VARIABLE output)
            string(REGEX MATCH "error: [^\n]*" first "${output}")
            if(result EQUAL 0 OR NOT first MATCHES "${words}")
                message(FATAL_ERROR "${header}: expected '${words}', got (${result}): ${output}")
            endif()
        endforeach()
    endforeach()

elseif(STEP STREQUAL "build_type")
    # Without a type the library is optimised, and the project around it stays as it is. What a user says counts.
    # `words`: what the configuration prints. `flags`: what an object of the library is compiled with.
    function(configured name words flags)
        execute_process(COMMAND "${CMAKE_COMMAND}" -E env --unset=CMAKE_BUILD_TYPE --unset=CXXFLAGS
            "${CMAKE_COMMAND}" -B "${WORK_DIR}/${name}" "-DCMAKE_CXX_COMPILER=${CXX}"
            -D CMAKE_EXPORT_COMPILE_COMMANDS=ON
            -D MORTISE_WITH_REDIS=OFF -D MORTISE_WITH_ZOOKEEPER=OFF -D MORTISE_WITH_POSTGRES=OFF
            -D MORTISE_WITH_REMOTE=OFF -D MORTISE_PROMETHEUS=OFF -D MORTISE_BUILD_TESTS=OFF -D MORTISE_BUILD_BENCH=OFF
            -D MORTISE_BUILD_EXAMPLES=OFF -D MORTISE_BUILD_TOOL=OFF ${ARGN}
            OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
        set(output "${output}" PARENT_SCOPE)
        if(NOT output MATCHES "${words}")
            message(FATAL_ERROR "${name}: expected '${words}', got: ${output}")
        endif()
        file(READ "${WORK_DIR}/${name}/compile_commands.json" commands)
        string(REGEX MATCHALL "\"command\": \"[^\n]*mortise_core[^\n]*" of_library "${commands}")
        list(FILTER of_library EXCLUDE REGEX "${flags}")
        if(of_library OR NOT commands MATCHES "mortise_core")
            message(FATAL_ERROR "${name}: an object of the library is compiled without '${flags}': ${of_library}")
        endif()
        string(REGEX MATCH "\"command\": \"[^\n]*consumer/main\\.cpp\"" of_consumer "${commands}")
        set(of_consumer "${of_consumer}" PARENT_SCOPE)
        load_cache("${WORK_DIR}/${name}" READ_WITH_PREFIX "cached_" CMAKE_BUILD_TYPE)
        set(cached_CMAKE_BUILD_TYPE "${cached_CMAKE_BUILD_TYPE}" PARENT_SCOPE)
    endfunction()
    set(said "no CMAKE_BUILD_TYPE is set, so the library is built as Release")
    foreach(generator IN ITEMS "Ninja" "Unix Makefiles")
        configured("alone ${generator}" "${said}" " -O3 -DNDEBUG " -G "${generator}" -S "${SOURCE_DIR}")
        if(NOT cached_CMAKE_BUILD_TYPE STREQUAL "Release")
            message(FATAL_ERROR "the cache has '${cached_CMAKE_BUILD_TYPE}'")
        endif()
        configured("inside ${generator}" "${said}" " -O3 -DNDEBUG " -G "${generator}" -S "${consumer}"
            -D USE=add_subdirectory -D "MORTISE_SOURCE=${SOURCE_DIR}" -D MORTISE_INSTALL=ON)
        if(cached_CMAKE_BUILD_TYPE OR NOT of_consumer OR of_consumer MATCHES "NDEBUG")
            message(FATAL_ERROR "the user's project was changed: '${cached_CMAKE_BUILD_TYPE}', ${of_consumer}")
        endif()
        # An installation copies the targets' file of the type that it installs, which is none here.
        file(READ "${WORK_DIR}/inside ${generator}/mortise/cmake_install.cmake" rules)
        if(NOT rules MATCHES "targets-noconfig.cmake")
            message(FATAL_ERROR "an installation leaves out the libraries' places")
        endif()
    endforeach()
    set(not_said "Build files have been written")
    foreach(case IN ITEMS "debug|Ninja|-DCMAKE_BUILD_TYPE=Debug" "many|Ninja Multi-Config|-DCMAKE_CONFIGURATION_TYPES=Debug")
        string(REPLACE "|" ";" case "${case}")
        list(POP_FRONT case name generator)
        configured("${name}" "${not_said}" " -g " -G "${generator}" ${case} -S "${SOURCE_DIR}")
        if(output MATCHES "${said}")
            message(FATAL_ERROR "${name}: the type of the user does not count: ${output}")
        endif()
    endforeach()

elseif(STEP STREQUAL "missing")
    # What a newcomer's machine lacks: the package to install, or the option to do without.
    foreach(each IN ITEMS
            "Hiredis|missing for redis: Hiredis .Debian: libhiredis-dev.. Without it: -D MORTISE_WITH_REDIS=OFF"
            "OpenSSL|missing for redis and zookeeper: OpenSSL .Debian: libssl-dev.. Without it: -D MORTISE_WITH_REDIS=OFF -D MORTISE_WITH_ZOOKEEPER=OFF"
            "PostgreSQL|missing for postgres: PostgreSQL .Debian: libpq-dev.. Without it: -D MORTISE_WITH_POSTGRES=OFF"
            "PrometheusCpp|missing for prometheus: PrometheusCpp .Debian: prometheus-cpp-dev.. Without it: -D MORTISE_PROMETHEUS=OFF"
            "GTest|GoogleTest .Debian: libgtest-dev libgmock-dev.. Without them: -D MORTISE_BUILD_TESTS=OFF")
        string(REPLACE "|" ";" each "${each}")
        list(POP_FRONT each package)
        file(REMOVE_RECURSE "${WORK_DIR}/build")
        refused("${SOURCE_DIR}" "${each}" -D MORTISE_PROMETHEUS=ON
            -D CMAKE_DISABLE_FIND_PACKAGE_${package}=ON)
    endforeach()
    file(REMOVE_RECURSE "${WORK_DIR}/build")
    refused("${SOURCE_DIR}"
        "Debian: libzookeeper-st-dev.. Without it: -D MORTISE_WITH_ZOOKEEPER=OFF"
        -D ZOOKEEPER_ST_ARCHIVE=)

elseif(STEP STREQUAL "examples")
    run(${configure} -S "${SOURCE_DIR}/examples")
    run(${build})

elseif(STEP STREQUAL "contract")
    # A user's own backend, alone with what is installed; and a backend that breaks a promise.
    file(COPY "${SOURCE_DIR}/examples/own_backend" DESTINATION "${WORK_DIR}")
    run(${configure} -S "${WORK_DIR}/own_backend"
        -D CMAKE_UNITY_BUILD=ON -D CMAKE_UNITY_BUILD_BATCH_SIZE=8)
    run(${build})
    run(ctest --test-dir "${WORK_DIR}/build" --output-on-failure)
    file(READ "${WORK_DIR}/own_backend/board.cpp" text)
    string(REPLACE "++name.number" "name.number = 1" broken "${text}")
    if(broken STREQUAL text)
        message(FATAL_ERROR "nothing was broken")
    endif()
    file(WRITE "${WORK_DIR}/own_backend/board.cpp" "${broken}")
    run(${build})
    execute_process(COMMAND "${WORK_DIR}/build/own_backend_contract" --gtest_brief=1
        OUTPUT_VARIABLE output RESULT_VARIABLE result)
    if(result EQUAL 0 OR NOT output MATCHES "FAILED  . Board/Fencing\\.")
        message(FATAL_ERROR "a token that does not grow was not found (${result}): ${output}")
    endif()

elseif(STEP STREQUAL "remote")
    # A store for a server of one's own, by the kit, alone with what is installed.
    file(COPY "${SOURCE_DIR}/examples/own_server_store" DESTINATION "${WORK_DIR}")
    run(${configure} -S "${WORK_DIR}/own_server_store")
    run(${build} --target own_server_store)
    execute_process(COMMAND "${WORK_DIR}/build/own_server_store"
        OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
    if(NOT output MATCHES "^held by till 1, token [1-9][0-9]*\n$")
        message(FATAL_ERROR "the store printed '${output}'")
    endif()

elseif(STEP STREQUAL "contract_of_remote")
    file(COPY "${SOURCE_DIR}/examples/own_server_store" DESTINATION "${WORK_DIR}")
    run(${configure} -S "${WORK_DIR}/own_server_store"
        -D CMAKE_UNITY_BUILD=ON -D CMAKE_UNITY_BUILD_BATCH_SIZE=8)
    run(${build})
    run(ctest --test-dir "${WORK_DIR}/build" --output-on-failure)

elseif(STEP STREQUAL "exported_symbols")
    file(GLOB libraries "${PREFIX}/${LIBDIR}/libmortise*.so")
    run(bash "${SOURCE_DIR}/tests/habits/exported_symbols.sh" "${SOURCE_DIR}" ${libraries})

else()
    message(FATAL_ERROR "unknown step: ${STEP}")
endif()
