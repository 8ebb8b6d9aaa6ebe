// A manifest is understood or refused with findings, and one that is understood can be read again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/json.h"
#include "core/registry/manifest.h"
#include "tests/fuzz/fuzz_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth::registry;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Findings findings;
  const auto manifest = parse_manifest(text, findings);
  FUZZ_CHECK(manifest.has_value() != refuses(findings));
  if (!manifest) return 0;
  FUZZ_CHECK(size <= kManifestBytesMax);
  FUZZ_CHECK(!manifest->id.empty() && manifest->abi.major == 1);
  Findings again_findings;
  const std::string canonical = berth::canonical_json(manifest->document);
  if (canonical.size() > kManifestBytesMax) return 0;
  const auto again = parse_manifest(canonical, again_findings);
  FUZZ_CHECK(again.has_value() && again->id == manifest->id);
  return 0;
}
