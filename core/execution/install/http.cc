#include "core/execution/install/http.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/base/json.h"
#include "core/execution/base64.h"
#include "core/execution/install/read_number.h"

namespace berth::install {
namespace {

constexpr std::size_t kLineBytesMax = 4096;

tl::unexpected<Error> corrupt(std::string_view what) {
  return fail(ErrorKind::kCorrupt, std::string(what));
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  return text;
}

Status take_field(std::string_view line, FetchHead& head, bool& chunked) {
  const std::size_t colon = line.find(':');
  if (colon == line.npos) return corrupt("the answer has a header line without a colon");
  const std::string name = lower(line.substr(0, colon));
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (name == "location") head.location = value;
  if (name == "content-length") {
    std::uint64_t length = 0;
    if (!read_number(value, length)) return corrupt("the answer's length is not a number");
    head.length = length;
  }
  if (name == "content-encoding" && lower(value) != "identity") {
    return corrupt("the answer is compressed, which was not asked for");
  }
  if (name == "transfer-encoding") {
    if (lower(value) != "chunked") return corrupt("the answer's transfer encoding is unknown");
    chunked = true;
  }
  return {};
}

}  // namespace

std::string request_text(const Url& url, std::string_view credentials) {
  const bool usual = url.port == (url.https ? 443 : 80);
  const bool address = url.host.find(':') != std::string::npos;
  std::string text = fmt::format("GET {} HTTP/1.1\r\nHost: {}{}{}{}\r\n", url.target,
                                 address ? "[" : "", url.host, address ? "]" : "",
                                 usual ? std::string() : fmt::format(":{}", url.port));
  text +=
      "User-Agent: berth\r\nAccept: application/vnd.pypi.simple.v1+html, text/html;q=0.9, */*;q=0.1\r\n"
      "Accept-Encoding: identity\r\nConnection: close\r\n";
  if (!credentials.empty()) text += fmt::format("Authorization: Basic {}\r\n", to_base64(credentials));
  return text + "\r\n";
}

Result<FetchHead> read_head(std::string_view text, bool& chunked) {
  FetchHead head;
  chunked = false;
  std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view first = trimmed(text.substr(0, end));
  if (first.rfind("HTTP/1.", 0) != 0 || first.size() < 12 ||
      !read_number(first.substr(9, 3), head.status) || head.status < 100) {
    return corrupt("the answer is not HTTP/1");
  }
  head.reason = to_valid_utf8(trimmed(first.substr(12)));
  while (end < text.size()) {
    const std::size_t start = end + 1;
    end = std::min(text.find('\n', start), text.size());
    const std::string_view line = trimmed(text.substr(start, end - start));
    if (!line.empty()) BERTH_CHECK_OK(take_field(line, head, chunked));
  }
  if (chunked) head.length.reset();
  return head;
}

Status ChunkDecoder::end_of_size_line() {
  const std::string_view digits = trimmed(std::string_view(line_).substr(0, line_.find(';')));
  if (digits.size() > 15 || !read_number(digits, left_, 16)) {
    return corrupt("the answer has a chunk whose size is not a number");
  }
  state_ = left_ == 0 ? State::kTrailer : State::kData;
  line_.clear();
  return {};
}

Status ChunkDecoder::take(std::string_view bytes, std::string& out) {
  while (!bytes.empty() && state_ != State::kEnded) {
    if (state_ == State::kData) {
      const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
      out.append(bytes.substr(0, count));
      bytes.remove_prefix(count);
      left_ -= count;
      if (left_ == 0) state_ = State::kAfterData;
      continue;
    }
    const char c = bytes.front();
    bytes.remove_prefix(1);
    if (c != '\n') {
      line_ += c;
      if (line_.size() > kLineBytesMax) return corrupt("the answer has a chunk line that does not end");
      continue;
    }
    if (state_ == State::kSize) {
      BERTH_CHECK_OK(end_of_size_line());
    } else {
      const bool empty = trimmed(line_).empty();
      if (state_ == State::kAfterData && !empty) return corrupt("the answer has a chunk that is too long");
      if (state_ == State::kAfterData) state_ = State::kSize;
      if (state_ == State::kTrailer && empty) state_ = State::kEnded;
      line_.clear();
    }
  }
  return {};
}

}  // namespace berth::install
