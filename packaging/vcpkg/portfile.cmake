vcpkg_download_distfile(ARCHIVE
    URLS "https://hinge.example.org/hinge-@version@.tar.xz"
    FILENAME "hinge-@version@.tar.xz"
    SHA512 @sha512@
)
vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "${ARCHIVE}")

set(TOOLS disabled)
if("tools" IN_LIST FEATURES)
    set(TOOLS enabled)
endif()

vcpkg_configure_meson(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        -Dtools=${TOOLS}
        -Dcompat=disabled
        -Dexamples=disabled
        -Dtest=disabled
        -Dbenchmarks=disabled
        -Dmpi=disabled
        -Dxz=enabled
        -Dgz=enabled
        -Drpath=false
)
vcpkg_install_meson()
vcpkg_fixup_pkgconfig()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/hinge)
if("tools" IN_LIST FEATURES)
    vcpkg_copy_tools(TOOL_NAMES hinge AUTO_CLEAN)
endif()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share"
    "${CURRENT_PACKAGES_DIR}/share/doc")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
