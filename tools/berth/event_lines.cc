#include "tools/berth/event_lines.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <utility>

#include "core/base/json.h"
#include "core/execution/base64.h"

namespace berth::cli {
namespace {

// Members of the document that can be large. All but the message have been on earlier lines.
constexpr std::array kLargeMembers{"message", "stdout", "stderr", "result", "chart", "charts"};

// At most `bytes_max` of `bytes`, ending between two characters where it can.
std::string_view first_piece(std::string_view bytes, std::size_t bytes_max) {
  if (bytes.size() <= bytes_max) return bytes;
  std::size_t end = bytes_max;
  for (int back = 0; back < 3; ++back) {
    if ((static_cast<unsigned char>(bytes[end]) & 0xC0) != 0x80) break;
    --end;
  }
  return bytes.substr(0, end);
}

}  // namespace

EventLines::EventLines(boost::json::object subject) : subject_(std::move(subject)) {}

std::string EventLines::line(std::string_view event, boost::json::object members) {
  const auto age = std::chrono::steady_clock::now() - since_;
  boost::json::object whole;
  whole["event"] = event;
  whole["version"] = 1;
  whole["sequence"] = sequence_++;
  whole["at_us"] = std::chrono::duration_cast<std::chrono::microseconds>(age).count();
  for (auto& member : members) whole[member.key()] = std::move(member.value());
  return to_json_text(std::move(whole)) + "\n";
}

std::string EventLines::started() { return line("started", std::move(subject_)); }

std::string EventLines::stage(std::string_view stage) {
  return line("stage", {{"stage", to_valid_utf8(stage)}});
}

std::string EventLines::output(const OutputChunk& chunk) {
  const bool out = chunk.stream == Stream::kStdout;
  std::uint64_t& offset = offsets_.at(out ? 0 : 1);
  std::string lines;
  std::string_view left = chunk.raw;
  while (!left.empty()) {
    const std::string_view piece = first_piece(left, kPieceBytesMax);
    left.remove_prefix(piece.size());
    boost::json::object members;
    members["offset"] = offset;
    members["bytes"] = piece.size();
    members["text"] = to_valid_utf8(piece);
    if (!is_valid_utf8(piece)) members["base64"] = to_base64(piece);
    offset += piece.size();
    lines += line(out ? "stdout" : "stderr", std::move(members));
  }
  return lines;
}

std::string EventLines::chart(const Chart& chart) {
  return line("chart", {{"index", charts_++}, {"chart", to_json(chart)}});
}

std::string EventLines::result(const ResultValue& value) {
  return line("result", {{"result", to_json(value)}});
}

std::string EventLines::finished(boost::json::object document, int exit_code) {
  boost::json::array left_out;
  for (const std::string_view name : kLargeMembers) {
    const auto* member = document.if_contains(name);
    if (member == nullptr || to_json_text(*member).size() <= kRepeatedBytesMax) continue;
    document.erase(name);
    left_out.emplace_back(name);
  }
  return line("finished", {{"exit", exit_code},
                           {"left_out", std::move(left_out)},
                           {"result", std::move(document)}});
}

std::string EventLines::failed(const Failure& failure) {
  boost::json::object error;
  error["kind"] = to_string(failure.error.kind());
  error["message"] = to_valid_utf8(failure.error.message());
  return line("failed", {{"exit", to_int(failure.exit)}, {"error", std::move(error)}});
}

boost::json::object event_subject(const ExecutionRequest& request) {
  return {{"title", to_valid_utf8(request.title)},
          {"language", to_string(request.language)},
          {"owner", to_valid_utf8(request.key.owner)},
          {"session", to_valid_utf8(request.key.session)},
          {"call", to_valid_utf8(request.key.call)}};
}

}  // namespace berth::cli
