// Neighbours that are a command each: many at once, from the moment the first is started.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "tools/bench/sandboxes/family.h"
#include "tools/bench/sandboxes/spawned.h"

namespace berth::bench {
namespace {

struct Commands {
  std::size_t count = 100;
  std::size_t in_flight = 0;  // 0: all
  std::vector<std::string> argv;
};

// Every '{}' becomes the number.
std::string numbered(std::string argument, std::size_t number) {
  for (auto at = argument.find("{}"); at != std::string::npos; at = argument.find("{}", at)) {
    argument.replace(at, 2, fmt::format("{}", number));
  }
  return argument;
}

Task<Result<boost::json::object>> measure_commands(const Setting& setting, std::shared_ptr<Commands> plan) {
  std::vector<std::vector<std::string>> commands(plan->count, plan->argv);
  for (std::size_t i = 0; i < commands.size(); ++i) {
    for (std::string& argument : commands[i]) argument = numbered(std::move(argument), i);
  }
  const std::size_t in_flight = plan->in_flight == 0 ? plan->count : plan->in_flight;
  const Instant begun = now();
  BERTH_CO_TRY(const auto all, run_spawned(std::move(commands), in_flight, setting.folder));
  std::vector<Duration> first_output;
  std::vector<Duration> ended;
  for (const Spawned& one : all) {
    first_output.push_back(one.first_output - begun);
    ended.push_back(one.ended - begun);
  }
  boost::json::object report;
  report["first_output"] = to_json(first_output);
  report["ended"] = to_json(ended);
  co_return report;
}

}  // namespace

void add_commands(CLI::App& app, Family& chosen) {
  auto plan = std::make_shared<Commands>();
  CLI::App* command = app.add_subcommand("commands", "many processes of one command at once");
  command->add_option("--count", plan->count, "how many")->check(CLI::Range(1, 10'000));
  command->add_option("--in-flight", plan->in_flight, "how many at most at once; 0: all")
      ->check(CLI::Range(0, 10'000));
  command->add_option("argv", plan->argv, "the command; {} in it becomes a number")->required();
  command->callback([plan, &chosen] {
    chosen = [plan](Setting& setting) { return measure_commands(setting, plan); };
  });
}

}  // namespace berth::bench
