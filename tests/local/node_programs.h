// Programs of Node.js as the tests of its template run them: in a fresh sandbox by a forked interpreter, and
// in a cold one.
#ifndef BERTH_TESTS_LOCAL_NODE_PROGRAMS_H_
#define BERTH_TESTS_LOCAL_NODE_PROGRAMS_H_

#include <string>
#include <string_view>
#include <vector>

#include "machine.h"

namespace berth::local {

struct Program {
  std::string source;
  std::string name = "main.js";
  std::vector<std::string> options = {};
  std::vector<std::string> arguments = {};
};

Config node_config(StartupChoice startup);

// One template for most of these tests: starting it is what they are not about.
Machine& forking_machine();
Machine& cold_machine();

CreateSpec for_javascript();

void put(Sandbox& sandbox, std::string_view path, std::string_view contents);
Ran run_file(Sandbox& sandbox, const Program& program, Command command = {});

Ran cold(const Program& program, Command command = {});
// In a fresh sandbox, by a forked interpreter.
Ran forked(const Program& program, Command command = {});

// A process number, which differs from sandbox to sandbox, is left out.
std::string without_number(const std::string& text);

// The same program says and does the same both ways.
void expect_same(const Program& program, Command command = {});

}  // namespace berth::local

#endif  // BERTH_TESTS_LOCAL_NODE_PROGRAMS_H_
