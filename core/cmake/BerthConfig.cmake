# The Berth library: berth::core. Include "core/host/host.h" and "core/execution/execution.h"; the macro
# BERTH_INSTALLATION is the folder Berth is installed in, for HostOptions::installation.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(Boost 1.81)
find_dependency(OpenSSL 3)
find_dependency(SQLite3)
find_dependency(fmt)
find_dependency(tl-expected)
include("${CMAKE_CURRENT_LIST_DIR}/BerthTargets.cmake")
