// EventLines: a run as JSON Lines, as manifests/execution-event.schema.json describes them.
//
// Every function returns whole lines, each with its newline, to be written in the order of the
// calls. One run, one thread.
#ifndef BERTH_TOOLS_BERTH_EVENT_LINES_H_
#define BERTH_TOOLS_BERTH_EVENT_LINES_H_

#include <array>
#include <boost/json/object.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/execution/execution.h"
#include "tools/berth/failure.h"

namespace berth::cli {

class EventLines {
 public:
  // Of a stream's bytes in one line; a longer piece becomes several lines.
  static constexpr std::size_t kPieceBytesMax = std::size_t{64} << 10;
  // A member of the result document whose text is longer is not repeated in the last line.
  static constexpr std::size_t kRepeatedBytesMax = std::size_t{64} << 10;

  // `subject`: what the first line says of the program and the call.
  explicit EventLines(boost::json::object subject);

  std::string started();
  std::string stage(std::string_view stage);
  std::string output(const OutputChunk& chunk);
  std::string chart(const Chart& chart);
  std::string result(const ResultValue& value);
  // `exit_code`: what the command ends with.
  std::string finished(boost::json::object document, int exit_code);
  // The last line of a run that could not be begun.
  std::string failed(const Failure& failure);

 private:
  std::string line(std::string_view event, boost::json::object members);

  boost::json::object subject_;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
  std::uint64_t sequence_ = 0;
  std::uint64_t charts_ = 0;
  std::array<std::uint64_t, 2> offsets_{};  // of standard output and standard error, in bytes
};

// What the first line says of a request.
boost::json::object event_subject(const ExecutionRequest& request);

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_EVENT_LINES_H_
