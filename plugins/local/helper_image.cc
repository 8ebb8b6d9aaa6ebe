#include "helper_image.h"

// BERTH_LOCAL_HELPER is the path of the binary the build has just made. The bytes travel inside the
// library, so there is nothing beside it that could be missing, older, or replaced.
__asm__(
    ".pushsection .rodata\n"
    ".balign 64\n"
    ".local berth_local_helper_begin\n"
    "berth_local_helper_begin:\n"
    ".incbin \"" BERTH_LOCAL_HELPER "\"\n"
    ".local berth_local_helper_end\n"
    "berth_local_helper_end:\n"
    ".byte 0\n"
    ".popsection\n");

extern "C" {
extern const char berth_local_helper_begin[] __attribute__((visibility("hidden")));
extern const char berth_local_helper_end[] __attribute__((visibility("hidden")));
}

namespace berth::local {

std::string_view helper_image() {
  return {berth_local_helper_begin,
          static_cast<std::size_t>(berth_local_helper_end - berth_local_helper_begin)};
}

}  // namespace berth::local
