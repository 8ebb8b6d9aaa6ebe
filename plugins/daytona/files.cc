#include "plugins/daytona/files.h"

#include <openssl/rand.h>

#include <array>
#include <boost/asio/this_coro.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <memory>

#include "plugins/daytona/run.h"
#include "plugins/http/json_fields.h"
#include "plugins/http/multipart.h"

namespace berth::daytona {
namespace {

namespace json = boost::json;
using http::text_field;
using std::chrono::seconds;

constexpr seconds kTransferPatience{300};

// The parts of a form around the contents of one file, whose bytes come from the operation.
struct Upload {
  enum class At { kHead, kContents, kTail, kOver };

  std::string head, tail;
  std::string_view left_of_head, left_of_tail;
  std::uint64_t size = 0;  // of the contents
  std::uint64_t sent = 0;
  At at = At::kHead;
};

std::size_t copy_some(std::string_view& from, std::span<char> into) {
  const std::size_t bytes = std::min(from.size(), into.size());
  std::copy_n(from.begin(), bytes, into.begin());
  from.remove_prefix(bytes);
  return bytes;
}

Awaitable<std::size_t> next_bytes(AsyncOperation& operation, Upload& upload, std::span<char> into) {
  if (upload.at == Upload::At::kHead) {
    const std::size_t bytes = copy_some(upload.left_of_head, into);
    if (upload.left_of_head.empty()) upload.at = Upload::At::kContents;
    co_return bytes;
  }
  if (upload.at == Upload::At::kContents) {
    const std::size_t bytes = co_await operation.input(into);
    upload.sent += bytes;
    if (upload.sent > upload.size)
      throw Failure::uncertain(Code::kInvalidArgument, "the file is longer than was announced");
    if (bytes != 0) co_return bytes;
    if (upload.sent < upload.size)
      throw Failure::uncertain(Code::kInvalidArgument, "the file is shorter than was announced");
    upload.at = Upload::At::kTail;
  }
  const std::size_t bytes = copy_some(upload.left_of_tail, into);
  co_return bytes;
}

void require_absolute(std::string_view path) {
  if (path.starts_with('/') && path.find('\0') == std::string_view::npos) return;
  throw Failure::rejected(Code::kInvalidArgument, "the path of a file is absolute");
}

std::string octal(std::uint32_t mode) {
  std::array<char, 16> digits{};
  return std::string(digits.data(), std::to_chars(digits.data(), digits.data() + 16, mode, 8).ptr);
}

}  // namespace

std::string fresh_name(std::string_view prefix) {
  std::array<unsigned char, 12> random{};
  if (RAND_bytes(random.data(), static_cast<int>(random.size())) != 1)
    throw Failure::rejected(Code::kInternal, "no random bytes for a name");
  std::string out(prefix);
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const unsigned char byte : random) {
    out.push_back(kDigits[byte >> 4]);
    out.push_back(kDigits[byte & 15]);
  }
  return out;
}

Awaitable<Answer> Files::upload(AsyncOperation& operation, Url toolbox, std::string path,
                                std::uint64_t size) {
  const http::MultipartForm form;
  const auto state = std::make_shared<Upload>();
  state->head = form.field("files[0].path", path) + form.file_head("files[0].file", "file");
  state->tail = std::string(http::MultipartForm::file_end()) + form.end();
  state->left_of_head = state->head;
  state->left_of_tail = state->tail;
  state->size = size;
  http::Request sent = api_.request(Method::kPost, toolbox.with_path("/files/bulk-upload"),
                                    until(operation, kTransferPatience));
  sent.headers.add("Content-Type", form.content_type());
  sent.source = [&operation, state](std::span<char> into) {
    return next_bytes(operation, *state, into);
  };
  sent.source_bytes = state->head.size() + size + state->tail.size();
  std::string what = "POST " + sent.url.shown();
  http::Reply reply = co_await api_.client().send(sent);
  Answer answer = co_await api_.read(reply, what);
  // Parts can fail with a success for all of it.
  const auto* body = answer.body.if_object();
  const auto* errors = body == nullptr ? nullptr : body->if_contains("errors");
  if (answer.ok() && errors != nullptr && errors->is_array() && !errors->get_array().empty()) {
    answer.status = 400;
    answer.message = api_.redacted(json::serialize(*errors));
  } else if (!answer.ok() && errors != nullptr) {
    answer.message += ": " + api_.redacted(json::serialize(*errors));
  }
  co_return answer;
}

// What a short command of the provider's own printed; its text is a shell's input, so nothing in it
// may read.
Awaitable<std::string> Files::shell(AsyncOperation& operation, Url toolbox, std::string line,
                                    std::string purpose, http::Repeat repeat) {
  json::object body;
  body["command"] = line;
  body["timeout"] = 20;
  const std::string sent = json::serialize(body);
  const Url url = toolbox.with_path("/process/execute");
  const Answer answer =
      co_await api_.call(Method::kPost, url, sent, until(operation, kCallPatience), repeat);
  if (!answer.ok() && repeat == http::Repeat::kAllowed) throw failure_of(answer);
  if (!answer.ok()) throw Failure::uncertain(code_of(answer), sentence(answer));
  const auto* object = answer.body.if_object();
  const auto* code = object == nullptr ? nullptr : object->if_contains("exitCode");
  if (code == nullptr || !code->is_int64())
    throw Failure::uncertain(Code::kInternal, answer.what + " told of no end");
  std::string said = text_field(*object, "result");
  if (code->get_int64() != 0)
    throw Failure::uncertain(Code::kInternal,
                             "the sandbox could not " + purpose + ": " + api_.redacted(said));
  co_return said;
}

// The service's own description of a file is that of what a link leads to.
Awaitable<Files::Described> Files::describe(AsyncOperation& operation, Url toolbox,
                                            std::string path) {
  const std::string name = quoted(path);
  const std::string line = "if [ -h " + name + " ]; then echo other; elif [ -f " + name +
                           " ]; then stat -c '%s %a' -- " + name + "; elif [ -e " + name +
                           " ]; then echo other; else echo none; fi </dev/null";
  const std::string said =
      co_await shell(operation, toolbox, line, "describe a file", http::Repeat::kAllowed);
  if (said.starts_with("none"))
    throw Failure::rejected(Code::kNotFound, "there is no file " + path);
  if (said.starts_with("other"))
    throw Failure::rejected(Code::kInvalidArgument, path + " is not a regular file");
  Described out;
  const char* const end = said.data() + said.size();
  const auto size = std::from_chars(said.data(), end, out.bytes);
  if (size.ec != std::errc() || size.ptr == end ||
      std::from_chars(size.ptr + 1, end, out.mode, 8).ec != std::errc())
    throw Failure::uncertain(Code::kInternal,
                             "the sandbox did not describe a file: " + api_.redacted(said));
  co_return out;
}

Awaitable<void> Files::remove_quietly(Url toolbox, std::string path) {
  try {
    const Url url = toolbox.with_path("/files").with_query("path", path);
    co_await api_.call(Method::kDelete, url, kNoBody, Clock::now() + seconds(3));
  } catch (const std::exception&) {
  }
}

Awaitable<void> Files::put(AsyncOperation& operation, std::string ref, const PutFile& file) {
  require_absolute(file.path);
  const auto slash = file.path.rfind('/');
  const std::string folder(slash == 0 ? "/" : file.path.substr(0, slash));
  const std::string target(file.path);
  const std::string piece = folder + (folder.ends_with('/') ? "" : "/") + fresh_name(".berth-");
  std::exception_ptr wrong;
  std::optional<Url> toolbox;
  try {
    toolbox = co_await api_.toolbox(ref, until(operation, kCallPatience));
    // The bytes can be had once only, so the folder has to be there before.
    co_await shell(operation, *toolbox, "mkdir -p -- " + quoted(folder) + " </dev/null",
                   "make a folder", http::Repeat::kAllowed);
    const Answer answer = co_await upload(operation, *toolbox, piece, file.size_bytes);
    if (!answer.ok()) throw failure_of(answer);
    co_await shell(operation, *toolbox,
                   "chmod " + octal(file.mode == 0 ? 0644 : file.mode) + " -- " + quoted(piece) +
                       " </dev/null && mv -fT -- " + quoted(piece) + " " + quoted(target) +
                       " </dev/null",
                   "move a file into its place", http::Repeat::kForbidden);
    co_return;
  } catch (const http::TransportFailure& failure) {
    wrong = std::make_exception_ptr(failure.reason() == http::Reason::kCancelled
                                        ? Operation::cancelled_failure()
                                        : http::failure_of(failure));
  } catch (...) {
    wrong = std::current_exception();
  }
  // A coroutine that was cancelled may wait again after this.
  co_await boost::asio::this_coro::reset_cancellation_state();
  if (toolbox) co_await remove_quietly(*toolbox, piece);
  std::rethrow_exception(wrong);
}

Awaitable<GotFile> Files::get(AsyncOperation& operation, std::string ref, const GetFile& file) {
  require_absolute(file.path);
  const std::string path(file.path);
  std::optional<http::TransportFailure> failed;
  try {
    const Url toolbox = co_await api_.toolbox(ref, until(operation, kCallPatience));
    const Described described = co_await describe(operation, toolbox, path);
    if (described.bytes > file.max_bytes)
      throw Failure::rejected(Code::kQuota,
                              path + " has " + std::to_string(described.bytes) + " bytes");
    GotFile got;
    got.mode = described.mode & 07777;
    const Url url = toolbox.with_path("/files/download").with_query("path", path);
    const http::Request sent = api_.request(Method::kGet, url, until(operation, kTransferPatience));
    http::Reply reply = co_await api_.client().send(sent);
    if (!reply.ok()) {
      const std::string what = "GET " + url.shown();
      const Answer refused = co_await api_.read(reply, what);
      throw failure_of(refused);
    }
    for (;;) {
      const std::string_view piece = co_await reply.next();
      if (piece.empty()) break;
      got.size_bytes += piece.size();
      if (got.size_bytes > described.bytes) break;
      const Flow flow = co_await operation.output(Stream::kFile, piece);
      if (flow == Flow::kCancelled) throw Operation::cancelled_failure();
    }
    if (got.size_bytes != described.bytes)
      throw Failure::uncertain(Code::kConflict, path + " changed while it was read");
    co_return got;
  } catch (const http::TransportFailure& failure) {
    failed = failure;
  }
  if (failed->reason() == http::Reason::kCancelled) throw Operation::cancelled_failure();
  throw Failure::uncertain(http::code_of(failed->reason()), failed->message());
}

}  // namespace berth::daytona
