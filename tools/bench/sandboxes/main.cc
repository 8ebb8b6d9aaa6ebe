// berth-bench-sandboxes: measures sandboxes of the local provider, and their neighbours in the same
// way, one family of measurements a call. tools/bench/run calls it and puts the figures together.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>

#include "core/base/ids.h"
#include "core/base/json.h"
#include "core/base/run_loop.h"
#include "core/os/process.h"
#include "tools/bench/sandboxes/family.h"

namespace berth::bench {
namespace {

// The first signal asks everything to end in order; the second ends this process, and with it the
// worker and every sandbox.
void watch_signals(boost::asio::signal_set& signals, Cancellation& stop) {
  signals.async_wait([&](boost::system::error_code error, int) {
    if (error) return;
    stop.request(Cancellation::Reason::kCaller);
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
    signals.clear();
  });
}

int run(const Family& family, const std::filesystem::path& scratch) {
  boost::asio::io_context loop(1);
  Cancellation stop;
  boost::asio::signal_set signals(loop, SIGINT, SIGTERM);
  watch_signals(signals, stop);
  const std::filesystem::path folder = scratch / ("bench-" + random_hex(8));
  std::filesystem::create_directories(folder);
  Setting setting{loop.get_executor(), os::executable_folder().parent_path(), folder, stop};
  int code = 1;
  boost::asio::co_spawn(loop, family(setting),
                        [&](std::exception_ptr problem, Result<boost::json::object> report) {
                          signals.cancel();
                          if (problem) std::rethrow_exception(problem);
                          if (!report) {
                            fmt::print(stderr, "berth-bench-sandboxes: {}\n",
                                       report.error().message());
                            return;
                          }
                          fmt::print("{}\n", to_json_text(*report));
                          code = 0;
                        });
  run_loop(loop);
  std::filesystem::remove_all(folder);
  return code;
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) {
  using namespace berth::bench;
  CLI::App app("Measures sandboxes of the local provider beside their neighbours; tools/bench/run "
               "shows the figures in a table.");
  std::filesystem::path scratch = berth::os::executable_folder();
  Family chosen;
  app.add_option("--scratch", scratch, "where a folder is made for what is written; default: here");
  app.require_subcommand(1);
  add_alive(app, chosen);
  add_burst(app, chosen);
  add_cold_true(app, chosen);
  add_commands(app, chosen);
  add_podman(app, chosen);
  add_programs(app, chosen);
  add_rate(app, chosen);
  CLI11_PARSE(app, argc, argv);
  return run(chosen, scratch);
}
