# SPDX-License-Identifier: MIT
# Finds the core of prometheus-cpp, and makes the target prometheus_cpp::core. Its own CMake files ask
# for all that its other parts need, as an HTTP server and client.
find_path(PROMETHEUS_CPP_INCLUDE_DIR prometheus/registry.h)
find_library(PROMETHEUS_CPP_CORE_LIBRARY prometheus-cpp-core)
mark_as_advanced(PROMETHEUS_CPP_INCLUDE_DIR PROMETHEUS_CPP_CORE_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(PrometheusCpp
    REQUIRED_VARS PROMETHEUS_CPP_CORE_LIBRARY PROMETHEUS_CPP_INCLUDE_DIR)

if(PrometheusCpp_FOUND AND NOT TARGET prometheus_cpp::core)
    add_library(prometheus_cpp::core UNKNOWN IMPORTED)
    set_target_properties(prometheus_cpp::core PROPERTIES
        IMPORTED_LOCATION "${PROMETHEUS_CPP_CORE_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${PROMETHEUS_CPP_INCLUDE_DIR}")
endif()
