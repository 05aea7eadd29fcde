# SPDX-License-Identifier: MIT
# One component of the library: a target, its alias, its export, its pkg-config file. A backend is
# one call:
#
#   mortise_component(redis OPTIONAL
#       FOLDERS redis redlock                           # folders of src/ that it is made of
#       DEPENDS core                                    # other components, linked PUBLIC
#       HELPERS stream                                  # what it shares with other components
#       FIND Hiredis                                    # packages, found here and by static users
#       DEBIAN libhiredis-dev                           # in what Debian has them, for who lacks one
#       FIND_MODULES FindHiredis.cmake                  # find modules of cmake/ that users need too
#       PRIVATE_LIBS hiredis::hiredis                   # C libraries; never visible to users
#       PC_REQUIRES hiredis                             # the same for pkg-config, where they have a
#       PC_LIBS -lpq)                                   # .pc file that serves, and where not
#
# It makes the target mortise_redis, called mortise::redis by everybody, and the option
# MORTISE_WITH_REDIS. A public header that bears the name of a folder of src/ belongs to the
# component with that folder, and the headers of a folder of include/mortise to the component with the
# name of the folder; all others belong to core.
#
# A HELPER is there where one of the components is built that it is a helper OF. It is an archive:
# static libraries leave it to the linker, which needs it once; in shared ones each has its own, hidden.
include_guard(GLOBAL)
include(GNUInstallDirs)

# The public headers of the component that consists of `folders`.
function(_mortise_headers out component folders)
    set(include_dir "${PROJECT_SOURCE_DIR}/include/mortise")
    set(headers)
    list(TRANSFORM folders REPLACE "/.*" "")
    list(REMOVE_DUPLICATES folders)
    if(component STREQUAL "core")
        # Globs, not lists: a new file needs no edit here, and CONFIGURE_DEPENDS sees it come and go.
        file(GLOB headers CONFIGURE_DEPENDS "${include_dir}/*.hpp")
        file(GLOB entries CONFIGURE_DEPENDS LIST_DIRECTORIES true "${PROJECT_SOURCE_DIR}/src/*")
        foreach(entry IN LISTS entries)
            cmake_path(GET entry FILENAME folder)
            if(NOT folder IN_LIST folders)
                list(REMOVE_ITEM headers "${include_dir}/${folder}.hpp")
            endif()
        endforeach()
    else()
        foreach(folder IN LISTS folders)
            file(GLOB header CONFIGURE_DEPENDS "${include_dir}/${folder}.hpp")
            list(APPEND headers ${header})
        endforeach()
        file(GLOB found CONFIGURE_DEPENDS "${include_dir}/${component}/*.hpp")
        list(APPEND headers ${found})
    endif()
    set(${out} "${headers}" PARENT_SCOPE)
endfunction()

# The helpers of src/base and src/remote are hidden in the core's shared library, so the others take
# what they use from an archive of their own: the sources that have a private header. (Those without
# one implement the public API, which stays in the core alone.)
function(_mortise_base_helpers)
    if(TARGET mortise_base_helpers)
        return()
    endif()
    file(GLOB headers CONFIGURE_DEPENDS
        "${PROJECT_SOURCE_DIR}/src/base/*.hpp" "${PROJECT_SOURCE_DIR}/src/remote/*.hpp")
    set(sources)
    foreach(header IN LISTS headers)
        cmake_path(REPLACE_EXTENSION header LAST_ONLY cpp OUTPUT_VARIABLE source)
        if(EXISTS "${source}")
            list(APPEND sources "${source}")
        endif()
    endforeach()
    add_library(mortise_base_helpers STATIC ${sources})
    target_compile_features(mortise_base_helpers PUBLIC cxx_std_20)
    target_include_directories(mortise_base_helpers PRIVATE
        "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
    mortise_warnings(mortise_base_helpers)
    set_target_properties(mortise_base_helpers PROPERTIES
        CXX_VISIBILITY_PRESET hidden
        VISIBILITY_INLINES_HIDDEN ON
        POSITION_INDEPENDENT_CODE ON)
endfunction()

# What a shared library needs beyond a static one.
function(_mortise_shape_library target)
    set_target_properties(${target} PROPERTIES
        CXX_VISIBILITY_PRESET hidden
        VISIBILITY_INLINES_HIDDEN ON
        POSITION_INDEPENDENT_CODE ON
        VERSION ${PROJECT_VERSION}
        # One component finds another beside it, wherever the package was installed.
        INSTALL_RPATH "$ORIGIN"
        # Before 1.0 every minor version may break the ABI.
        SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
        DEFINE_SYMBOL MORTISE_EXPORTS)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
        target_compile_definitions(${target} PUBLIC MORTISE_STATIC)
    else()
        # Hidden visibility does not reach instantiations of std templates; the map does.
        set(map "${PROJECT_SOURCE_DIR}/cmake/exports.map")
        target_link_options(${target} PRIVATE "LINKER:--version-script=${map}")
        set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${map}")
        if(NOT target STREQUAL "mortise_core")
            _mortise_base_helpers()
            target_link_libraries(${target} PRIVATE mortise_base_helpers)
        endif()
    endif()
endfunction()

# Sets `out` to whether the component is to be built, which the user may say.
function(_mortise_wanted out component)
    string(TOUPPER "MORTISE_WITH_${component}" option)
    option(${option} "Build the component mortise::${component}" ON)
    set(${out} ${${option}} PARENT_SCOPE)
endfunction()

function(mortise_component name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "OPTIONAL;HELPER" ""
        "FOLDERS;FILES;OF;DEPENDS;HELPERS;FIND;DEBIAN;FIND_MODULES;PUBLIC_LIBS;PRIVATE_LIBS;PC_REQUIRES;PC_LIBS")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "mortise_component(${name}): unknown ${arg_UNPARSED_ARGUMENTS}")
    endif()
    set(wanted ON)
    if(arg_OPTIONAL)
        _mortise_wanted(wanted ${name})
    elseif(arg_HELPER)
        set(wanted OFF)
        set(users_of_helper)
        foreach(user IN LISTS arg_OF)
            _mortise_wanted(used ${user})
            if(used)
                set(wanted ON)
                list(APPEND users_of_helper ${user})
            endif()
        endforeach()
    endif()
    if(NOT wanted)
        return()
    endif()
    if(NOT arg_OPTIONAL)
        string(TOUPPER "MORTISE_${name}" option)
    endif()
    set(missing)
    # By our own module where we have one, also for whoever prefers packages' CMake files, as Conan does:
    # those of Debian's hiredis end with an error.
    set(by_module ${arg_FIND_MODULES})
    list(TRANSFORM by_module REPLACE "^Find(.+)\\.cmake$" "\\1")
    foreach(package debian IN ZIP_LISTS arg_FIND arg_DEBIAN)
        set(module)
        if(package IN_LIST by_module)
            set(module MODULE)
        endif()
        find_package(${package} ${module} QUIET)
        if(NOT ${package}_FOUND)
            list(APPEND missing "${package} (Debian: ${debian})")
        endif()
    endforeach()
    if(missing)
        list(JOIN missing " and " missing)
        set(users ${name})
        set(option_of MORTISE_WITH_)
        if(arg_HELPER)
            set(users ${users_of_helper}) # whom nobody knows by its own name
        elseif(NOT arg_OPTIONAL)
            set(option_of MORTISE_)
        endif()
        list(TRANSFORM users TOUPPER OUTPUT_VARIABLE options)
        list(TRANSFORM options REPLACE "(.+)" "-D ${option_of}\\1=OFF")
        list(JOIN options " " options)
        list(JOIN users " and " users)
        message(FATAL_ERROR "What is missing for ${users}: ${missing}. Without it: ${options}")
    endif()

    set(target mortise_${name})
    set(output mortise-${name})
    if(name STREQUAL "mortise")
        set(target mortise)
        set(output mortise)
    endif()

    list(TRANSFORM arg_FILES PREPEND "${PROJECT_SOURCE_DIR}/")
    set(sources ${arg_FILES})
    foreach(folder IN LISTS arg_FOLDERS)
        file(GLOB found CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${folder}/*.[ch]pp")
        list(APPEND sources ${found})
    endforeach()

    set(inside OFF) # of shared libraries, and of no interest to anybody else
    if(arg_HELPER AND BUILD_SHARED_LIBS)
        set(inside ON)
        add_library(${target} STATIC ${sources})
    else()
        add_library(${target} ${sources})
    endif()
    add_library(mortise::${name} ALIAS ${target})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} OUTPUT_NAME ${output})
    target_compile_features(${target} PUBLIC cxx_std_20)
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src")
    mortise_warnings(${target})
    mortise_in_batches(${target} 8)
    if(MORTISE_MUTANTS)
        target_compile_definitions(${target} PUBLIC MORTISE_MUTANTS)
    endif()
    if(inside)
        _mortise_base_helpers()
        set_target_properties(${target} PROPERTIES
            CXX_VISIBILITY_PRESET hidden
            VISIBILITY_INLINES_HIDDEN ON
            POSITION_INDEPENDENT_CODE ON)
        target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/include")
        target_link_libraries(${target} PRIVATE mortise_base_helpers ${arg_PRIVATE_LIBS})
        return()
    endif()
    if(BUILD_SHARED_LIBS)
        list(TRANSFORM arg_HELPERS PREPEND "mortise::" OUTPUT_VARIABLE helpers)
        target_link_libraries(${target} PRIVATE ${helpers})
    else()
        list(APPEND arg_DEPENDS ${arg_HELPERS})
    endif()
    _mortise_shape_library(${target})

    _mortise_headers(headers "${name}" "${arg_FOLDERS}")
    if(headers)
        target_sources(${target} PUBLIC FILE_SET HEADERS
            BASE_DIRS "${PROJECT_SOURCE_DIR}/include" FILES ${headers})
        set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
    endif()

    list(TRANSFORM arg_DEPENDS PREPEND "mortise::" OUTPUT_VARIABLE depends)
    target_link_libraries(${target} PUBLIC ${depends} ${arg_PUBLIC_LIBS} PRIVATE ${arg_PRIVATE_LIBS})
    # For the one file that asks which components there are.
    foreach(component IN LISTS arg_DEPENDS)
        string(TOUPPER "MORTISE_WITH_${component}" definition)
        target_compile_definitions(${target} PRIVATE ${definition})
    endforeach()

    set_property(GLOBAL APPEND PROPERTY MORTISE_COMPONENTS ${name})
    if(MORTISE_INSTALL)
        _mortise_install_component()
    endif()
endfunction()

# Reads the variables of mortise_component: a macro only to keep that function readable.
macro(_mortise_install_component)
    set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/mortise")
    set(file_set)
    if(headers)
        set(file_set FILE_SET HEADERS COMPONENT development)
    endif()
    install(TARGETS ${target} EXPORT mortise-${name}
        LIBRARY COMPONENT library NAMELINK_COMPONENT development
        ARCHIVE COMPONENT development ${file_set})
    install(EXPORT mortise-${name} NAMESPACE mortise:: FILE mortise-${name}-targets.cmake
        DESTINATION "${package_dir}" COMPONENT development)

    get_target_property(type ${target} TYPE)
    set(finds "${arg_FIND}")
    if(type STREQUAL "SHARED_LIBRARY" AND NOT arg_PUBLIC_LIBS)
        set(finds)
    endif()
    foreach(package IN LISTS by_module)
        list(TRANSFORM finds REPLACE "^${package}$" "${package} MODULE")
    endforeach()
    list(TRANSFORM finds REPLACE "(.+)" "find_dependency(\\1)\n" OUTPUT_VARIABLE find_lines)
    list(TRANSFORM arg_DEPENDS REPLACE "(.+)"
        "include(\"\${CMAKE_CURRENT_LIST_DIR}/mortise-\\1-component.cmake\")\n"
        OUTPUT_VARIABLE depend_lines)
    string(JOIN "" lines ${find_lines} ${depend_lines})
    set(component_file "${PROJECT_BINARY_DIR}/package/mortise-${name}-component.cmake")
    configure_file("${PROJECT_SOURCE_DIR}/cmake/component.cmake.in" "${component_file}" @ONLY)
    list(TRANSFORM arg_FIND_MODULES PREPEND "${PROJECT_SOURCE_DIR}/cmake/")
    install(FILES "${component_file}" ${arg_FIND_MODULES}
        DESTINATION "${package_dir}" COMPONENT development)

    # A static library has nobody but its user to name what it needs, so for a static build all is
    # public: `pkg-config --libs` is right with and without --static. Both mean our archives and the
    # shared libraries of the system. A shared one names what it needs itself, and an install has no
    # archives beside it: nothing is private, so that users need no files of what is below.
    list(TRANSFORM arg_DEPENDS PREPEND "mortise-" OUTPUT_VARIABLE pc_requires)
    set(pc_libs -L\${libdir} -l${output})
    set(pc_cflags -I\${includedir})
    if(type STREQUAL "STATIC_LIBRARY")
        list(APPEND pc_requires ${arg_PC_REQUIRES})
        if(arg_PC_LIBS)
            foreach(package IN LISTS arg_FIND)
                # Where a find module has found them; a compiler looks into its own folders anyway.
                set(dirs ${${package}_LIBRARY_DIRS})
                list(REMOVE_ITEM dirs ${CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES})
                list(TRANSFORM dirs PREPEND "-L" OUTPUT_VARIABLE dirs)
                list(APPEND pc_libs ${dirs})
            endforeach()
            list(APPEND pc_libs ${arg_PC_LIBS})
        endif()
        list(APPEND pc_cflags -DMORTISE_STATIC)
    elseif(arg_PUBLIC_LIBS)
        list(APPEND pc_libs ${arg_PC_LIBS})
    endif()
    foreach(field requires libs cflags)
        string(JOIN " " pc_${field} ${pc_${field}})
    endforeach()
    file(RELATIVE_PATH pc_prefix "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
    configure_file("${PROJECT_SOURCE_DIR}/cmake/component.pc.in"
        "${PROJECT_BINARY_DIR}/package/${output}.pc" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/package/${output}.pc"
        DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT development)
endmacro()
