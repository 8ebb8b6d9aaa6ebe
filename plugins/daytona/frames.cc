#include "plugins/daytona/frames.h"

#include <openssl/evp.h>

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <charconv>
#include <stdexcept>

namespace berth::daytona {
namespace {

namespace json = boost::json;

constexpr std::size_t kOtherBytesMax = 300;

// The next word of a line, taken off it.
std::string_view word(std::string_view& line) {
  const auto end = std::min(line.find(' '), line.size());
  const std::string_view out = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return out;
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t out = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, out);
  if (text.empty() || read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return out;
}

std::optional<RunResult> end_of(std::string_view line) {
  const std::string_view cause = word(line);
  const auto value = number(word(line)), out = number(word(line)), err = number(word(line));
  if (!value || !out || !err || *value > 255) return std::nullopt;
  RunResult result;
  result.stdout_bytes = *out;
  result.stderr_bytes = *err;
  if (cause == "exited") {
    result.cause = Cause::kExited;
    result.exit_code = static_cast<std::int32_t>(*value);
  } else if (cause == "signalled") {
    result.cause = Cause::kSignalled;
    result.signal = static_cast<std::uint32_t>(*value);
  } else if (cause == "wall") {
    result.cause = Cause::kWall;
  } else {
    return std::nullopt;
  }
  return result;
}

// Keeps the text of the member "stdout" of the outermost object and nothing else.
struct StdoutMember {
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = max_object_size;
  static constexpr std::size_t max_key_size = max_object_size;
  static constexpr std::size_t max_string_size = max_object_size;
  using Text = json::string_view;
  using Code = json::error_code;

  std::string text;
  std::string key;
  int depth = 0;
  bool wanted = false;

  bool on_document_begin(Code&) { return true; }
  bool on_document_end(Code&) { return true; }
  bool on_object_begin(Code&) { return ++depth, true; }
  bool on_object_end(std::size_t, Code&) { return --depth, true; }
  bool on_array_begin(Code&) { return ++depth, true; }
  bool on_array_end(std::size_t, Code&) { return --depth, true; }
  bool on_key_part(Text part, std::size_t, Code&) { return add_to_key(part), true; }
  bool on_key(Text part, std::size_t, Code&) {
    add_to_key(part);
    wanted = depth == 1 && key == "stdout";
    key.clear();
    return true;
  }
  bool on_string_part(Text part, std::size_t, Code&) { return add(part), true; }
  bool on_string(Text part, std::size_t, Code&) { return add(part), true; }
  bool on_number_part(Text, Code&) { return true; }
  bool on_int64(std::int64_t, Text, Code&) { return true; }
  bool on_uint64(std::uint64_t, Text, Code&) { return true; }
  bool on_double(double, Text, Code&) { return true; }
  bool on_bool(bool, Code&) { return true; }
  bool on_null(Code&) { return true; }
  bool on_comment_part(Text, Code&) { return true; }
  bool on_comment(Text, Code&) { return true; }

 private:
  void add_to_key(Text part) {
    if (key.size() <= 64) key.append(part.data(), std::min<std::size_t>(part.size(), 65));
  }
  void add(Text part) {
    if (wanted) text.append(part.data(), part.size());
  }
};

}  // namespace

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string out(text.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()),
                                   static_cast<int>(text.size()));
  if (size < 0) return std::nullopt;
  out.resize(static_cast<std::size_t>(size));
  if (text.ends_with("==")) out.pop_back();
  if (text.ends_with('=')) out.pop_back();
  return out;
}

std::string to_base64(std::string_view bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(bytes.data()),
                                   static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

std::string without_marks(std::string_view bytes) {
  std::string out(bytes);
  std::erase_if(out, [](char c) { return c == '\1' || c == '\2'; });
  return out;
}

void FrameReader::put(std::string_view bytes) {
  lines_.put(bytes, [this](std::string_view whole) { line(whole); });
}

void FrameReader::line(std::string_view whole) {
  std::string_view rest = whole;
  const std::string_view kind = word(rest);
  const auto place = number(word(rest));
  const bool known = place && (kind == "~o" || kind == "~e" || kind == "~x");
  if (!known) {
    if (other_.size() < kOtherBytesMax && whole != other_) {
      if (!other_.empty()) other_ += " | ";
      other_ += whole.substr(0, kOtherBytesMax - other_.size());
    }
    return;
  }
  // One that was told of before, or one behind a gap that the next reading fills.
  if (*place != place_ || end_) return;
  if (kind == "~x") {
    end_ = end_of(rest);
    if (end_) ++place_;
    return;
  }
  auto bytes = from_base64(rest);
  if (!bytes) return;
  ++place_;
  pieces_.push_back({kind == "~o" ? Stream::kStdout : Stream::kStderr, std::move(*bytes)});
}

struct LogText::Parser {
  json::basic_parser<StdoutMember> parser{json::parse_options()};
};

LogText::LogText(bool is_json) : parser_(is_json ? std::make_unique<Parser>() : nullptr) {}
LogText::LogText(LogText&&) noexcept = default;
LogText::~LogText() = default;

std::string LogText::put(std::string_view bytes) {
  if (!parser_) return without_marks(bytes);
  json::error_code wrong;
  if (!parser_->parser.done()) parser_->parser.write_some(true, bytes.data(), bytes.size(), wrong);
  if (wrong) throw std::runtime_error("the log is not json: " + wrong.message());
  return without_marks(std::exchange(parser_->parser.handler().text, {}));
}

}  // namespace berth::daytona
