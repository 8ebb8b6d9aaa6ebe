#include "helper_image.h"

// The paths of what the build has just made. The bytes travel inside the library, so there is nothing
// beside it that could be missing, older, or replaced.
#define BERTH_EMBED(name, path)                                              \
  __asm__(".pushsection .rodata\n"                                           \
          ".balign 64\n"                                                     \
          ".local berth_local_" name "_begin\n"                              \
          "berth_local_" name "_begin:\n"                                    \
          ".incbin \"" path "\"\n"                                           \
          ".local berth_local_" name "_end\n"                                \
          "berth_local_" name "_end:\n"                                      \
          ".byte 0\n"                                                        \
          ".popsection\n")

BERTH_EMBED("helper", BERTH_LOCAL_HELPER);
BERTH_EMBED("module", BERTH_LOCAL_TEMPLATE);
BERTH_EMBED("program", BERTH_LOCAL_TEMPLATE_PYTHON);

extern "C" {
#define BERTH_HIDDEN __attribute__((visibility("hidden")))
extern const char berth_local_helper_begin[] BERTH_HIDDEN;
extern const char berth_local_helper_end[] BERTH_HIDDEN;
extern const char berth_local_module_begin[] BERTH_HIDDEN;
extern const char berth_local_module_end[] BERTH_HIDDEN;
extern const char berth_local_program_begin[] BERTH_HIDDEN;
extern const char berth_local_program_end[] BERTH_HIDDEN;
}

namespace berth::local {
namespace {

std::string_view between(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

}  // namespace

std::string_view helper_image() { return between(berth_local_helper_begin, berth_local_helper_end); }

std::string_view template_module() {
  return between(berth_local_module_begin, berth_local_module_end);
}

std::string_view template_program() {
  return between(berth_local_program_begin, berth_local_program_end);
}

}  // namespace berth::local
