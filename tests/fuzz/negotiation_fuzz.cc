// Whatever a provider answers to the offer, it is bound only when every address lies where it must.
#include <fcntl.h>

#include <cstddef>
#include <cstdint>

#include "core/os/fd.h"
#include "core/plugin/binding.h"
#include "tests/fuzz/fuzz_check.h"

namespace {

struct Script {
  const std::uint8_t* ptr;
  std::uint64_t len;
};

int provider() {
  static const auto file = berth::os::open_file(BERTH_NEGOTIATING_PROVIDER, O_RDONLY);
  FUZZ_CHECK(file.has_value());
  return file->get();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  if (size == 0) return 0;
  Script script{data + 1, size - 1};
  berth_host_v1 host{};
  host.struct_size = sizeof host;
  host.ctx = &script;
  plugin::Claims claims;
  claims.fences = (data[0] & 1) != 0;
  if ((data[0] & 2) != 0) claims.extensions = {"berth.files/1"};
  plugin::Binding binding;
  registry::Findings findings;
  const bool bound = plugin::bind(provider(), host, claims, [](std::string_view) {}, binding, findings);
  FUZZ_CHECK(bound != refuses(findings));
  for (const auto& finding : findings) FUZZ_CHECK(!to_sentence(finding).empty());
  if (!bound) return 0;
  FUZZ_CHECK(binding.minor == 0 && binding.table.reserved == 0);
  FUZZ_CHECK((binding.table.fence != nullptr) == claims.fences);
  FUZZ_CHECK(binding.library.contains_code(reinterpret_cast<const void*>(binding.table.create)));
  FUZZ_CHECK(binding.library.contains_code(reinterpret_cast<const void*>(binding.table.shutdown)));
  return 0;
}
