// The files of a sandbox.
#include <errno.h>
#include <sys/stat.h>

#include <charconv>
#include <sstream>
#include <utility>

#include "core/base/json.h"
#include "core/base/time.h"
#include "tests/standins/daytona/daytona.h"
#include "tests/standins/server/multipart.h"

namespace berth::standins::daytona {
namespace {

constexpr std::string_view kBoundary = "DAYTONA-FILE-BOUNDARY";

Refused refused_file(int error, const std::string& path) {
  switch (error) {
    case ENOENT:
    case ENOTDIR: return {404, "file not found: " + path, "FILE_NOT_FOUND"};
    case EACCES:
    case EPERM:
    case EROFS: return {403, "forbidden: permission denied: " + path, "FILE_ACCESS_DENIED"};
    case EISDIR:
    case EINVAL: return {400, "bad request: path is not a file: " + path, "INVALID_FILE_PATH"};
    case EEXIST:
    case ENOTEMPTY: return {409, "conflict: " + path + " is in the way", "CONFLICT"};
    default: return {500, "cannot use " + path + ": error " + std::to_string(error), "FILE_READ_FAILED"};
  }
}

void check(int error, const std::string& path) {
  if (error != 0) throw refused_file(error, path);
}

boost::json::object shown(const FileEntry& entry) {
  const std::string when = to_rfc3339(wall_time_from_unix_ms(static_cast<std::int64_t>(entry.modified_ms)));
  const std::string owner = entry.uid == 0 ? "root" : "daytona";
  char permissions[8];
  std::snprintf(permissions, sizeof(permissions), "%04o", entry.mode & 07777u);
  return {{"name", entry.name},
          {"size", entry.size},
          {"mode", mode_text(entry.mode)},
          {"modTime", when},
          {"modifiedAt", when},
          {"isDir", S_ISDIR(entry.mode)},
          {"owner", owner},
          {"group", owner},
          {"permissions", permissions}};
}

std::uint32_t mode_of(std::string_view text, std::uint32_t otherwise) {
  std::uint32_t mode = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), mode, 8);
  return mode;
}

std::string wanted_path(const Call& call, std::string_view name = "path") {
  const std::string_view path = call.request.parameter(name);
  if (path.empty()) throw Refused{400, "bad request: " + std::string(name) + " is required", "INVALID_FILE_PATH"};
  return std::string(path);
}

// "name=\"...\"; filename*=..." as bulk-download names its parts.
std::string percent_encoded(std::string_view text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.';
    if (plain) {
      encoded.push_back(c);
    } else {
      encoded += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return encoded;
}

std::string part_text(std::string_view name, const std::string& path, std::string_view type, const std::string& contents) {
  std::string text = "--" + std::string(kBoundary) + "\r\nContent-Disposition: form-data; name=\"";
  text += name;
  text += "\"; filename=\"" + path + "\"; filename*=utf-8''" + percent_encoded(path);
  text += "\r\nContent-Length: " + std::to_string(contents.size()) + "\r\nContent-Type: ";
  text += type;
  return text + "\r\n\r\n" + contents + "\r\n";
}

}  // namespace

void Daytona::add_files() {
  add_of_toolbox("POST /toolbox/{id}/files/bulk-upload", &Daytona::upload);
  add_of_toolbox("POST /toolbox/{id}/files/upload", &Daytona::upload_one);
  add_of_toolbox("POST /toolbox/{id}/files/upload-v2", &Daytona::upload_one);
  add_of_toolbox("GET /toolbox/{id}/files/download", &Daytona::download);
  add_of_toolbox("POST /toolbox/{id}/files/bulk-download", &Daytona::bulk_download);
  add_of_toolbox("GET /toolbox/{id}/files", &Daytona::list_files);
  add_of_toolbox("GET /toolbox/{id}/files/info", &Daytona::file_info);
  add_of_toolbox("DELETE /toolbox/{id}/files", &Daytona::delete_file);
  add_of_toolbox("POST /toolbox/{id}/files/folder", &Daytona::make_folder);
  add_of_toolbox("POST /toolbox/{id}/files/move", &Daytona::move_file);
  add_of_toolbox("POST /toolbox/{id}/files/permissions", &Daytona::set_permissions);
  add_of_toolbox("GET /toolbox/{id}/files/find", &Daytona::find_in_files);
  add_of_toolbox("GET /toolbox/{id}/files/search", &Daytona::search_files);
  add_of_toolbox("POST /toolbox/{id}/files/replace", &Daytona::replace_in_files);
}

// What failed does not undo what did not.
Task<Response> Daytona::upload(Call& call, SandboxPointer sandbox) {
  const auto parts = parts_of(call.request.header("content-type"), call.request.body);
  if (!parts) throw Refused{400, "bad request: not a whole multipart form", "INVALID_REQUEST_BODY"};
  boost::json::array files;
  boost::json::array errors;
  std::string path;
  for (const Part& part : *parts) {
    if (part.name.ends_with(".path")) {
      path = std::string(part.contents);
      continue;
    }
    if (!part.name.ends_with(".file")) continue;
    if (path.empty()) {
      errors.emplace_back(part.name + ": its path did not come before it");
      continue;
    }
    std::string contents(part.contents);
    const int error = co_await sandbox->guest->write_file(path_in(*sandbox, path), 0644, std::move(contents));
    if (error == 0) {
      files.push_back(boost::json::object{{"path", path}, {"bytes", part.contents.size()}});
    } else {
      errors.emplace_back(path + ": " + refused_file(error, path).message);
    }
    path.clear();
  }
  boost::json::object body{{"files", std::move(files)}};
  const int status = errors.empty() ? 200 : 400;
  if (!errors.empty()) body["errors"] = std::move(errors);
  co_return json_answer(status, body);
}

Task<Response> Daytona::upload_one(Call& call, SandboxPointer sandbox) {
  const std::string path = wanted_path(call);
  std::string contents = call.request.body;
  if (const auto parts = parts_of(call.request.header("content-type"), call.request.body)) {
    contents.clear();
    for (const Part& part : *parts) {
      if (part.name == "file") contents = std::string(part.contents);
    }
  }
  check(co_await sandbox->guest->write_file(path_in(*sandbox, path), 0644, std::move(contents)), path);
  boost::json::object body{{"name", path.substr(path.rfind('/') + 1)}, {"path", path}, {"type", "file"}};
  co_return json_answer(200, body);
}

Task<Response> Daytona::download(Call& call, SandboxPointer sandbox) {
  const std::string path = wanted_path(call);
  Response response;
  check(co_await sandbox->guest->read_file(path_in(*sandbox, path), &response.body), path);
  response.type = "application/octet-stream";
  co_return response;
}

Task<Response> Daytona::bulk_download(Call& call, SandboxPointer sandbox) {
  const boost::json::object body = body_of(call.request);
  const auto* paths = body.if_contains("paths");
  if (paths == nullptr || !paths->is_array()) throw Refused{400, "bad request: paths is required"};
  Response response;
  response.type = "multipart/form-data; boundary=" + std::string(kBoundary);
  for (const auto& one : paths->get_array()) {
    const std::string path(one.as_string());
    std::string contents;
    const int error = co_await sandbox->guest->read_file(path_in(*sandbox, path), &contents);
    if (error == 0) {
      response.body += part_text("file", path, "application/octet-stream", contents);
    } else {
      const Response refused = toolbox_refusal(call.request, refused_file(error, path));
      response.body += part_text("error", path, "application/json; charset=utf-8", refused.body);
    }
  }
  response.body += "--" + std::string(kBoundary) + "--\r\n";
  co_return response;
}

Task<Response> Daytona::list_files(Call& call, SandboxPointer sandbox) {
  const std::string path(call.request.parameter("path"));
  std::vector<FileEntry> entries;
  check(co_await sandbox->guest->list(path_in(*sandbox, path), &entries), path);
  boost::json::array body;
  for (const FileEntry& entry : entries) body.push_back(shown(entry));
  co_return json_answer(200, body);
}

Task<Response> Daytona::file_info(Call& call, SandboxPointer sandbox) {
  const std::string path = wanted_path(call);
  FileEntry entry;
  check(co_await sandbox->guest->stat(path_in(*sandbox, path), &entry), path);
  co_return json_answer(200, shown(entry));
}

Task<Response> Daytona::delete_file(Call& call, SandboxPointer sandbox) {
  const std::string path = wanted_path(call);
  const bool recursive = call.request.parameter("recursive") == "true";
  check(co_await sandbox->guest->remove(path_in(*sandbox, path), recursive), path);
  co_return empty_answer(204);
}

Task<Response> Daytona::make_folder(Call& call, SandboxPointer sandbox) {
  const std::string path = wanted_path(call);
  const std::uint32_t mode = mode_of(call.request.parameter("mode"), 0755);
  check(co_await sandbox->guest->make_folder(path_in(*sandbox, path), mode), path);
  co_return empty_answer(201);
}

Task<Response> Daytona::move_file(Call& call, SandboxPointer sandbox) {
  const std::string source = wanted_path(call, "source");
  const std::string target = wanted_path(call, "destination");
  check(co_await sandbox->guest->rename(path_in(*sandbox, source), path_in(*sandbox, target)), source);
  co_return empty_answer(200);
}

Task<Response> Daytona::set_permissions(Call& call, SandboxPointer sandbox) {
  const std::string path = wanted_path(call);
  const std::uint32_t mode = mode_of(call.request.parameter("mode"), 0644);
  check(co_await sandbox->guest->set_mode(path_in(*sandbox, path), mode), path);
  co_return empty_answer(200);
}

Task<Response> Daytona::find_in_files(Call& call, SandboxPointer sandbox) {
  const std::string path = wanted_path(call);
  Program program;
  program.argv = {"/bin/grep", "-rnIF", "--", wanted_path(call, "pattern"), path_in(*sandbox, path)};
  const auto job = co_await sandbox->guest->finish(std::move(program));
  if (job->exit_code() > 1) throw refused_file(ENOENT, path);
  boost::json::array body;
  std::istringstream lines(job->transcript.of(kOut));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    body.push_back(boost::json::object{{"file", line.substr(0, first)},
                                       {"line", std::atoi(line.c_str() + first + 1)},
                                       {"content", to_valid_utf8(line.substr(second + 1))}});
  }
  co_return json_answer(200, body);
}

Task<Response> Daytona::search_files(Call& call, SandboxPointer sandbox) {
  const std::string path = wanted_path(call);
  Program program;
  program.argv = {"/usr/bin/find", path_in(*sandbox, path), "-name", wanted_path(call, "pattern")};
  const auto job = co_await sandbox->guest->finish(std::move(program));
  if (job->exit_code() != 0) throw refused_file(ENOENT, path);
  boost::json::array files;
  std::istringstream lines(job->transcript.of(kOut));
  for (std::string line; std::getline(lines, line);) files.emplace_back(to_valid_utf8(line));
  boost::json::object body{{"files", std::move(files)}};
  co_return json_answer(200, body);
}

Task<Response> Daytona::replace_in_files(Call& call, SandboxPointer sandbox) {
  const boost::json::object body = body_of(call.request);
  const std::string pattern = text_of(body, "pattern");
  const std::string value = text_of(body, "newValue");
  const auto* paths = body.if_contains("files");
  if (pattern.empty() || paths == nullptr || !paths->is_array()) throw Refused{400, "bad request: files and pattern are required"};
  boost::json::array results;
  for (const auto& one : paths->get_array()) {
    const std::string path(one.as_string());
    std::string text;
    FileEntry entry;
    int error = co_await sandbox->guest->read_file(path_in(*sandbox, path), &text);
    if (error == 0) error = co_await sandbox->guest->stat(path_in(*sandbox, path), &entry);
    for (std::size_t at = 0; (at = text.find(pattern, at)) != std::string::npos; at += value.size()) {
      text.replace(at, pattern.size(), value);
    }
    if (error == 0) {
      error = co_await sandbox->guest->write_file(path_in(*sandbox, path), entry.mode & 07777u, std::move(text));
    }
    boost::json::object result{{"file", path}, {"success", error == 0}};
    result["error"] = error == 0 ? "" : refused_file(error, path).message;
    results.push_back(std::move(result));
  }
  co_return json_answer(200, results);
}

}  // namespace berth::standins::daytona
