#include "core/execution/output.h"

#include <algorithm>
#include <utility>

#include "core/base/json.h"

namespace berth {
namespace {

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0u) == 0x80u; }

// How many bytes a character that starts with this byte has; 0 for a byte that starts none.
std::size_t length_from_lead(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (byte < 0x80) return 1;
  if (byte >= 0xC2 && byte <= 0xDF) return 2;
  if (byte >= 0xE0 && byte <= 0xEF) return 3;
  if (byte >= 0xF0 && byte <= 0xF4) return 4;
  return 0;
}

// Length of an unfinished but so far possible character at the end of `bytes`.
std::size_t unfinished(std::string_view bytes) {
  const std::size_t most = std::min<std::size_t>(3, bytes.size());
  for (std::size_t back = 1; back <= most; ++back) {
    const char c = bytes[bytes.size() - back];
    if (is_continuation(c)) continue;
    if (length_from_lead(c) <= back) return 0;
    // One replacement for all of it means that it could still become a character.
    const std::string shown = to_valid_utf8(bytes.substr(bytes.size() - back));
    return shown == "\xEF\xBF\xBD" ? back : 0;
  }
  return 0;
}

std::string omission(std::uint64_t bytes) {
  return "\n[... " + std::to_string(bytes) + " bytes omitted ...]\n";
}

}  // namespace

std::string_view CharacterCutter::take(std::string_view bytes) {
  if (pending_.empty()) {
    const std::size_t rest = unfinished(bytes);
    pending_.assign(bytes.substr(bytes.size() - rest));
    return bytes.substr(0, bytes.size() - rest);
  }
  ready_ = std::move(pending_);
  ready_.append(bytes);
  const std::size_t rest = unfinished(ready_);
  pending_.assign(ready_, ready_.size() - rest, rest);
  ready_.resize(ready_.size() - rest);
  return ready_;
}

std::string_view CharacterCutter::finish() {
  ready_ = std::exchange(pending_, {});
  return ready_;
}

KeptOutput::KeptOutput(std::uint64_t keep_bytes)
    : half_(static_cast<std::size_t>(std::max<std::uint64_t>(keep_bytes / 2, 1))) {}

void KeptOutput::append(std::string_view bytes) {
  if (bytes.empty()) return;
  bytes_ += bytes.size();
  last_ = bytes.back();
  const std::size_t into_head = std::min(bytes.size(), half_ - head_.size());
  head_.append(bytes.substr(0, into_head));
  bytes.remove_prefix(into_head);
  if (bytes.size() > half_) bytes.remove_prefix(bytes.size() - half_);
  tail_.append(bytes);
  if (tail_.size() > 2 * half_) tail_.erase(0, tail_.size() - half_);
}

std::string_view KeptOutput::kept_tail() const {
  const std::string_view tail = tail_;
  return tail.size() <= half_ ? tail : tail.substr(tail.size() - half_);
}

OutputText KeptOutput::text() const {
  OutputText out;
  out.bytes = bytes_;
  std::string_view head = head_;
  std::string_view tail = kept_tail();
  if (head.size() + tail.size() == bytes_) {
    out.text = to_valid_utf8(head_ + std::string(tail));
    return out;
  }
  // A character cut in two by the gap belongs to what is left out.
  head.remove_suffix(unfinished(head));
  for (int i = 0; i < 3 && !tail.empty() && is_continuation(tail.front()); ++i) {
    tail.remove_prefix(1);
  }
  out.truncated = true;
  out.omitted_bytes = bytes_ - head.size() - tail.size();
  out.text = to_valid_utf8(head) + omission(out.omitted_bytes) + to_valid_utf8(tail);
  return out;
}

std::string abridge(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return std::string(text);
  KeptOutput kept(bytes_max);
  kept.append(text);
  return kept.text().text;
}

}  // namespace berth
