# The Berth SDK: BerthSDK::sdk (the headers) and berth_add_provider().
include("${CMAKE_CURRENT_LIST_DIR}/BerthSDKTargets.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/BerthProvider.cmake")
