#include "plugins/vercel/runner_output.h"

#include <algorithm>
#include <charconv>

#include "plugins/vercel/encoding.h"

namespace berth::vercel {
namespace {

constexpr std::size_t kOtherBytesMax = 2000;

std::string_view next_word(std::string_view& text) {
  const auto end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

std::optional<std::uint64_t> number(std::string_view word) {
  std::uint64_t value = 0;
  const auto [end, wrong] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (wrong != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

// "exited 3 1200 0", "signalled 9 0 0", "wall 0 0 0".
std::optional<RunResult> end_of(std::string_view text) {
  const std::string_view cause = next_word(text);
  const auto how = number(next_word(text));
  const auto out = number(next_word(text));
  const auto err = number(next_word(text));
  if (!how || !out || !err || *how > 255) return std::nullopt;
  RunResult result;
  result.stdout_bytes = *out;
  result.stderr_bytes = *err;
  if (cause == "exited") {
    result.cause = Cause::kExited;
    result.exit_code = static_cast<std::int32_t>(*how);
  } else if (cause == "signalled") {
    result.cause = Cause::kSignalled;
    result.signal = static_cast<std::uint32_t>(*how);
  } else if (cause == "wall") {
    result.cause = Cause::kWall;
  } else {
    return std::nullopt;
  }
  return result;
}

}  // namespace

RunnerOutput::RunnerOutput(std::uint64_t stdout_cap_bytes, std::uint64_t stderr_cap_bytes) {
  streams_[0].cap = stdout_cap_bytes;
  streams_[1].cap = stderr_cap_bytes;
}

void RunnerOutput::begin_again() {
  for (OneStream& stream : streams_) {
    stream.lines = http::LineReader(kLineBytesMax);
    stream.passed = 0;
  }
}

void RunnerOutput::put(Stream stream, std::string_view text) {
  at(stream).lines.put(text, [&](std::string_view one) { line(stream, one); });
}

void RunnerOutput::end_of_streams() {
  for (const Stream stream : {Stream::kStdout, Stream::kStderr})
    at(stream).lines.end([&](std::string_view one) { line(stream, one); });
}

void RunnerOutput::line(Stream stream, std::string_view text) {
  OneStream& own = at(stream);
  if (text.starts_with('~') && stream == Stream::kStdout) {
    if (const auto end = end_of(text.substr(1))) end_ = end;
    return;
  }
  auto bytes = text.starts_with(':') ? from_base64(text.substr(1)) : std::nullopt;
  if (!bytes) {
    if (other_.size() + text.size() < kOtherBytesMax) other_ += std::string(text) + "\n";
    return;
  }
  const std::uint64_t before = own.passed;
  own.passed += bytes->size();
  if (own.passed <= own.given) return;
  bytes->erase(0, own.given > before ? own.given - before : 0);
  own.given = own.passed;
  pieces_.push_back({stream, std::move(*bytes)});
}

// A runner sends one byte more than the cap, which tells that there was more.
bool RunnerOutput::has_all(const OneStream& stream, std::uint64_t produced) const {
  return stream.given >= (stream.cap == 0 ? produced : std::min(produced, stream.cap + 1));
}

std::optional<RunResult> RunnerOutput::result() const {
  if (!end_ || !has_all(streams_[0], end_->stdout_bytes) ||
      !has_all(streams_[1], end_->stderr_bytes))
    return std::nullopt;
  return end_;
}

}  // namespace berth::vercel
