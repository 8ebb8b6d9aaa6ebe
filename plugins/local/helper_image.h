// The helper binary that lies inside this library.
#ifndef BERTH_PLUGINS_LOCAL_HELPER_IMAGE_H_
#define BERTH_PLUGINS_LOCAL_HELPER_IMAGE_H_

#include <string_view>

namespace berth::local {

// Valid for the life of the library.
std::string_view helper_image();

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_HELPER_IMAGE_H_
