#include "plugins/http/lines.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace berth::http {
namespace {

void require_room(std::size_t bytes, std::size_t bytes_max) {
  if (bytes > bytes_max)
    throw RecordTooLong("a record of the stream has more than " + std::to_string(bytes_max) +
                        " bytes");
}

void hand_over(std::string_view line, const LineReader::OnLine& on_line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (!line.empty()) on_line(line);
}

}  // namespace

void LineReader::put(std::string_view bytes, const OnLine& on_line) {
  for (;;) {
    const auto end = bytes.find('\n');
    require_room(kept_.size() + std::min(end, bytes.size()), bytes_max_);
    if (end == std::string_view::npos) break;
    if (kept_.empty()) {
      hand_over(bytes.substr(0, end), on_line);
    } else {
      kept_ += bytes.substr(0, end);
      const std::string line = std::exchange(kept_, {});
      hand_over(line, on_line);
    }
    bytes.remove_prefix(end + 1);
  }
  kept_ += bytes;
}

void LineReader::end(const OnLine& on_line) {
  const std::string line = std::exchange(kept_, {});
  hand_over(line, on_line);
}

void SseReader::put(std::string_view bytes, const OnEvent& on_event) {
  for (const char c : bytes) {
    const bool lf_of_crlf = after_cr_ && c == '\n';
    after_cr_ = c == '\r';
    if (lf_of_crlf) continue;
    if (c == '\n' || c == '\r') {
      line(on_event);
      continue;
    }
    require_room(kept_.size() + event_.data.size() + 1, bytes_max_);
    kept_.push_back(c);
  }
}

void SseReader::line(const OnEvent& on_event) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  std::string text = std::exchange(kept_, {});
  if (std::exchange(first_, false) && text.starts_with(kByteOrderMark))
    text.erase(0, kByteOrderMark.size());
  if (text.empty()) {
    if (std::exchange(has_data_, false)) on_event(event_);
    event_.data.clear();
    event_.event.clear();
    return;
  }
  const std::string_view view = text;
  const auto colon = view.find(':');
  if (colon == 0) return;
  std::string_view value = colon == std::string_view::npos ? "" : view.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  field(view.substr(0, colon), value);
}

void SseReader::field(std::string_view name, std::string_view value) {
  if (name == "data") {
    if (has_data_) event_.data.push_back('\n');
    has_data_ = true;
    event_.data += value;
  } else if (name == "event") {
    event_.event = value;
  } else if (name == "id") {
    if (value.find('\0') == std::string_view::npos) event_.id = value;
  } else if (name == "retry") {
    std::uint32_t ms = 0;
    const char* const end = value.data() + value.size();
    const auto read = std::from_chars(value.data(), end, ms);
    if (!value.empty() && read.ec == std::errc() && read.ptr == end)
      retry_ = std::chrono::milliseconds(ms);
  }
}

}  // namespace berth::http
