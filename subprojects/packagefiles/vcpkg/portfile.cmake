# An overlay port: vcpkg install reel --overlay-ports=subprojects/packagefiles/vcpkg, with the address of the repository,
# or of a clone, in REEL_REPOSITORY and a commit in REEL_COMMIT of the environment. vcpkg does not notice that REEL_COMMIT
# has changed: vcpkg remove reel, and --no-binarycaching.
string(LENGTH "$ENV{REEL_COMMIT}" length)
if("$ENV{REEL_REPOSITORY}" STREQUAL "" OR NOT length EQUAL 40)
  message(FATAL_ERROR "REEL_REPOSITORY must name a repository of reel, and REEL_COMMIT one of its commits by its 40 digits.")
endif()
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
# The file has moved to share/reel, from which the prefix is another number of levels up.
set(config "${CURRENT_PACKAGES_DIR}/share/reel/reel-config.cmake")
vcpkg_replace_string("${config}" "foreach(level lib cmake reel)" "foreach(level share reel)")
if(NOT VCPKG_BUILD_TYPE)
  file(APPEND "${config}"
    "get_target_property(reel_location reel::reel IMPORTED_LOCATION)\n"
    "string(REGEX REPLACE \"/lib/([^/]*)$\" \"/debug/lib/\\\\1\" reel_location \"\${reel_location}\")\n"
    "set_target_properties(reel::reel PROPERTIES IMPORTED_LOCATION_DEBUG \"\${reel_location}\")\n")
endif()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
