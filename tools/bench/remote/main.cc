// berth-bench-remote: commands through the adapter of a remote service, before a stand-in that
// answers without executing, and one JSON document about them. remote_rows.py calls it.
//
//   berth-bench-remote --service ID --url URL --authority FILE --folder DIR
//       turn --commands N | at-once --sandboxes N --each N --pause-ms N
#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <filesystem>
#include <string>

#include "core/base/json.h"
#include "tools/bench/remote/commands.h"
#include "tools/bench/remote/service.h"
#include "tools/bench/samples.h"

namespace berth::bench {
namespace {

struct Options {
  ServicePlan service;
  bool at_once = false;
  std::size_t commands = 1000;
  std::size_t sandboxes = 125;
  std::size_t each = 8;
  int pause_ms = 200;
};

Task<Result<boost::json::object>> measure(boost::asio::any_io_executor executor,
                                          const Options& options) {
  BERTH_CO_TRY(const LoadedService loaded, co_await load_service(executor, options.service));
  const auto pause = std::chrono::milliseconds(options.pause_ms);
  Result<boost::json::object> report{boost::json::object()};
  if (options.at_once) {
    report = co_await commands_at_once(executor, loaded->provider(), options.sandboxes,
                                       options.each, pause);
  } else {
    report = co_await commands_in_turn(loaded->provider(), options.commands);
  }
  co_await loaded->close(now() + std::chrono::seconds(10));
  co_return report;
}

int run(const Options& options) {
  boost::asio::io_context loop(1);
  int code = 1;
  boost::asio::co_spawn(loop, measure(loop.get_executor(), options),
                        [&](std::exception_ptr problem, Result<boost::json::object> report) {
                          if (problem) std::rethrow_exception(problem);
                          if (!report) {
                            fmt::print(stderr, "berth-bench-remote: {}\n", report.error().message());
                            return;
                          }
                          fmt::print("{}\n", to_json_text(*report));
                          code = 0;
                        });
  // Not run_loop: it looks again for a moment that the answers of a stand-in are within, and those of
  // a service are not.
  loop.run();
  return code;
}

// Each command has a connection of its own.
void raise_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) {
  berth::bench::Options options;
  std::string folder;
  CLI::App app("Measures the adapter of a remote service; see tools/bench/run.");
  app.add_option("--service", options.service.id, "the provider")->required();
  app.add_option("--url", options.service.url, "where its API is")->required();
  app.add_option("--authority", options.service.authority, "authorities to trust")->required();
  app.add_option("--folder", folder, "for what the provider keeps")->required();
  auto* turn = app.add_subcommand("turn", "one command after the other");
  turn->add_option("--commands", options.commands, "how many")->check(CLI::Range(10, 1'000'000));
  auto* at_once = app.add_subcommand("at-once", "many that stream at once");
  at_once->add_option("--sandboxes", options.sandboxes, "how many")->check(CLI::Range(1, 1000));
  at_once->add_option("--each", options.each, "commands in each")->check(CLI::Range(1, 8));
  at_once->add_option("--pause-ms", options.pause_ms, "between two pieces of output")
      ->check(CLI::Range(1, 60'000));
  app.require_subcommand(1);
  CLI11_PARSE(app, argc, argv);
  options.at_once = at_once->parsed();
  options.service.folder = folder;
  options.service.binary = std::filesystem::canonical("/proc/self/exe").parent_path();
  berth::bench::raise_open_files();
  return berth::bench::run(options);
}
