// The binaries this library carries inside: the helper, and what a template is made of.
#ifndef BERTH_PLUGINS_LOCAL_HELPER_IMAGE_H_
#define BERTH_PLUGINS_LOCAL_HELPER_IMAGE_H_

#include <string_view>
#include <vector>

#include "sandbox.h"

namespace berth::local {

std::string_view helper_image();

// What a template is made of: its native half, which is a module its interpreter loads, and the half in
// the interpreter's own language; for Python also the harness that the hosts of this build put beside a
// program.
struct TemplateFile {
  std::string_view name;
  std::string_view contents;
};
std::vector<TemplateFile> template_files(Interpreter interpreter);

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_HELPER_IMAGE_H_
