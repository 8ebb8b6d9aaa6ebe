#include "tests/standins/support/stand_in.h"

#include <unistd.h>

#include <stdexcept>
#include <utility>
#include <vector>

#include "core/base/json.h"

namespace berth::standins {
namespace {

constexpr JsonBounds kBounds{.bytes_max = std::size_t{64} << 20, .depth_max = 64};

template <class T>
T value_or_throw(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message());
  return std::move(*result);
}

}  // namespace

std::unique_ptr<StandIn> StandIn::start(const std::filesystem::path& program, std::string_view service,
                                        const std::filesystem::path& folder) {
  os::Pipe to = value_or_throw(os::make_pipe());
  os::Pipe from = value_or_throw(os::make_pipe());
  os::SpawnRequest request;
  request.program = program;
  request.arguments = {std::string(service), "--folder", folder.string()};
  for (char** pair = environ; *pair != nullptr; ++pair) request.environment.emplace_back(*pair);
  request.descriptors = {{to.read_end.get(), 0}, {from.write_end.get(), 1}, {2, 2}};
  std::unique_ptr<StandIn> made(new StandIn(value_or_throw(os::Process::spawn(request)), std::move(to.write_end),
                                            std::move(from.read_end)));
  to.read_end.reset();
  from.write_end.reset();
  const boost::json::object ready = made->line();
  made->url_ = std::string(ready.at("url").as_string());
  made->authority_ = std::string(ready.at("ca").as_string());
  return made;
}

StandIn::~StandIn() {
  to_.reset();
  process_.reap();
}

void StandIn::faults(std::string_view list) {
  boost::json::object command;
  command["faults"] = value_or_throw(parse_json(list, kBounds));
  ask(command);
}

void StandIn::clear() {
  boost::json::object command{{"clear", true}};
  ask(command);
}

boost::json::array StandIn::journal() {
  boost::json::object command{{"journal", true}};
  return ask(command).at("journal").as_array();
}

std::size_t StandIn::calls(std::string_view endpoint) {
  std::size_t count = 0;
  for (const auto& entry : journal()) {
    const auto* name = entry.as_object().if_contains("endpoint");  // a request of no known endpoint has none
    if (name != nullptr && name->is_string() && name->get_string() == endpoint) ++count;
  }
  return count;
}

boost::json::object StandIn::state() {
  boost::json::object command{{"state", true}};
  return ask(command).at("state").as_object();
}

std::size_t StandIn::machines() {
  boost::json::object command{{"machines", true}};
  return ask(command).at("machines").to_number<std::size_t>();
}

boost::json::object StandIn::ask(const boost::json::object& command) {
  const Status sent = os::write_all(to_.get(), to_json_text(command) + "\n");
  if (!sent) throw std::runtime_error(sent.error().message());
  boost::json::object answer = line();
  if (const auto* error = answer.if_contains("error")) {
    throw std::runtime_error(std::string(error->as_string()));
  }
  return answer;
}

boost::json::object StandIn::line() {
  std::size_t end = read_.find('\n');
  while (end == std::string::npos) {
    char piece[65536];
    const ssize_t count = read(from_.get(), piece, sizeof(piece));
    if (count <= 0) throw std::runtime_error("the stand-in has ended");
    read_.append(piece, static_cast<std::size_t>(count));
    end = read_.find('\n');
  }
  const boost::json::value parsed = value_or_throw(parse_json(std::string_view(read_).substr(0, end), kBounds));
  read_.erase(0, end + 1);
  return parsed.as_object();
}

}  // namespace berth::standins
