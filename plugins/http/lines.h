// Records out of a stream of bytes that is cut anywhere: lines of NDJSON, and server-sent events.
//
// Both are fed pieces and call back for every whole record, in order. What has no end yet is kept,
// at most `bytes_max` of it: more throws RecordTooLong. One thread; the views end with the call.
#ifndef BERTH_PLUGINS_HTTP_LINES_H_
#define BERTH_PLUGINS_HTTP_LINES_H_

#include <chrono>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace berth::http {

class RecordTooLong : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Lines ended by LF or CR LF. Empty ones are passed over, as NDJSON says.
class LineReader {
 public:
  using OnLine = std::function<void(std::string_view)>;

  explicit LineReader(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  void put(std::string_view bytes, const OnLine& on_line);
  // The stream is over: a last line without an end is one, too.
  void end(const OnLine& on_line);

 private:
  std::size_t bytes_max_;
  std::string kept_;
};

struct SseEvent {
  std::string event;  // empty: "message"
  std::string data;   // lines joined by LF
  std::string id;     // the last one that was given
};

// Server-sent events as the WHATWG describes them: lines end with CR, LF or CR LF, a comment is
// passed over, an event without data is dropped, and so is one that the stream broke off.
class SseReader {
 public:
  using OnEvent = std::function<void(const SseEvent&)>;

  explicit SseReader(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  void put(std::string_view bytes, const OnEvent& on_event);
  // When the service wants to be reconnected to; nothing when it did not say.
  const std::optional<std::chrono::milliseconds>& retry() const { return retry_; }

 private:
  void line(const OnEvent& on_event);
  void field(std::string_view name, std::string_view value);

  std::size_t bytes_max_;
  std::string kept_;  // the line so far
  bool after_cr_ = false;
  bool first_ = true;  // a byte order mark may stand here
  bool has_data_ = false;
  SseEvent event_;
  std::optional<std::chrono::milliseconds> retry_;
};

}  // namespace berth::http

#endif  // BERTH_PLUGINS_HTTP_LINES_H_
