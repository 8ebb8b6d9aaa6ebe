#include "node_programs.h"

#include <gtest/gtest.h>

#include <memory>
#include <regex>

namespace berth::local {

Config node_config(StartupChoice startup) {
  Config config = default_config();
  config.startup = startup;
  config.templates[index_of(Interpreter::kPython)] = false;
  config.ready_least = 1;
  config.ready_most = 2;
  return config;
}

namespace {

std::unique_ptr<Machine>& shared() {
  static std::unique_ptr<Machine> machine;
  return machine;
}

class AtTheEnd : public testing::Environment {
 public:
  void TearDown() override { shared().reset(); }
};
[[maybe_unused]] const auto* const kAtTheEnd = testing::AddGlobalTestEnvironment(new AtTheEnd);

}  // namespace

Machine& forking_machine() {
  if (!shared()) shared() = std::make_unique<Machine>(node_config(StartupChoice::kTemplate));
  return *shared();
}

Machine& cold_machine() {
  static Machine machine(node_config(StartupChoice::kCold));
  return machine;
}

CreateSpec for_javascript() {
  CreateSpec spec;
  spec.languages = {"javascript"};
  return spec;
}

void put(Sandbox& sandbox, std::string_view path, std::string_view contents) {
  TestPeer peer;
  peer.to_read = contents;
  sandbox.put_file(peer, PutFile{.path = path, .size_bytes = contents.size()});
}

Ran run_file(Sandbox& sandbox, const Program& program, Command command) {
  const std::string path = "/workspace/" + program.name;
  put(sandbox, path, program.source);
  std::vector<std::string> argv{"node"};
  argv.insert(argv.end(), program.options.begin(), program.options.end());
  argv.push_back(path);
  argv.insert(argv.end(), program.arguments.begin(), program.arguments.end());
  return run(sandbox, std::move(argv), std::move(command));
}

Ran cold(const Program& program, Command command) {
  return run_file(*cold_machine().sandbox(for_javascript()), program, std::move(command));
}

Ran forked(const Program& program, Command command) {
  const auto sandbox = forking_machine().sandbox(for_javascript());
  EXPECT_EQ(sandbox->startup(), Startup::kTemplate) << forking_machine().allocations().pool().describe();
  const Ran ran = run_file(*sandbox, program, std::move(command));
  EXPECT_EQ(sandbox->forked_runs(), 1u);
  return ran;
}

std::string without_number(const std::string& text) {
  static const std::regex number("\\(node:[0-9]+\\)");
  return std::regex_replace(text, number, "(node)");
}

void expect_same(const Program& program, Command command) {
  const Ran expected = cold(program, command);
  const Ran ran = forked(program, command);
  EXPECT_EQ(ran.out, expected.out) << program.source;
  EXPECT_EQ(without_number(ran.err), without_number(expected.err)) << program.source;
  EXPECT_EQ(ran.result.exit_code, expected.result.exit_code) << program.source;
  EXPECT_EQ(ran.result.signal, expected.result.signal) << program.source;
  EXPECT_EQ(ran.result.cause, expected.result.cause) << program.source;
}

}  // namespace berth::local
