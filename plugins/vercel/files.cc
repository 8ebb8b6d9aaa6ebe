#include "plugins/vercel/files.h"

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "plugins/http/tar.h"
#include "plugins/vercel/encoding.h"
#include "plugins/vercel/model.h"

namespace berth::vercel {
namespace {

namespace json = boost::json;
using std::chrono::seconds;

constexpr seconds kTransferPatience{300};
// No limit of an archive is known, so none is made large: a larger file travels in parts.
constexpr std::uint64_t kPartBytes = std::uint64_t{32} << 20;
constexpr std::size_t kPieceBytes = 48 * 1024;
constexpr int kNoSuchFile = 44, kNotRegular = 45;  // exit codes of the scripts

void require_absolute(std::string_view path) {
  if (path.size() > 1 && path.starts_with('/') && !path.ends_with('/')) return;
  throw Failure::rejected(Code::kInvalidArgument, "the path of a file is absolute");
}

std::string octal(std::uint32_t mode) {
  char digits[16];
  return std::string(digits, std::to_chars(digits, digits + sizeof digits, mode, 8).ptr);
}

std::string part_of(const std::string& piece, int part) {
  return piece + "." + std::to_string(part);
}

// An archive on its way: head, contents and end, framed as gzip while they pass.
struct Archive {
  Archive(std::string head_text, std::uint64_t contents, std::string end_text)
      : head(std::move(head_text)),
        end(std::move(end_text)),
        left(contents),
        gzip(head.size() + contents + end.size()) {}

  std::string head, end;
  std::uint64_t left;  // of the contents
  http::StoredGzip gzip;
  http::BodySource next;
  std::string ready;  // framed and not yet given
  int step = 0;
};

Awaitable<void> advance(Archive& archive) {
  switch (archive.step) {
    case 0:
      archive.ready = http::StoredGzip::head() + archive.gzip.put(archive.head);
      archive.step = archive.left == 0 ? 2 : 1;
      co_return;
    case 1: {
      std::string piece(std::min<std::uint64_t>(archive.left, kPieceBytes), '\0');
      const std::span<char> room(piece.data(), piece.size());
      const std::size_t bytes = co_await archive.next(room);
      if (bytes == 0)
        throw Failure::uncertain(Code::kInvalidArgument, "the file is shorter than was announced");
      archive.left -= bytes;
      archive.ready = archive.gzip.put(std::string_view(piece).substr(0, bytes));
      if (archive.left == 0) archive.step = 2;
      co_return;
    }
    case 2:
      archive.ready = archive.gzip.put(archive.end);
      archive.ready += archive.gzip.end();
      archive.step = 3;
      co_return;
    default:
      co_return;
  }
}

Awaitable<std::size_t> framed(Archive& archive, std::span<char> into) {
  while (archive.ready.empty() && archive.step < 3) co_await advance(archive);
  const std::size_t bytes = std::min(into.size(), archive.ready.size());
  std::copy_n(archive.ready.begin(), bytes, into.begin());
  archive.ready.erase(0, bytes);
  co_return bytes;
}

}  // namespace

Awaitable<void> Files::upload(AsyncOperation& operation, std::string session, std::string path,
                              std::uint64_t bytes, http::BodySource next) {
  http::TarFile file;
  file.path = path.substr(1);
  file.size_bytes = bytes;
  file.mode = 0600;
  const auto archive = std::make_shared<Archive>(http::tar_head(file), bytes,
                                                 http::tar_padding(bytes) + http::tar_end());
  archive->next = std::move(next);
  const std::uint64_t whole = archive->head.size() + bytes + archive->end.size();
  http::Request sent = api_.request(Method::kPost, api_.session_url(session, "/fs/write"),
                                    until(operation, kTransferPatience));
  sent.headers.add("Content-Type", "application/gzip");
  sent.headers.add("x-cwd", "/");
  sent.source = [archive](std::span<char> into) { return framed(*archive, into); };
  sent.source_bytes = http::StoredGzip::size_of(whole);
  std::string what = "POST " + sent.url.shown();
  http::Reply reply = co_await api_.client().send(sent);
  const Answer answer = co_await api_.read(reply, std::move(what));
  if (!answer.ok()) throw failure_of(answer);
}

// Until here nothing of the file is at its place; then all of it is at once. [FILE-001]
Awaitable<void> Files::move(AsyncOperation& operation, std::string session, std::string piece,
                            int parts, std::string target, std::uint32_t mode) {
  const std::string script =
      "n=0; while [ $n -lt $3 ]; do "
      "if [ $n -gt 0 ]; then cat -- \"$1.$n\" >> \"$1.0\" && rm -f -- \"$1.$n\" || exit 1; fi; "
      "n=$((n+1)); done; chmod \"$4\" -- \"$1.0\" && mv -fT -- \"$1.0\" \"$2\"";
  std::vector<std::string> arguments{piece, target, std::to_string(parts), octal(mode)};
  const Said said = co_await commands_.shell(operation, session, script, arguments);
  if (said.exit_code != 0)
    throw Failure::uncertain(Code::kInternal, "the sandbox could not move a file into its place: " +
                                                  api_.redacted(said.err));
}

Awaitable<void> Files::remove_quietly(AsyncOperation& operation, std::string session,
                                      std::string piece, int parts) {
  std::vector<std::string> paths;
  for (int part = 0; part < parts; ++part) paths.push_back(part_of(piece, part));
  const std::string script = "rm -f -- \"$@\"";
  try {
    co_await commands_.shell(operation, session, script, paths);
  } catch (const std::exception&) {
  }
}

Awaitable<void> Files::put(AsyncOperation& operation, std::string session, const PutFile& file) {
  require_absolute(file.path);
  const std::string target(file.path);
  const std::string folder = target.substr(0, target.rfind('/') + 1);
  const std::string piece = folder + fresh_name(".berth-");
  std::exception_ptr wrong;
  int parts = 0;
  try {
    std::uint64_t left = file.size_bytes;
    const http::BodySource input = [&operation](std::span<char> into) {
      return operation.input(into);
    };
    do {
      const std::uint64_t bytes = std::min(left, kPartBytes);
      const std::string path = part_of(piece, parts++);
      co_await upload(operation, session, path, bytes, input);
      left -= bytes;
    } while (left != 0);
    char more = 0;
    const std::span<char> rest(&more, 1);
    const std::size_t beyond = co_await operation.input(rest);
    if (beyond != 0)
      throw Failure::uncertain(Code::kInvalidArgument, "the file is longer than was announced");
    co_await move(operation, session, piece, parts, target, file.mode == 0 ? 0644 : file.mode);
    co_return;
  } catch (const http::TransportFailure& failure) {
    // Parts that went before this one are there, whatever became of it.
    wrong = std::make_exception_ptr(parts > 1 ? uncertain(failure) : http::failure_of(failure));
    if (failure.reason() == http::Reason::kCancelled)
      wrong = std::make_exception_ptr(Operation::cancelled_failure());
  } catch (...) {
    wrong = std::current_exception();
  }
  // A coroutine that was cancelled can wait for nothing, not even for another, before this.
  co_await boost::asio::this_coro::reset_cancellation_state();
  co_await remove_quietly(operation, session, piece, parts);
  std::rethrow_exception(wrong);
}

// An archive is unpacked in its order.
Awaitable<Answer> Files::put_part(AsyncOperation& operation, std::string session, std::string path,
                                  std::string_view bytes) {
  http::TarFile part, whole;
  part.path = path.substr(1);
  part.size_bytes = bytes.size();
  part.mode = whole.mode = 0600;
  whole.path = part.path + ".ok";
  std::string archive = http::tar_head(part);
  archive.append(bytes);
  archive += http::tar_padding(bytes.size()) + http::tar_head(whole) + http::tar_end();
  http::StoredGzip gzip(archive.size());
  http::Request sent = api_.request(Method::kPost, api_.session_url(session, "/fs/write"),
                                    until(operation, kTransferPatience));
  sent.headers.add("Content-Type", "application/gzip");
  sent.headers.add("x-cwd", "/");
  sent.body = http::StoredGzip::head() + gzip.put(archive);
  sent.body += gzip.end();
  sent.repeat = http::Repeat::kAllowed;
  std::string what = "POST " + sent.url.shown();
  http::Reply reply = co_await api_.client().send(sent);
  co_return co_await api_.read(reply, std::move(what));
}

Awaitable<Files::Described> Files::describe(AsyncOperation& operation, std::string session,
                                            std::string path, std::uint64_t bytes_max) {
  const std::string script =
      "[ -h \"$1\" ] && exit 45; [ -e \"$1\" ] || exit 44; [ -f \"$1\" ] || exit 45; "
      "stat -c '%s %a' -- \"$1\"";
  std::vector<std::string> arguments{path};
  const Said said = co_await commands_.shell(operation, session, script, arguments);
  if (said.exit_code == kNoSuchFile)
    throw Failure::rejected(Code::kNotFound, "there is no file " + path);
  if (said.exit_code == kNotRegular)
    throw Failure::rejected(Code::kInvalidArgument, path + " is not a regular file");
  Described out;
  const char* end = said.out.data() + said.out.size();
  const auto size = std::from_chars(said.out.data(), end, out.bytes);
  if (said.exit_code != 0 || size.ec != std::errc() || size.ptr == end ||
      std::from_chars(size.ptr + 1, end, out.mode, 8).ec != std::errc())
    throw Failure::uncertain(Code::kInternal,
                             "the sandbox could not describe a file: " + api_.redacted(said.err));
  if (out.bytes > bytes_max)
    throw Failure::rejected(Code::kQuota, path + " has " + std::to_string(out.bytes) + " bytes");
  co_return out;
}

Awaitable<GotFile> Files::get(AsyncOperation& operation, std::string session, const GetFile& file) {
  require_absolute(file.path);
  const std::string path(file.path);
  std::optional<http::TransportFailure> failed;
  try {
    const Described described = co_await describe(operation, session, path, file.max_bytes);
    http::Request sent = api_.request(Method::kPost, api_.session_url(session, "/fs/read"),
                                      until(operation, kTransferPatience));
    json::object asked;
    asked["path"] = path;
    sent.headers.add("Content-Type", "application/json");
    sent.body = json::serialize(asked);
    sent.repeat = http::Repeat::kAllowed;
    std::string what = "POST " + sent.url.shown();
    http::Reply reply = co_await api_.client().send(sent);
    // An error has come with a success before, and so has a session that is over as a missing file.
    if (!reply.ok() || http::media_type(reply.headers()) != "application/octet-stream") {
      const Answer refused = co_await api_.read(reply, std::move(what));
      if (!refused.ok()) throw failure_of(refused);
      throw Failure::uncertain(Code::kInternal, refused.what + " answered with no file");
    }
    GotFile got;
    got.mode = described.mode & 07777;
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
  throw uncertain(*failed);
}

}  // namespace berth::vercel
