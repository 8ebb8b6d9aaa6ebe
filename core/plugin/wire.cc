#include "core/plugin/wire.h"

#include <fmt/format.h>

#include "core/base/json.h"

namespace berth::plugin {

WireWriter::WireWriter(FrameType type, OpId op) {
  const auto header = frame_header(type, op, 0);
  bytes_.reserve(128);
  bytes_.append(header.data(), header.size());
}

void WireWriter::text(std::string_view value) {
  number(static_cast<std::uint32_t>(value.size()));
  bytes_.append(value);
}

void WireWriter::texts(const std::vector<std::string>& list) {
  number(static_cast<std::uint32_t>(list.size()));
  for (const std::string& item : list) text(item);
}

void WireWriter::pairs(const std::vector<std::pair<std::string, std::string>>& list) {
  number(static_cast<std::uint32_t>(list.size()));
  for (const auto& [key, value] : list) {
    text(key);
    text(value);
  }
}

std::string WireWriter::take() {
  const std::size_t payload = bytes_.size() - kFrameHeaderBytes;
  for (std::size_t i = 0; i < 4; ++i) bytes_[i] = static_cast<char>(payload >> (8 * i) & 0xFF);
  return std::move(bytes_);
}

std::array<char, kFrameHeaderBytes> frame_header(FrameType type, OpId op,
                                                 std::size_t payload_bytes) {
  std::array<char, kFrameHeaderBytes> header{};
  for (std::size_t i = 0; i < 4; ++i)
    header[i] = static_cast<char>(payload_bytes >> (8 * i) & 0xFF);
  header[4] = static_cast<char>(type);
  for (std::size_t i = 0; i < 8; ++i) header[8 + i] = static_cast<char>(op >> (8 * i) & 0xFF);
  return header;
}

void WireReader::spoil() {
  good_ = false;
  bytes_ = {};
}

bool WireReader::flag() {
  const auto value = number<std::uint8_t>();
  if (value > 1) spoil();
  return value == 1;
}

std::string WireReader::text(std::size_t bytes_max) {
  const auto size = number<std::uint32_t>();
  if (size > bytes_max || size > bytes_.size()) return spoil(), std::string();
  std::string out(bytes_.substr(0, size));
  bytes_.remove_prefix(size);
  if (texts_ == Texts::kUtf8 && (!is_valid_utf8(out) || out.find('\0') != std::string::npos)) return spoil(), std::string();
  return out;
}

std::uint32_t WireReader::count(std::size_t count_max, std::size_t element_bytes_min) {
  const auto found = number<std::uint32_t>();
  if (found > count_max || found > bytes_.size() / element_bytes_min) return spoil(), 0;
  return found;
}

std::vector<std::string> WireReader::texts(std::size_t count_max, std::size_t bytes_max) {
  std::vector<std::string> out;
  const std::uint32_t size = count(count_max, 4);
  for (std::uint32_t i = 0; i < size && good_; ++i) out.push_back(text(bytes_max));
  return out;
}

std::vector<std::pair<std::string, std::string>> WireReader::pairs(std::size_t count_max,
                                                                   std::size_t bytes_max) {
  std::vector<std::pair<std::string, std::string>> out;
  const std::uint32_t size = count(count_max, 8);
  for (std::uint32_t i = 0; i < size && good_; ++i) {
    std::string key = text(bytes_max);
    out.emplace_back(std::move(key), text(bytes_max));
  }
  return out;
}

std::string_view WireReader::rest() {
  const std::string_view out = bytes_;
  bytes_ = {};
  return out;
}

Result<std::optional<Frame>> next_frame(std::string_view bytes, std::size_t& used) {
  used = 0;
  if (bytes.size() < kFrameHeaderBytes) return std::nullopt;
  WireReader header(bytes.substr(0, kFrameHeaderBytes));
  const auto size = header.number<std::uint32_t>();
  const auto type = header.number<std::uint8_t>();
  const auto zeros = header.number<std::uint8_t>() | header.number<std::uint8_t>() |
                     header.number<std::uint8_t>();
  const auto op = header.number<std::uint64_t>();
  if (type == 0 || type > kFrameTypeLast || zeros != 0)
    return fail(ErrorKind::kCorrupt, fmt::format("a frame of unknown type {}", type));
  if (size > kFramePayloadMax)
    return fail(ErrorKind::kLimit, fmt::format("a frame of {} bytes; at most {} are read", size,
                                               kFramePayloadMax));
  if (bytes.size() - kFrameHeaderBytes < size) return std::nullopt;
  used = kFrameHeaderBytes + size;
  return Frame{static_cast<FrameType>(type), op, bytes.substr(kFrameHeaderBytes, size)};
}

std::string encode_hello(const Hello& hello) {
  WireWriter out(FrameType::kHello, 0);
  out.number(hello.version);
  out.texts(hello.extensions);
  out.texts(hello.variables);
  out.number<std::uint8_t>(hello.fences ? 1 : 0);
  out.number(hello.concurrency);
  out.text(hello.config_json);
  return out.take();
}

Result<Hello> decode_hello(std::string_view payload) {
  WireReader in(payload);
  Hello out;
  out.version = in.number<std::uint32_t>();
  out.extensions = in.texts(64, 256);
  out.variables = in.texts(1024, 256);
  out.fences = in.flag();
  out.concurrency = in.number<std::uint32_t>();
  out.config_json = in.text(std::size_t{1} << 20);
  if (!in.finished()) return fail(ErrorKind::kCorrupt, "the greeting cannot be read");
  if (out.version != kWireVersion)
    return fail(ErrorKind::kRefused,
                fmt::format("the host speaks wire version {}, this worker {}: they are of different "
                            "installations",
                            out.version, kWireVersion));
  return out;
}

std::string encode_findings(FrameType type, const registry::Findings& findings) {
  WireWriter out(type, 0);
  const auto size = static_cast<std::uint32_t>(std::min<std::size_t>(findings.size(), 256));
  out.number(size);
  for (std::uint32_t i = 0; i < size; ++i) {
    const registry::Finding& finding = findings[i];
    out.number(static_cast<std::uint8_t>(finding.severity));
    out.text(bounded_message(finding.clause));
    out.text(bounded_message(finding.claimed));
    out.text(bounded_message(finding.found));
    out.text(bounded_message(finding.remedy));
  }
  return out.take();
}

Result<registry::Findings> decode_findings(std::string_view payload) {
  WireReader in(payload);
  registry::Findings out;
  const std::uint32_t size = in.count(256, 17);
  for (std::uint32_t i = 0; i < size && in.good(); ++i) {
    registry::Finding finding;
    finding.severity = in.choice(registry::Severity::kWarning);
    finding.clause = to_valid_utf8(in.text(8192));
    finding.claimed = to_valid_utf8(in.text(8192));
    finding.found = to_valid_utf8(in.text(8192));
    finding.remedy = to_valid_utf8(in.text(8192));
    out.push_back(std::move(finding));
  }
  if (!in.finished()) return fail(ErrorKind::kCorrupt, "the worker's findings cannot be read");
  return out;
}

}  // namespace berth::plugin
