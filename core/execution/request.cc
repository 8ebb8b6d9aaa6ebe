// What a request may be, and the text that stands for it.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cctype>

#include "core/base/ids.h"
#include "core/base/json.h"
#include "core/base/sha256.h"
#include "core/execution/execution.h"

namespace berth {
namespace {

namespace json = boost::json;

constexpr std::size_t kCodeBytesMax = std::size_t{16} << 20;
constexpr std::size_t kInputBytesMax = std::size_t{64} << 20;
constexpr std::size_t kRequestFilesMax = 64;
constexpr std::uint64_t kKeepBytesMax = std::uint64_t{4} << 20;
constexpr std::size_t kRequestListMax = 1024;

tl::unexpected<Error> wrong(std::string message) {
  return fail(ErrorKind::kInvalidArgument, std::move(message));
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 255 && name != "." && name != ".." &&
         name.find('/') == name.npos && name.find('\0') == name.npos;
}

Status check_texts(const ExecutionRequest& request) {
  const auto nul = [](const std::string& text) { return text.find('\0') != text.npos; };
  if (request.code.size() > kCodeBytesMax) {
    return wrong(fmt::format("code has {} bytes, at most {} are taken", request.code.size(), kCodeBytesMax));
  }
  const std::size_t at = request.code.find('\0');
  if (at != request.code.npos) return wrong(fmt::format("code has a NUL at byte {}; remove it", at));
  if (request.arguments.size() > kRequestListMax || request.packages.size() > kRequestListMax ||
      request.env.size() > kRequestListMax) {
    return wrong(fmt::format("arguments, packages and env take at most {} entries each", kRequestListMax));
  }
  if (std::any_of(request.arguments.begin(), request.arguments.end(), nul)) {
    return wrong("an argument has a NUL in it");
  }
  for (const std::string& package : request.packages) {
    if (is_blank(package) || nul(package)) return wrong("a package is blank or has a NUL in it");
  }
  for (const auto& [name, value] : request.env) {
    if (name.empty() || name.find('=') != name.npos || nul(name) || nul(value)) {
      return wrong(fmt::format("env \"{}\" is no environment variable", to_valid_utf8(name)));
    }
  }
  if (request.input.size() > kInputBytesMax) {
    return wrong(fmt::format("input has more than {} bytes", kInputBytesMax));
  }
  return {};
}

Status check_files(const ExecutionRequest& request) {
  if (!request.file_name.empty() && !is_plain_name(request.file_name)) {
    return wrong(fmt::format("file name \"{}\" is not a plain name", to_valid_utf8(request.file_name)));
  }
  if (request.files.size() > kRequestFilesMax) return wrong(fmt::format("more than {} files", kRequestFilesMax));
  std::size_t bytes = 0;
  for (const RequestFile& file : request.files) {
    if (!is_plain_name(file.name)) {
      return wrong(fmt::format("file \"{}\" is not a plain name", to_valid_utf8(file.name)));
    }
    if (file.name == source_name(request)) {
      return wrong(fmt::format("file \"{}\" has the name of the source", file.name));
    }
    bytes += file.contents.size();
  }
  if (bytes > kInputBytesMax) return wrong(fmt::format("files have more than {} bytes", kInputBytesMax));
  return {};
}

json::object limits_json(const Limits& limits) {
  return {{"cpu_millis", limits.cpu_millis},     {"processes", limits.processes},
          {"open_files", limits.open_files},     {"memory_bytes", limits.memory_bytes},
          {"disk_bytes", limits.disk_bytes},     {"file_size_bytes", limits.file_size_bytes},
          {"cpu_time_ns", limits.cpu_time.count()}};
}

json::array texts(const std::vector<std::string>& list) {
  json::array out;
  for (const std::string& text : list) out.emplace_back(to_valid_utf8(text));
  return out;
}

}  // namespace

std::string_view to_string(Language language) {
  switch (language) {
    case Language::kPython: return "python";
    case Language::kJavascript: return "javascript";
  }
  return "python";
}

std::optional<Language> language_from(std::string_view text) {
  if (text == "python") return Language::kPython;
  if (text == "javascript") return Language::kJavascript;
  return std::nullopt;
}

std::optional<Language> language_of_file(std::string_view file_name) {
  const std::size_t slash = file_name.rfind('/');
  if (slash != file_name.npos) file_name.remove_prefix(slash + 1);
  const std::size_t dot = file_name.rfind('.');
  std::string extension(dot == file_name.npos ? "" : file_name.substr(dot + 1));
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (extension.empty() || extension == "py") return Language::kPython;
  if (extension == "js" || extension == "mjs" || extension == "cjs") return Language::kJavascript;
  return std::nullopt;
}

bool is_name_text(std::string_view text) {
  if (!is_valid_utf8(text)) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7F) return false;
    // The other controls are two bytes: C2 80 to C2 9F.
    if (byte == 0xC2 && static_cast<unsigned char>(text[i + 1]) < 0xA0) return false;
  }
  return true;
}

std::string source_name(const ExecutionRequest& request) {
  if (!request.file_name.empty()) return request.file_name;
  return request.language == Language::kPython ? "main.py" : "main.js";
}

Status validate(const ExecutionRequest& request) {
  if (is_blank(request.key.owner) || is_blank(request.key.session) || is_blank(request.key.call)) {
    return wrong("owner, session and call must not be blank");
  }
  for (const std::string* text : {&request.key.owner, &request.key.session, &request.key.call, &request.turn}) {
    if (!is_name_text(*text))
      return wrong("owner, session, call and turn must be valid UTF-8 without control characters");
  }
  BERTH_CHECK_OK(check_texts(request));
  BERTH_CHECK_OK(check_files(request));
  if (request.language != Language::kPython && !request.packages.empty()) {
    return wrong("packages are for Python programs only");
  }
  if (request.timeout < Duration::zero()) return wrong("timeout is negative");
  if (request.stdout_keep_bytes > kKeepBytesMax || request.stderr_keep_bytes > kKeepBytesMax) {
    return wrong(fmt::format("at most {} bytes of a stream are kept", kKeepBytesMax));
  }
  return {};
}

std::string canonical_request(const ExecutionRequest& request) {
  json::array env;
  for (const auto& [name, value] : request.env) {
    env.push_back(json::array{to_valid_utf8(name), to_valid_utf8(value)});
  }
  json::array files;
  for (const RequestFile& file : request.files) {
    files.push_back(json::array{to_valid_utf8(file.name), sha256_hex(file.contents)});
  }
  const json::object document{
      {"version", 1},
      {"title", to_valid_utf8(request.title)},
      {"code_sha256", sha256_hex(request.code)},
      {"language", to_string(request.language)},
      {"file_name", to_valid_utf8(source_name(request))},
      {"arguments", texts(request.arguments)},
      {"input_sha256", sha256_hex(request.input)},
      {"files", std::move(files)},
      {"env", std::move(env)},
      {"network", request.network == Network::kNone ? "none" : "open"},
      {"limits", limits_json(request.limits)},
      {"packages", texts(request.packages)},
      {"image", to_valid_utf8(request.image)},
      {"timeout_ns", request.timeout.count()},
      {"stdout_keep_bytes", request.stdout_keep_bytes},
      {"stderr_keep_bytes", request.stderr_keep_bytes},
  };
  return canonical_json(document);
}

}  // namespace berth
