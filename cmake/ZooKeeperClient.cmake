# SPDX-License-Identifier: MIT
# Makes one object file of the single-threaded ZooKeeper C client, whose archive (Debian's
# libzookeeper-st-dev) has no CMake files and no shared symbols that could be told apart from those
# of libzookeeper_mt: a program that uses that one must not get ours, nor the other way round.
#
# All its objects become one. What it defines is renamed (zoo_acreate -> mortise_zk_zoo_acreate) or,
# where we do not call it, made local. A few of the system's functions that it calls are renamed,
# too: src/zookeeper/wire_calls.cpp has what it gets instead, and why. The object becomes a part of our
# own library, static or shared, so that users need to find and install nothing.
find_path(ZOOKEEPER_INCLUDE_DIR zookeeper/zookeeper.h)
find_library(ZOOKEEPER_ST_ARCHIVE NAMES libzookeeper_st.a)
mark_as_advanced(ZOOKEEPER_INCLUDE_DIR ZOOKEEPER_ST_ARCHIVE)

# Adds the object to `target`, and to its include path the header <zookeeper_renamed.h>, which
# is the C client's own under the new names.
function(mortise_add_zookeeper_client target)
    if(NOT ZOOKEEPER_INCLUDE_DIR OR NOT ZOOKEEPER_ST_ARCHIVE)
        message(FATAL_ERROR "The ZooKeeper backend needs zookeeper/zookeeper.h and libzookeeper_st.a "
            "(Debian: libzookeeper-st-dev). Without it: -D MORTISE_WITH_ZOOKEEPER=OFF")
    endif()
    set(dir "${PROJECT_BINARY_DIR}/generated/zookeeper")
    set(whole "${dir}/whole.o")
    set(object "${dir}/zookeeper_client.o")
    file(MAKE_DIRECTORY "${dir}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${ZOOKEEPER_ST_ARCHIVE}")

    execute_process(COMMAND_ERROR_IS_FATAL ANY
        COMMAND "${CMAKE_LINKER}" -r --wrap=get_xid --whole-archive "${ZOOKEEPER_ST_ARCHIVE}" -o "${whole}")
    execute_process(COMMAND_ERROR_IS_FATAL ANY OUTPUT_VARIABLE symbols
        COMMAND "${CMAKE_NM}" --defined-only --extern-only --format=posix "${whole}")
    string(REGEX MATCHALL "(^|\n)(zoo_|zookeeper_|ZOO_|ZOOKEEPER_|zerror|is_unrecoverable)[A-Za-z0-9_]*"
        names "${symbols}")
    set(renames)
    set(keeps)
    set(defines)
    foreach(name IN LISTS names)
        string(STRIP "${name}" name)
        string(APPEND renames "${name} mortise_zk_${name}\n")
        string(APPEND keeps "mortise_zk_${name}\n")
        string(APPEND defines "#define ${name} mortise_zk_${name}\n")
    endforeach()
    string(APPEND renames "__wrap_get_xid mortise_zk_next_xid\n")
    foreach(name socket connect close send recv getsockopt poll getaddrinfo)
        string(APPEND renames "${name} mortise_zk_${name}\n")
    endforeach()
    file(CONFIGURE OUTPUT "${dir}/renames" CONTENT "${renames}" @ONLY)
    file(CONFIGURE OUTPUT "${dir}/keeps" CONTENT "${keeps}" @ONLY)
    file(CONFIGURE OUTPUT "${dir}/zookeeper_renamed.h" CONTENT
        "/* Generated: the C client under its names in this library. */\n${defines}#include <zookeeper/zookeeper.h>\n" @ONLY)
    # In two steps: LLVM's objcopy looks for what it keeps before it has renamed it, GNU's afterwards.
    execute_process(COMMAND_ERROR_IS_FATAL ANY
        COMMAND "${CMAKE_OBJCOPY}" --redefine-syms=${dir}/renames "${whole}" "${object}")
    execute_process(COMMAND_ERROR_IS_FATAL ANY
        COMMAND "${CMAKE_OBJCOPY}" --keep-global-symbols=${dir}/keeps "${object}")

    set_source_files_properties("${object}" TARGET_DIRECTORY ${target}
        PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
    target_sources(${target} PRIVATE "${object}")
    target_include_directories(${target} SYSTEM PRIVATE "${dir}" "${ZOOKEEPER_INCLUDE_DIR}")

    # Its code is in what we install, so its licenses and its notice have to be, too.
    if(MORTISE_INSTALL)
        install(FILES
            "${PROJECT_SOURCE_DIR}/LICENSES/Apache-2.0.txt"
            "${PROJECT_SOURCE_DIR}/LICENSES/hashtable.txt"
            "${PROJECT_SOURCE_DIR}/LICENSES/NOTICE.txt"
            DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT licenses)
    endif()
endfunction()
