// Preparing a source keeps its number of lines, leaves what it does not know, and is done after once.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/json.h"
#include "core/execution/output.h"
#include "core/execution/source.h"
#include "tests/fuzz/fuzz_check.h"

namespace {

void check_source(std::string_view code) {
  const berth::PreparedSource prepared = berth::prepare_python(code);
  FUZZ_CHECK(std::count(code.begin(), code.end(), '\n') ==
             std::count(prepared.code.begin(), prepared.code.end(), '\n'));
  if (code.find("install") == code.npos) FUZZ_CHECK(prepared.code == code);
  if (prepared.code == code) FUZZ_CHECK(prepared.installs.empty());
}

// However a stream is cut, its text is the same.
void check_cutting(std::string_view bytes, std::size_t piece) {
  berth::CharacterCutter cutter;
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    text += berth::to_valid_utf8(cutter.take(bytes.substr(at, piece)));
  }
  text += berth::to_valid_utf8(cutter.finish());
  FUZZ_CHECK(text == berth::to_valid_utf8(bytes));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check_source(bytes);
  check_cutting(bytes, size == 0 ? 1 : data[0] % 7 + 1u);
  berth::KeptOutput kept(size / 2);
  kept.append(bytes);
  const berth::OutputText text = kept.text();
  FUZZ_CHECK(text.bytes == size && text.omitted_bytes <= size);
  FUZZ_CHECK(berth::is_valid_utf8(text.text));
  return 0;
}
