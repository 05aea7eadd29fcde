# SPDX-License-Identifier: MIT
# An overlay port, which builds the tree around it:
#   vcpkg install mortise[redis,postgres] --overlay-ports=packaging/vcpkg/ports
# A port in a registry would use the source of a tag instead. The port has no zookeeper://, because
# vcpkg's port of Apache's C client lacks the single-threaded archive that Mortise needs.
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS feature_options
    FEATURES
        redis      MORTISE_WITH_REDIS
        postgres   MORTISE_WITH_POSTGRES
        prometheus MORTISE_PROMETHEUS
        remote     MORTISE_WITH_REMOTE
        tool       MORTISE_BUILD_TOOL)

vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        ${feature_options}
        -DCMAKE_UNITY_BUILD=ON # a third of the time
        -DMORTISE_WITH_ZOOKEEPER=OFF
        -DMORTISE_BUILD_TESTS=OFF
        -DMORTISE_BUILD_BENCH=OFF
        -DMORTISE_BUILD_EXAMPLES=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/mortise)
vcpkg_fixup_pkgconfig()
if("tool" IN_LIST FEATURES)
    vcpkg_copy_tools(TOOL_NAMES mortise AUTO_CLEAN)
endif()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
