#include "plugins/reference/transfer.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "berth/outcome.hpp"

namespace berth::reference {
namespace {

constexpr std::uint64_t kAsLongAsItLasts = 0;

berth_flow send(const Host& host, berth_op op, berth_stream stream, std::string_view bytes) {
  const berth_bytes piece{reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
  return host.table().output(host.table().ctx, op, stream, piece);
}

}  // namespace

void drive(const Host& host, berth_op op, std::function<Progress()> advance,
           std::function<void()> then) {
  if (advance() == Progress::kOver) return then();
  struct Rest {
    const Host& host;
    berth_op op;
    std::function<Progress()> advance;
    std::function<void()> then;
  };
  auto rest = std::make_unique<Rest>(Rest{host, op, std::move(advance), std::move(then)});
  const auto go_on = [](void* user) {
    const std::unique_ptr<Rest> owned(static_cast<Rest*>(user));
    const berth_host_v1& table = owned->host.table();
    // A cancelled wait is not over yet: the next output or input says so, and the transfer ends by
    // it.
    do {
      table.op_wait(table.ctx, owned->op, kAsLongAsItLasts);
    } while (owned->advance() == Progress::kMustWait);
    owned->then();
  };
  if (!host.post(go_on, rest.get()))
    throw Failure::uncertain(Code::kUnavailable, "reference: the host lends no thread any more");
  static_cast<void>(rest.release());
}

Progress Program::advance() {
  if (!out_is_over_) {
    if (advance(BERTH_STREAM_STDOUT, rule_.out, out_bytes_) == Progress::kMustWait)
      return Progress::kMustWait;
    out_is_over_ = true;
    sending_ = true;
    text_at_ = 0;
    sent_of_text_ = 0;
  }
  return advance(BERTH_STREAM_STDERR, rule_.err, err_bytes_);
}

Progress Program::advance(berth_stream stream, const std::vector<Text>& texts,
                          std::uint64_t& produced) {
  for (; text_at_ < texts.size() && !cancelled_; ++text_at_, sent_of_text_ = 0) {
    const Text& text = texts[text_at_];
    const std::uint64_t total = text.text.size() * text.repeat;
    std::string piece;
    while (sent_of_text_ < total) {
      const std::uint64_t want = std::min(
          {rule_.chunk_bytes, total - sent_of_text_, std::uint64_t{BERTH_OUTPUT_CHUNK_MAX_BYTES}});
      // Past the cap the program goes on and its bytes are counted, but none is sent. [STRM-005]
      if (!sending_) {
        produced += total - sent_of_text_;
        break;
      }
      piece.clear();
      for (std::uint64_t at = sent_of_text_; piece.size() < want;) {
        const std::uint64_t offset = at % text.text.size();
        const std::uint64_t run = std::min(want - piece.size(), text.text.size() - offset);
        piece.append(text.text, offset, run);
        at += run;
      }
      const berth_flow flow = send(host_, op_, stream, piece);
      if (flow == BERTH_OUTPUT_CANCELLED && !rule_.ignore_cancel) {
        cancelled_ = true;
        return Progress::kOver;
      }
      sent_of_text_ += want;
      produced += want;
      if (flow == BERTH_OUTPUT_LIMIT) sending_ = false;
      if (flow == BERTH_OUTPUT_PAUSE) return Progress::kMustWait;
    }
  }
  return Progress::kOver;
}

RunResult Program::result() const {
  RunResult out;
  out.cause = cancelled_ ? Cause::kCancelled : static_cast<Cause>(rule_.cause);
  out.exit_code = cancelled_ ? -1 : rule_.exit_code;
  out.signal = cancelled_ ? 0 : rule_.signal;
  out.stdout_bytes = out_bytes_;
  out.stderr_bytes = err_bytes_;
  return out;
}

void Upload::expect(const PutFile& spec) {
  if (spec.size_bytes > kFileBytesMax)
    throw Failure::rejected(Code::kQuota, "reference: a file has at most 64 MiB");
  path_ = spec.path;
  wanted_bytes_ = spec.size_bytes;
  file_.mode = spec.mode;
}

Progress Upload::advance() {
  std::uint8_t buffer[16384];
  for (;;) {
    std::uint64_t got = 0;
    const berth_host_v1& table = host_.table();
    switch (table.input(table.ctx, op_, buffer, sizeof buffer, &got)) {
      case BERTH_INPUT_DATA:
        file_.bytes.append(reinterpret_cast<const char*>(buffer), got);
        if (file_.bytes.size() > wanted_bytes_) return Progress::kOver;
        break;
      case BERTH_INPUT_END:
        return Progress::kOver;
      case BERTH_INPUT_AGAIN:
        return Progress::kMustWait;
      default:
        cancelled_ = true;
        return Progress::kOver;
    }
  }
}

File Upload::take() {
  if (cancelled_)
    throw Failure::failed_clean(Code::kCancelled,
                                "reference: put_file was cancelled; nothing was written");
  if (file_.bytes.size() != wanted_bytes_)
    throw Failure::failed_clean(Code::kInvalidArgument,
                                "reference: put_file got " + std::to_string(file_.bytes.size()) +
                                    " bytes of " + std::to_string(wanted_bytes_) +
                                    "; nothing was written");
  return std::move(file_);
}

Progress Download::advance() {
  while (sent_ < file_.bytes.size() && !cancelled_) {
    const std::string_view piece =
        std::string_view(file_.bytes)
            .substr(sent_, std::min(chunk_bytes_, std::uint64_t{BERTH_OUTPUT_CHUNK_MAX_BYTES}));
    const berth_flow flow = send(host_, op_, BERTH_STREAM_FILE, piece);
    sent_ += piece.size();
    cancelled_ = flow == BERTH_OUTPUT_CANCELLED || flow == BERTH_OUTPUT_LIMIT;
    if (flow == BERTH_OUTPUT_PAUSE) return Progress::kMustWait;
  }
  return Progress::kOver;
}

GotFile Download::result() const {
  if (cancelled_) throw Failure::uncertain(Code::kCancelled, "reference: get_file was cut short");
  return {file_.mode, file_.bytes.size()};
}

}  // namespace berth::reference
