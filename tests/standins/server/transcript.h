// Transcript: everything a command has written, both streams in the order in which it came.
#ifndef BERTH_TESTS_STANDINS_SERVER_TRANSCRIPT_H_
#define BERTH_TESTS_STANDINS_SERVER_TRANSCRIPT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth::standins {

inline constexpr std::uint8_t kOut = 1;
inline constexpr std::uint8_t kErr = 2;

// Bounded: beyond the most it keeps, it only counts.
class Transcript {
 public:
  static constexpr std::size_t kBytesMax = std::size_t{256} << 20;

  struct Piece {
    std::uint8_t stream = 0;
    std::string_view bytes;  // until the next append
  };

  void append(std::uint8_t stream, std::string_view bytes) {
    const std::size_t room = kBytesMax - text_.size();
    dropped_ += bytes.size() - std::min(bytes.size(), room);
    bytes = bytes.substr(0, room);
    if (bytes.empty()) return;
    if (runs_.empty() || runs_.back().stream != stream) runs_.push_back({0, stream});
    text_.append(bytes);
    runs_.back().end = text_.size();
  }
  std::size_t size() const { return text_.size(); }
  std::size_t dropped() const { return dropped_; }

  // What of one stream begins at `at`, at most `bytes_max`. at must be less than size().
  Piece piece(std::size_t at, std::size_t bytes_max) const {
    const auto run = std::upper_bound(runs_.begin(), runs_.end(), at,
                                      [](std::size_t where, const Run& one) { return where < one.end; });
    const std::size_t size = std::min(run->end - at, bytes_max);
    return {run->stream, std::string_view(text_).substr(at, size)};
  }
  std::string of(std::uint8_t stream) const {
    std::string text;
    for (std::size_t at = 0; at < text_.size();) {
      const Piece one = piece(at, text_.size());
      if (one.stream == stream) text += one.bytes;
      at += one.bytes.size();
    }
    return text;
  }
  const std::string& all() const { return text_; }
  // The same as it was `bytes` bytes ago.
  Transcript earlier(std::size_t bytes) const {
    Transcript then;
    const std::size_t end = text_.size() - std::min(text_.size(), bytes);
    for (std::size_t at = 0; at < end;) {
      const Piece one = piece(at, end - at);
      then.append(one.stream, one.bytes);
      at += one.bytes.size();
    }
    return then;
  }

 private:
  struct Run {
    std::size_t end = 0;
    std::uint8_t stream = 0;
  };
  std::string text_;
  std::vector<Run> runs_;
  std::size_t dropped_ = 0;
};

}  // namespace berth::standins

#endif  // BERTH_TESTS_STANDINS_SERVER_TRANSCRIPT_H_
