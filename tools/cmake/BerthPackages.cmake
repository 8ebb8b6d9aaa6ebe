# Debian packages by CPack: `cpack -G DEB` in a build folder, best one of the preset release.
#
#   berth      the command, its worker, providers, manual page, examples
#   berth-sdk  what a provider is written with: headers, tool, CMake package, pkg-config file, documents
#   berth-dev  the library with its headers, for programs with Berth inside
#
# Everything is found relative to the prefix, so a package may be unpacked anywhere (`dpkg-deb -x`).
set(CPACK_PACKAGE_NAME "berth")
set(CPACK_PACKAGE_VENDOR "Berth")
set(CPACK_PACKAGE_CONTACT "Berth <berth@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_PACKAGING_INSTALL_PREFIX "/usr")
set(CPACK_STRIP_FILES ON)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_COMPONENT_BERTH_GROUP "berth")
set(CPACK_COMPONENT_PROVIDER_GROUP "berth")
set(CPACK_COMPONENT_SDK_GROUP "sdk")
set(CPACK_COMPONENT_CORE_GROUP "dev")

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(_described "Every call is recorded before its sandbox is made,\nand is over only when the sandbox is confirmed gone.")

set(CPACK_DEBIAN_BERTH_PACKAGE_NAME "berth")
set(CPACK_DEBIAN_BERTH_PACKAGE_SECTION "utils")
set(CPACK_DEBIAN_BERTH_DESCRIPTION "Runs programs in sandboxes, durably\n${_described}")
set(CPACK_DEBIAN_BERTH_PACKAGE_RECOMMENDS
  "python3, python3-matplotlib, python3-numpy, python3-pandas, python3-pip, nodejs, fonts-noto-cjk")
set(CPACK_DEBIAN_BERTH_PACKAGE_SUGGESTS "berth-sdk (= ${PROJECT_VERSION}), bash-completion")

set(CPACK_DEBIAN_SDK_PACKAGE_NAME "berth-sdk")
set(CPACK_DEBIAN_SDK_PACKAGE_SECTION "devel")
set(CPACK_DEBIAN_SDK_DESCRIPTION "What a provider of sandboxes for Berth is written with\n${_described}")
set(CPACK_DEBIAN_SDK_PACKAGE_DEPENDS "g++ (>= 4:12)")
set(CPACK_DEBIAN_SDK_PACKAGE_RECOMMENDS "berth (= ${PROJECT_VERSION}), cmake (>= 3.25), pkg-config")
set(CPACK_DEBIAN_SDK_PACKAGE_SUGGESTS "rustc")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME "berth-dev")
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION "libdevel")
set(CPACK_DEBIAN_DEV_DESCRIPTION "The library of Berth, for programs that run sandboxes themselves\n${_described}")
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
  "libboost1.81-dev, libssl-dev, libsqlite3-dev, libfmt-dev, libexpected-dev")
set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS "berth (= ${PROJECT_VERSION})")
include(CPack)
