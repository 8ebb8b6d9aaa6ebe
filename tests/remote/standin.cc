#include "tests/remote/standin.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cstdlib>
#include <stdexcept>

extern "C" char** environ;

namespace berth::tests {

namespace json = boost::json;

Standin::Standin(const std::string& service) {
  std::string path = (std::filesystem::temp_directory_path() / "berth-standin-XXXXXX").string();
  if (::mkdtemp(path.data()) == nullptr) throw std::runtime_error("no temporary folder");
  folder_ = path;
  int in[2], out[2];
  if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0)
    throw std::runtime_error("no pipes");
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in[0], 0);
  ::posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  std::string program = BERTH_STANDIN, option = "--folder", name = service, folder = path;
  char* argv[] = {program.data(), name.data(), option.data(), folder.data(), nullptr};
  const int wrong = ::posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(in[0]);
  ::close(out[1]);
  input_ = in[1];
  output_ = ::fdopen(out[0], "r");
  if (wrong != 0) throw std::runtime_error("the stand-in does not start");
  const json::object ready = json::parse(read_line()).as_object();
  url_ = std::string(ready.at("url").as_string());
  authority_file_ = std::string(ready.at("ca").as_string());
}

Standin::~Standin() {
  ::close(input_);
  int status = 0;
  ::waitpid(pid_, &status, 0);
  std::fclose(output_);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string Standin::read_line() {
  char* line = nullptr;
  std::size_t room = 0;
  const ssize_t size = ::getline(&line, &room, output_);
  std::string out(line == nullptr ? "" : line, size > 0 ? static_cast<std::size_t>(size) : 0);
  std::free(line);
  if (out.empty()) throw std::runtime_error("the stand-in has ended");
  return out;
}

json::object Standin::command(std::string_view command) {
  std::string line(command);
  std::replace(line.begin(), line.end(), '\n', ' ');
  line += '\n';
  if (::write(input_, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    throw std::runtime_error("the stand-in takes no command");
  const json::value answer = json::parse(read_line());
  if (!answer.is_object())
    throw std::runtime_error("the stand-in answered " + json::serialize(answer));
  if (const auto* error = answer.get_object().if_contains("error"))
    throw std::runtime_error("the stand-in refuses: " + json::serialize(*error));
  return answer.get_object();
}

void Standin::fault(std::string_view text) {
  json::object fault = json::parse(json::string_view(text.data(), text.size())).as_object();
  if (auto* body = fault.if_contains("body"); body != nullptr && !body->is_string()) {
    *body = json::serialize(*body);
    fault.emplace("type", "application/json");
  }
  command("{\"faults\":[" + json::serialize(fault) + "]}");
}

int Standin::requests(std::string_view endpoint) {
  const json::object answer = command("{\"journal\":true}");
  int count = 0;
  for (const json::value& each : answer.at("journal").as_array()) {
    const auto* name = each.as_object().if_contains("endpoint");
    if (name != nullptr && name->is_string() && std::string_view(name->get_string()) == endpoint)
      ++count;
  }
  return count;
}

int Standin::machines() {
  return static_cast<int>(command("{\"machines\":true}").at("machines").as_int64());
}

}  // namespace berth::tests
