# SPDX-License-Identifier: MIT
# CPack runs this between installing and packing. It adds the copyright and the changelogs to each
# package, and compresses the files that Debian wants compressed.
set(here "${CMAKE_CURRENT_LIST_DIR}")
set(source_dir "${here}/../..")
set(CPACK_DEBIAN_VERSION "${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}")
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # of SOURCE_DATE_EPOCH if it is set

# Without the time, so that the same files make the same package.
function(compress file)
    execute_process(COMMAND gzip -9nf "${file}" COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(READ "${source_dir}/LICENSE" license)
file(READ "${source_dir}/LICENSES/hashtable.txt" hashtable)
foreach(text IN ITEMS license hashtable)
    # A field of several lines: an empty line is a dot.
    string(REGEX REPLACE "^.*\n\n(Permission|Redistribution)" "\\1" ${text} "${${text}}")
    string(STRIP "${${text}}" ${text})
    string(REGEX REPLACE "\n\n+" "\n.\n" ${text} "${${text}}")
    string(REPLACE "\n" "\n " ${text} " ${${text}}")
endforeach()

foreach(component IN LISTS CPACK_COMPONENTS_ALL)
    string(TOUPPER "${component}" name)
    set(package "${CPACK_DEBIAN_${name}_PACKAGE_NAME}")
    set(tree "${CPACK_TEMPORARY_DIRECTORY}/${component}/usr/share")
    set(doc "${tree}/doc/${package}")
    configure_file("${here}/copyright.in" "${doc}/copyright" @ONLY)
    configure_file("${here}/changelog.in" "${doc}/changelog.Debian" @ONLY)
    configure_file("${source_dir}/CHANGELOG.md" "${doc}/changelog" COPYONLY)
    compress("${doc}/changelog.Debian")
    compress("${doc}/changelog")
    if(component STREQUAL "library")
        # This package contains the code of Apache's client.
        configure_file("${source_dir}/LICENSES/NOTICE.txt" "${doc}/NOTICE" COPYONLY)
    endif()
    file(GLOB pages "${tree}/man/*/*.[1-9]")
    foreach(page IN LISTS pages)
        compress("${page}")
    endforeach()
endforeach()
