// A family of measurements: one subcommand of berth-bench-sandboxes, whose report is one JSON object
// with every sample in nanoseconds. Ratios and goals are the caller's.
#ifndef BERTH_TOOLS_BENCH_SANDBOXES_FAMILY_H_
#define BERTH_TOOLS_BENCH_SANDBOXES_FAMILY_H_

#include <CLI/CLI.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <vector>

#include "core/base/result.h"
#include "core/base/task.h"
#include "core/base/time.h"
#include "core/lifecycle/cancellation.h"

namespace berth::bench {

// What every measurement is given. Outlives it.
struct Setting {
  boost::asio::any_io_executor executor;
  std::filesystem::path installation;  // has the provider and the worker
  std::filesystem::path folder;        // a new one for whatever is written, removed afterwards
  Cancellation& stop;                  // rises with Ctrl-C; loops look at it
};

using Family = std::function<Task<Result<boost::json::object>>(Setting&)>;

inline boost::json::array to_json(const std::vector<Duration>& samples) {
  boost::json::array array;
  for (const Duration took : samples) array.push_back(std::chrono::nanoseconds(took).count());
  return array;
}

inline Status unless_stopped(const Setting& setting) {
  if (!setting.stop.requested()) return {};
  return fail(ErrorKind::kCancelled, "interrupted");
}

// Each adds its subcommand, and sets `chosen` when that is the one on the command line.
void add_alive(CLI::App& app, Family& chosen);
void add_burst(CLI::App& app, Family& chosen);
void add_cold_true(CLI::App& app, Family& chosen);
void add_commands(CLI::App& app, Family& chosen);
void add_podman(CLI::App& app, Family& chosen);
void add_programs(CLI::App& app, Family& chosen);
void add_rate(CLI::App& app, Family& chosen);

}  // namespace berth::bench

#endif  // BERTH_TOOLS_BENCH_SANDBOXES_FAMILY_H_
