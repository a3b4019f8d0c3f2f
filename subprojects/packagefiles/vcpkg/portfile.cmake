# An overlay port: vcpkg install reel --overlay-ports=subprojects/packagefiles/vcpkg, with the address of the repository,
# or of a clone, in REEL_REPOSITORY and a commit in REEL_COMMIT of the environment.
vcpkg_from_git(OUT_SOURCE_PATH SOURCE_PATH URL "$ENV{REEL_REPOSITORY}" REF "$ENV{REEL_COMMIT}")

set(lapack disabled)
if("lapack" IN_LIST FEATURES)
  set(lapack enabled)
endif()
vcpkg_configure_meson(SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -Dtests=disabled -Dsamples=false -Dmpi=disabled -Dlapack=${lapack})
vcpkg_install_meson()
vcpkg_fixup_pkgconfig()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/reel)
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
