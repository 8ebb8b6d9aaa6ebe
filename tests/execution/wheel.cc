#include "tests/execution/wheel.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace berth::test {
namespace {

// The CRC-32 of zip files, bit by bit.
std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t crc = 0xFFFFFFFFu;
  for (const char byte : bytes) {
    crc ^= static_cast<std::uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1u) != 0 ? 0xEDB88320u : 0u);
  }
  return ~crc;
}

void put(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>((value >> (8 * i)) & 0xFFu);
}

// An archive of files that are stored as they are.
std::string zip(const std::vector<std::pair<std::string, std::string>>& files) {
  std::string out;
  std::string directory;
  for (const auto& [name, contents] : files) {
    std::string common;
    put(common, 20, 2);          // version needed
    put(common, 0, 2);           // flags
    put(common, 0, 2);           // stored
    put(common, 0, 2);           // time
    put(common, 0x5821, 2);      // date: 2024-01-01
    put(common, crc32(contents), 4);
    put(common, contents.size(), 4);
    put(common, contents.size(), 4);
    put(common, name.size(), 2);
    put(common, 0, 2);           // no extra field
    put(directory, 0x02014b50, 4);
    put(directory, 20, 2);
    directory += common;
    put(directory, 0, 2);        // no comment
    put(directory, 0, 2);        // disk
    put(directory, 0, 2);        // internal attributes
    put(directory, 0x81A40000u, 4);
    put(directory, out.size(), 4);
    directory += name;
    put(out, 0x04034b50, 4);
    out += common + name + contents;
  }
  const std::size_t start = out.size();
  out += directory;
  put(out, 0x06054b50, 4);
  put(out, 0, 4);
  put(out, files.size(), 2);
  put(out, files.size(), 2);
  put(out, directory.size(), 4);
  put(out, start, 4);
  put(out, 0, 2);
  return out;
}

}  // namespace

RequestFile make_wheel(std::string_view name, std::string_view version, std::string_view source) {
  const std::string info = fmt::format("{}-{}.dist-info/", name, version);
  const std::string record = info + "RECORD";
  std::vector<std::pair<std::string, std::string>> files = {
      {fmt::format("{}.py", name), std::string(source)},
      {info + "METADATA", fmt::format("Metadata-Version: 2.1\nName: {}\nVersion: {}\n", name, version)},
      {info + "WHEEL", "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}};
  std::string list;
  for (const auto& [file, contents] : files) list += file + ",,\n";
  files.emplace_back(record, list + record + ",,\n");
  return {fmt::format("{}-{}-py3-none-any.whl", name, version), zip(files)};
}

}  // namespace berth::test
