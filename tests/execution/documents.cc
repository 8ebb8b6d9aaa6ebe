#include "tests/execution/documents.h"

#include <boost/json/object.hpp>
#include <fstream>
#include <utility>
#include <vector>

#include "core/base/json.h"

namespace berth::test {
namespace {

namespace json = boost::json;

void write(const std::filesystem::path& file, const json::object& document) {
  std::ofstream(file) << to_json_text(document);
}

}  // namespace

Documents::Documents(std::filesystem::path folder) : folder_(std::move(folder)) {
  std::filesystem::remove_all(folder_);
  std::filesystem::create_directories(folder_ / "good");
  std::filesystem::create_directories(folder_ / "bad");
}

void Documents::add(const std::string& name, const ExecutionResult& result) {
  const json::object good = to_json(result);
  write(folder_ / "good" / (name + ".json"), good);
  // One document in all its wrong forms is enough.
  if (!std::filesystem::is_empty(folder_ / "bad")) return;
  for (const auto& [key, value] : good) {
    json::object less = good;
    less.erase(key);
    write(folder_ / "bad" / ("without_" + std::string(key) + ".json"), less);
  }
  const std::vector<std::pair<std::string, json::value>> wrong = {
      {"version", 2},       {"status", "done"},    {"status", "cancelled"},
      {"stdout", nullptr},  {"exit_code", "0"},    {"exit_code", 256},
      {"signal", 0},        {"cause", "killed"},   {"charts", nullptr},
      {"notes", {1}},       {"replayed", "yes"},   {"timings", {{"run", -1}}},
      {"intent", ""},       {"failure", {{"kind", "other"}, {"message", ""}}},
      {"unknown_field", 1}, {"result", "text"},    {"streams", json::object{}},
      {"chart", {{"format", "gif"}, {"base64", "AAAA"}}}};
  int number = 0;
  for (const auto& [key, value] : wrong) {
    json::object other = good;
    other[key] = value;
    write(folder_ / "bad" / ("wrong_" + std::to_string(++number) + "_" + key + ".json"), other);
  }
}

}  // namespace berth::test
