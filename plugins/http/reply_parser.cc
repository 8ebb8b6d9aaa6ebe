#include "plugins/http/reply_parser.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/none.hpp>

namespace berth::http {
namespace {

namespace beast = boost::beast;
using beast::error_code;
using beast::string_view;

std::string_view view(string_view text) { return {text.data(), text.size()}; }

class Parser final : public beast::http::basic_parser<false> {
 public:
  Parser(ReplyParser::Body kind, std::uint32_t head_bytes_max) {
    header_limit(head_bytes_max);
    body_limit(boost::none);
    eager(true);
    skip(kind == ReplyParser::Body::kNone);
  }

  int status = 0;
  Headers headers;
  std::string* body = nullptr;

 private:
  void on_request_impl(beast::http::verb, string_view, string_view, int, error_code&) override {}
  void on_response_impl(int code, string_view, int, error_code&) override { status = code; }
  void on_field_impl(beast::http::field, string_view name, string_view value,
                     error_code& wrong) override {
    if (is_header_done()) return;  // trailers say nothing here
    if (headers.all().size() == ReplyParser::kFieldsMax) {
      wrong = beast::http::error::header_limit;
      return;
    }
    try {
      headers.add(view(name), view(value));
    } catch (const std::invalid_argument&) {
      wrong = beast::http::error::bad_value;
    }
  }
  void on_header_impl(error_code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(string_view bytes, error_code&) override {
    body->append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, string_view bytes, error_code&) override {
    body->append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_finish_impl(error_code&) override {}
};

[[noreturn]] void refuse(const error_code& wrong) {
  const bool too_large = wrong == beast::http::error::header_limit ||
                         wrong == beast::http::error::body_limit ||
                         wrong == beast::http::error::buffer_overflow;
  throw ParseError(too_large, too_large ? "the head of the answer is too large"
                                        : "the answer is not http: " + wrong.message());
}

}  // namespace

struct ReplyParser::Parts {
  Parts(Body body, std::uint32_t bytes_max) : kind(body), head_bytes_max(bytes_max) { restart(); }
  void restart() { parser = std::make_unique<Parser>(kind, head_bytes_max); }

  Body kind;
  std::uint32_t head_bytes_max;
  std::unique_ptr<Parser> parser;
  int interim = 0;  // answers passed over
};

ReplyParser::ReplyParser(Body body, std::uint32_t head_bytes_max)
    : parts_(std::make_unique<Parts>(body, head_bytes_max)) {}
ReplyParser::ReplyParser(ReplyParser&&) noexcept = default;
ReplyParser& ReplyParser::operator=(ReplyParser&&) noexcept = default;
ReplyParser::~ReplyParser() = default;

std::size_t ReplyParser::put(std::string_view bytes, std::string& body) {
  constexpr int kInterimMax = 8;
  std::size_t used = 0;
  while (used < bytes.size() && !parts_->parser->is_done()) {
    Parser& parser = *parts_->parser;
    parser.body = &body;
    error_code wrong;
    const std::size_t taken =
        parser.put(boost::asio::buffer(bytes.data() + used, bytes.size() - used), wrong);
    used += taken;
    if (wrong && wrong != beast::http::error::need_more) refuse(wrong);
    if (parser.is_done() && parser.status / 100 == 1 && parser.status != 101) {
      if (++parts_->interim > kInterimMax) throw ParseError(true, "too many interim answers");
      parts_->restart();
      continue;
    }
    if (wrong || taken == 0) break;
  }
  return used;
}

void ReplyParser::put_end() {
  error_code wrong;
  if (!parts_->parser->is_done()) parts_->parser->put_eof(wrong);
  if (wrong) refuse(wrong);
}

bool ReplyParser::head_done() const { return parts_->parser->is_header_done(); }
bool ReplyParser::done() const { return parts_->parser->is_done(); }
int ReplyParser::status() const { return parts_->parser->status; }
const Headers& ReplyParser::headers() const { return parts_->parser->headers; }
bool ReplyParser::keep_alive() const { return parts_->parser->keep_alive(); }
bool ReplyParser::ends_with_connection() const { return parts_->parser->need_eof(); }

std::optional<std::uint64_t> ReplyParser::content_length() const {
  const auto length = parts_->parser->content_length();
  return length ? std::optional<std::uint64_t>(*length) : std::nullopt;
}

}  // namespace berth::http
