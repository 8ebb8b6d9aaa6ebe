// The program's own bytes and its end, out of what a runner writes to its two streams.
//
// The service carries text only, and begins from the start when it is asked again. A runner writes
// lines of it: ":BASE64" is output of the stream it stands on, and "~exited 3 1200 0", on standard
// output, is the end with what the program wrote to each stream. Values; one thread.
#ifndef BERTH_PLUGINS_VERCEL_RUNNER_OUTPUT_H_
#define BERTH_PLUGINS_VERCEL_RUNNER_OUTPUT_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/host.hpp"
#include "berth/values.hpp"
#include "plugins/http/lines.h"

namespace berth::vercel {

struct Piece {
  Stream stream = Stream::kStdout;
  std::string bytes;
};

class RunnerOutput {
 public:
  static constexpr std::size_t kLineBytesMax = 256 * 1024;

  // What a runner sends at most of each stream; 0: all of it.
  RunnerOutput(std::uint64_t stdout_cap_bytes, std::uint64_t stderr_cap_bytes);

  // The streams begin again; what has been taken is not given twice.
  void begin_again();
  // Throws http::RecordTooLong for what no runner writes.
  void put(Stream stream, std::string_view text);
  // The streams are over: a last line without an end is one, too.
  void end_of_streams();
  // What is new, in order. Asking takes it.
  std::vector<Piece> take() { return std::exchange(pieces_, {}); }

  // How the program ended, once everything that was sent has come as well.
  std::optional<RunResult> result() const;
  // What has come of both streams.
  std::uint64_t bytes() const { return streams_[0].given + streams_[1].given; }
  std::uint64_t bytes_of(Stream stream) const { return at(stream).given; }
  // Something else that was on the streams, for messages.
  const std::string& other() const { return other_; }

 private:
  struct OneStream {
    http::LineReader lines{kLineBytesMax};
    std::uint64_t cap = 0;
    std::uint64_t passed = 0;  // since it began
    std::uint64_t given = 0;   // ever
  };
  OneStream& at(Stream stream) { return streams_[stream == Stream::kStderr ? 1 : 0]; }
  const OneStream& at(Stream stream) const { return streams_[stream == Stream::kStderr ? 1 : 0]; }
  void line(Stream stream, std::string_view line);
  bool has_all(const OneStream& stream, std::uint64_t produced) const;

  std::array<OneStream, 2> streams_;
  std::vector<Piece> pieces_;
  std::optional<RunResult> end_;
  std::string other_;
};

}  // namespace berth::vercel

#endif  // BERTH_PLUGINS_VERCEL_RUNNER_OUTPUT_H_
