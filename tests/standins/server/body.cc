#include "tests/standins/server/body.h"

#include <sys/stat.h>

#include <chrono>
#include <stdexcept>

#include "core/base/json.h"
#include "core/base/time.h"
#include "tests/standins/server/guest.h"

namespace berth::standins {
namespace {

namespace json = boost::json;

constexpr JsonBounds kBounds{.bytes_max = std::size_t{64} << 20, .depth_max = 32};

const json::value* member(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

[[noreturn]] void wrong(std::string_view key, std::string_view what) {
  throw std::runtime_error(std::string(key) + " must be " + std::string(what));
}

}  // namespace

json::object body_of(const Request& request) {
  if (request.body.empty()) return {};
  auto parsed = parse_json(request.body, kBounds);
  if (!parsed) throw std::runtime_error(parsed.error().message());
  if (!parsed->is_object()) throw std::runtime_error("the body is no object");
  return std::move(parsed->get_object());
}

std::string text_of(const json::object& object, std::string_view key, std::string otherwise) {
  const json::value* value = member(object, key);
  if (value == nullptr) return otherwise;
  if (!value->is_string()) wrong(key, "a string");
  return std::string(value->get_string());
}

std::int64_t number_of(const json::object& object, std::string_view key, std::int64_t otherwise) {
  const json::value* value = member(object, key);
  if (value == nullptr) return otherwise;
  if (value->is_double()) return static_cast<std::int64_t>(value->get_double());
  if (!value->is_int64()) wrong(key, "a number");
  return value->get_int64();
}

bool flag_of(const json::object& object, std::string_view key, bool otherwise) {
  const json::value* value = member(object, key);
  if (value == nullptr) return otherwise;
  if (!value->is_bool()) wrong(key, "a boolean");
  return value->get_bool();
}

json::object object_of(const json::object& object, std::string_view key) {
  const json::value* value = member(object, key);
  if (value == nullptr) return {};
  if (!value->is_object()) wrong(key, "an object");
  return value->get_object();
}

Environment environment_of(const json::object& object, std::string_view key) {
  Environment environment;
  for (const auto& [name, value] : object_of(object, key)) {
    if (!value.is_string()) wrong(key, "an object of strings");
    environment.emplace_back(std::string(name), std::string(value.get_string()));
  }
  return environment;
}

Response json_answer(int status, const json::value& value) {
  Response response;
  response.status = status;
  response.body = to_json_text(value);
  return response;
}

Response empty_answer(int status) {
  Response response;
  response.status = status;
  response.type.clear();
  return response;
}

std::string now_text() { return to_rfc3339(wall_time_from_unix_ms(now_ms())); }

std::int64_t now_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

std::string mode_text(std::uint32_t mode) {
  std::string text = S_ISDIR(mode) ? "d" : S_ISLNK(mode) ? "L" : "-";
  constexpr std::string_view kLetters = "rwxrwxrwx";
  for (std::size_t i = 0; i < kLetters.size(); ++i) {
    text.push_back((mode >> (kLetters.size() - 1 - i) & 1u) != 0 ? kLetters[i] : '-');
  }
  return text;
}

std::string guest_path(std::string_view path, std::string_view home, std::string_view folder) {
  const auto below = [&](std::string_view top) {
    return path.starts_with(top) && (path.size() == top.size() || path[top.size()] == '/');
  };
  if (below("~")) return kWorkFolder + std::string(path.substr(1));
  if (below(home)) return kWorkFolder + std::string(path.substr(home.size()));
  if (path.starts_with('/')) return std::string(path);
  std::string absolute(folder);
  if (!path.empty()) absolute += "/" + std::string(path);
  return absolute;
}

}  // namespace berth::standins
