// The binaries this library carries inside: the helper, and what a template is made of.
#ifndef BERTH_PLUGINS_LOCAL_HELPER_IMAGE_H_
#define BERTH_PLUGINS_LOCAL_HELPER_IMAGE_H_

#include <string_view>

namespace berth::local {

std::string_view helper_image();

// The native and the Python half of a template.
std::string_view template_module();
std::string_view template_program();

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_HELPER_IMAGE_H_
