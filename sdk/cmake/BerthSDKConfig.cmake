# The Berth SDK: BerthSDK::sdk (the headers) and berth_add_provider().
include("${CMAKE_CURRENT_LIST_DIR}/BerthSDKTargets.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/BerthProvider.cmake")

# Where the command is installed with the SDK, each provider is inspected once it is built. The
# folder of libraries is one or two levels below the prefix.
find_program(BERTH_PROGRAM berth
  PATHS "${CMAKE_CURRENT_LIST_DIR}/../../../bin" "${CMAKE_CURRENT_LIST_DIR}/../../../../bin"
  NO_DEFAULT_PATH)
if(BERTH_PROGRAM AND NOT DEFINED BERTH_INSPECT_COMMAND)
  set(BERTH_INSPECT_COMMAND "${BERTH_PROGRAM};provider;inspect")
endif()
