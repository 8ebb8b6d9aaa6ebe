// The binaries this library carries inside: the helper, and what a template is made of.
#ifndef BERTH_PLUGINS_LOCAL_HELPER_IMAGE_H_
#define BERTH_PLUGINS_LOCAL_HELPER_IMAGE_H_

#include <array>
#include <string_view>

namespace berth::local {

std::string_view helper_image();

// What a template is made of: its native half, which is a module Python loads, and its Python half.
struct TemplateFile {
  std::string_view name;
  std::string_view contents;
};
std::array<TemplateFile, 5> template_files();

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_HELPER_IMAGE_H_
