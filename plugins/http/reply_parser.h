// Reads one HTTP/1.1 answer out of bytes as they come.
//
// It holds the head and nothing of the body: body bytes go to the string given. A head beyond its
// bound, both kinds of length at once, a broken chunk and the like throw ParseError. One thread.
#ifndef BERTH_PLUGINS_HTTP_REPLY_PARSER_H_
#define BERTH_PLUGINS_HTTP_REPLY_PARSER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "plugins/http/headers.h"

namespace berth::http {

class ParseError : public std::runtime_error {
 public:
  ParseError(bool too_large, const std::string& message)
      : std::runtime_error(message), too_large_(too_large) {}
  bool too_large() const { return too_large_; }

 private:
  bool too_large_;
};

class ReplyParser {
 public:
  static constexpr std::size_t kFieldsMax = 256;

  enum class Body { kAsAnnounced, kNone };  // none: the answer to HEAD or CONNECT

  ReplyParser(Body body, std::uint32_t head_bytes_max);
  ReplyParser(ReplyParser&&) noexcept;
  ReplyParser& operator=(ReplyParser&&) noexcept;
  ~ReplyParser();

  // Uses as many of the bytes as it can and says how many; the others are given again, with more
  // behind them. Interim answers (1xx) are passed over.
  std::size_t put(std::string_view bytes, std::string& body);
  // The connection ended in the proper way.
  void put_end();

  bool head_done() const;
  bool done() const;
  int status() const;
  const Headers& headers() const;
  // Whether the connection may carry another request; once done.
  bool keep_alive() const;
  // Whether only the end of the connection ends the body; once the head is done.
  bool ends_with_connection() const;
  // As announced; nothing when it was not.
  std::optional<std::uint64_t> content_length() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth::http

#endif  // BERTH_PLUGINS_HTTP_REPLY_PARSER_H_
