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
BERTH_EMBED("site", BERTH_LOCAL_TEMPLATE_FOLDER "/sitecustomize.py");
BERTH_EMBED("interpreter", BERTH_LOCAL_TEMPLATE_FOLDER "/interpreter.py");
BERTH_EMBED("shelf", BERTH_LOCAL_TEMPLATE_FOLDER "/shelf.py");
BERTH_EMBED("ending", BERTH_LOCAL_TEMPLATE_FOLDER "/ending.py");
BERTH_EMBED("addon", BERTH_LOCAL_TEMPLATE_NODE);
BERTH_EMBED("node", BERTH_LOCAL_TEMPLATE_FOLDER "/node.cjs");
BERTH_EMBED("ahead", BERTH_LOCAL_TEMPLATE_FOLDER "/harness.py");
BERTH_EMBED("harness", BERTH_LOCAL_HARNESS);

extern "C" {
#define BERTH_EMBEDDED(name)                                                               \
  extern const char berth_local_##name##_begin[] __attribute__((visibility("hidden")));    \
  extern const char berth_local_##name##_end[] __attribute__((visibility("hidden")))
BERTH_EMBEDDED(helper);
BERTH_EMBEDDED(module);
BERTH_EMBEDDED(site);
BERTH_EMBEDDED(interpreter);
BERTH_EMBEDDED(shelf);
BERTH_EMBEDDED(ending);
BERTH_EMBEDDED(addon);
BERTH_EMBEDDED(node);
BERTH_EMBEDDED(ahead);
BERTH_EMBEDDED(harness);
}

#define BERTH_BYTES(name) between(berth_local_##name##_begin, berth_local_##name##_end)

namespace berth::local {
namespace {

std::string_view between(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

}  // namespace

std::string_view helper_image() { return BERTH_BYTES(helper); }

std::vector<TemplateFile> template_files(Interpreter interpreter) {
  if (interpreter == Interpreter::kNode) {
    return {TemplateFile{"fork.node", BERTH_BYTES(addon)}, TemplateFile{"node.cjs", BERTH_BYTES(node)}};
  }
  return {TemplateFile{"fork.so", BERTH_BYTES(module)},
          TemplateFile{"sitecustomize.py", BERTH_BYTES(site)},
          TemplateFile{"interpreter.py", BERTH_BYTES(interpreter)},
          TemplateFile{"shelf.py", BERTH_BYTES(shelf)}, TemplateFile{"ending.py", BERTH_BYTES(ending)},
          TemplateFile{"harness.py", BERTH_BYTES(ahead)}, TemplateFile{"harness.txt", BERTH_BYTES(harness)}};
}

}  // namespace berth::local
