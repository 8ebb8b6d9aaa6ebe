// Sandboxes whose Node.js was forked from a template: it is Node as any other, its walls are those of any
// other, and nothing of one is in another.
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "core/execution/harness.h"
#include "machine.h"

namespace berth::local {
namespace {

constexpr std::uint64_t kMebibyte = 1u << 20;

Config node_config(StartupChoice startup) {
  Config config = default_config();
  config.startup = startup;
  config.templates[index_of(Interpreter::kPython)] = false;
  config.ready_least = 1;
  config.ready_most = 2;
  return config;
}

// One template for most of these tests: starting it is what they are not about.
std::unique_ptr<Machine>& shared() {
  static std::unique_ptr<Machine> machine;
  return machine;
}

Machine& machine() {
  if (!shared()) shared() = std::make_unique<Machine>(node_config(StartupChoice::kTemplate));
  return *shared();
}

class AtTheEnd : public testing::Environment {
 public:
  void TearDown() override { shared().reset(); }
};
[[maybe_unused]] const auto* const kAtTheEnd = testing::AddGlobalTestEnvironment(new AtTheEnd);

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

struct Program {
  std::string source;
  std::string name = "main.js";
  std::vector<std::string> options = {};
  std::vector<std::string> arguments = {};
};

Ran run_file(Sandbox& sandbox, const Program& program, Command command = {}) {
  const std::string path = "/workspace/" + program.name;
  put(sandbox, path, program.source);
  std::vector<std::string> argv{"node"};
  argv.insert(argv.end(), program.options.begin(), program.options.end());
  argv.push_back(path);
  argv.insert(argv.end(), program.arguments.begin(), program.arguments.end());
  return run(sandbox, std::move(argv), std::move(command));
}

Ran cold(const Program& program, Command command = {}) {
  return run_file(*cold_machine().sandbox(for_javascript()), program, std::move(command));
}

// In a fresh sandbox, by a forked interpreter.
Ran forked(const Program& program, Command command = {}) {
  const auto sandbox = machine().sandbox(for_javascript());
  EXPECT_EQ(sandbox->startup(), Startup::kTemplate) << machine().allocations().pool().describe();
  const Ran ran = run_file(*sandbox, program, std::move(command));
  EXPECT_EQ(sandbox->forked_runs(), 1u);
  return ran;
}

// The same program says and does the same both ways.
void expect_same(const Program& program, Command command = {}) {
  const Ran expected = cold(program, command);
  const Ran ran = forked(program, command);
  EXPECT_EQ(ran.out, expected.out) << program.source;
  EXPECT_EQ(ran.err, expected.err) << program.source;
  EXPECT_EQ(ran.result.exit_code, expected.result.exit_code) << program.source;
  EXPECT_EQ(ran.result.signal, expected.result.signal) << program.source;
  EXPECT_EQ(ran.result.cause, expected.result.cause) << program.source;
}

TEST(NodeTemplate, AProgramRuns) {
  const Ran ran = forked({"console.log(1)"});
  EXPECT_EQ(ran.out, "1\n");
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(ran.result.exit_code, 0);
  expect_same({"console.log(process.argv, process.execArgv, process.argv0, process.title, process.execPath)"});
}

}  // namespace
}  // namespace berth::local
