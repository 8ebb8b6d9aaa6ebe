// The lines of runner.py out of a log that may be cut, repeated, or mixed with other text.
//
// Values; one thread.
#ifndef BERTH_PLUGINS_DAYTONA_FRAMES_H_
#define BERTH_PLUGINS_DAYTONA_FRAMES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/host.hpp"
#include "berth/values.hpp"
#include "plugins/http/lines.h"

namespace berth::daytona {

struct Piece {
  Stream stream = Stream::kStdout;
  std::string bytes;
};

// Every line has its place in the order, so a log may be read from its beginning again and again,
// and whatever comes twice is seen once.
class FrameReader {
 public:
  static constexpr std::size_t kLineBytesMax = 64 * 1024;

  // A log begins (again). What follows are its bytes, cut anywhere.
  void begin() { lines_ = http::LineReader(kLineBytesMax); }
  // Throws http::RecordTooLong for what no runner writes.
  void put(std::string_view bytes);
  // What is new, in order. Asking takes it.
  std::vector<Piece> take() { return std::exchange(pieces_, {}); }

  // How the program ended; nothing before its last line has come.
  const std::optional<RunResult>& end() const { return end_; }
  // Lines that were told of so far.
  std::uint64_t place() const { return place_; }
  // Something else that was in the log, for messages.
  const std::string& other() const { return other_; }

 private:
  void line(std::string_view line);

  http::LineReader lines_{kLineBytesMax};
  std::uint64_t place_ = 0;
  std::vector<Piece> pieces_;
  std::optional<RunResult> end_;
  std::string other_;
};

// The standard output in the answer of a log request: JSON, of which it is one member, or text. In
// text, and in frames of a socket, the service marks whose each piece is with three bytes of 1 or
// 2; a runner writes no such bytes, so they are dropped wherever they stand.
class LogText {
 public:
  explicit LogText(bool is_json);
  LogText(LogText&&) noexcept;
  ~LogText();

  // The part of the bytes that is standard output. Throws std::runtime_error for broken JSON.
  std::string put(std::string_view bytes);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;  // for JSON
};

std::string without_marks(std::string_view bytes);
std::string to_base64(std::string_view bytes);
// Nothing when it is not base64.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace berth::daytona

#endif  // BERTH_PLUGINS_DAYTONA_FRAMES_H_
