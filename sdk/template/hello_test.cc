// The provider, as built, against the SDK's host for tests: in this process, on this machine.
//
// usage: hello_test FILE
#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "berth/testing/fake_host.hpp"

using namespace berth;
using testing::Answer;
using testing::FakeHost;

namespace {

int failures = 0;

void expect(bool holds, const std::string& sentence) {
  if (holds) return;
  ++failures;
  std::fprintf(stderr, "hello_test: %s\n", sentence.c_str());
}

void expect_end(const Answer& answer, Cause cause, int number, const std::string& what) {
  if (!answer.done()) return expect(false, what + ": " + answer.message);
  const RunResult& end = answer.get<RunResult>();
  const int got = cause == Cause::kSignalled ? static_cast<int>(end.signal) : end.exit_code;
  expect(end.cause == cause && got == number,
         what + ": cause " + std::to_string(static_cast<unsigned>(end.cause)) + ", number " +
             std::to_string(got) + ", " + answer.err);
}

Presence presence(FakeHost& host, const std::string& name) {
  return host.lookup(name).get<Found>().presence;
}

void programs_run(FakeHost& host) {
  const Answer python = host.run("berth-1", {.argv = {"python3", "-c", "print(6 * 7)"}});
  expect_end(python, Cause::kExited, 0, "python3");
  expect(python.out == "42\n", "python3 printed " + python.out);
  const Answer node = host.run("berth-1", {.argv = {"node", "-e", "console.log(6 * 7)"}});
  expect_end(node, Cause::kExited, 0, "node");
  expect(node.out == "42\n", "node printed " + node.out);
  expect_end(host.run("berth-1", {.argv = {"sh", "-c", "exit 137"}}), Cause::kExited, 137, "exit 137");
  expect_end(host.run("berth-1", {.argv = {"sh", "-c", "kill -9 $$"}}), Cause::kSignalled, 9, "kill -9");
  const Answer cat = host.run("berth-1", {.argv = {"cat"}, .input = "from the caller"});
  expect(cat.out == "from the caller", "cat printed " + cat.out);
  const Answer words = host.run("berth-1", {.argv = {"printf", "%s|", "a b", "it's", "$HOME", ""}});
  expect(words.out == "a b|it's|$HOME||", "words became " + words.out);
  const Answer none = host.run("berth-1", {.argv = {"no-such-program"}});
  expect(none.code == Code::kNotFound, "a program that is not there was run");
}

void programs_end(FakeHost& host) {
  const Answer late = host.run(
      "berth-1", {.argv = {"sleep", "1000"}, .timeout = std::chrono::milliseconds(200)});
  expect_end(late, Cause::kWall, -1, "a program out of time");
  const berth_op op = host.start_run("berth-1", {.argv = {"sh", "-c", "echo on; sleep 1000"}});
  host.wait_until(op, [](const auto& call) { return !call.answer.out.empty(); });
  host.cancel(op);
  expect_end(host.wait(op), Cause::kCancelled, -1, "a cancelled program");
}

void files_come_and_go(FakeHost& host) {
  expect(host.put_file("berth-1", "/work/a/b", "bytes", 0600).done(), "put_file failed");
  expect(host.get_file("berth-1", "/work/a/b").file == "bytes", "get_file gave something else");
  expect(host.get_file("berth-1", "/work/c").code == Code::kNotFound, "a missing file was found");
  host.run("berth-1", {.argv = {"ln", "-s", "/etc/passwd", "/work/link"}});
  expect(!host.get_file("berth-1", "/work/link").done(), "a link led out of the sandbox");
}

void names_are_for_ever(FakeHost& host) {
  expect(host.destroy("berth-1").done(), "destroy failed");
  expect(host.destroy("berth-1").done(), "destroy is not idempotent");
  expect(presence(host, "berth-1") == Presence::kAbsentNow, "it is still there");
  expect(host.create("berth-1").code == Code::kConflict, "an ended name was made again");
  expect(host.fence("berth-2").get<Found>().presence == Presence::kAbsentFenced, "fence did not fence");
  expect(host.create("berth-2").code == Code::kConflict, "a fenced name was made");
}

}  // namespace

int main(int argc, char** argv) {
  void* const library = argc == 2 ? ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (library == nullptr) {
    std::fprintf(stderr, "usage: hello_test FILE; %s\n", argc == 2 ? ::dlerror() : "");
    return 2;
  }
  const auto entry = reinterpret_cast<berth_provider_entry_fn>(::dlsym(library, BERTH_ENTRY_SYMBOL));
  char state[] = "/tmp/hello-test-XXXXXX";
  if (::mkdtemp(state) == nullptr) return 1;
  FakeHost host(entry);
  // Any command that takes a script as its last word does, such as ssh with a machine's name.
  host.set_config("shell", R"(["env", "FAR=away", "sh", "-c"])");
  host.set_config("folder", '"' + std::string(state) + "/boxes\"");
  expect(host.open("{}", state).done(), "open failed");
  const Answer probed = host.probe();
  for (const ProbeItem& item : probed.get<ProbeReport>().items)
    expect(item.ok, item.name + " is " + item.detail + "; " + item.remedy);
  const Scope where = {{"shell", "env FAR=away sh -c"}, {"folder", std::string(state) + "/boxes"}};
  expect(host.scope().get<Scope>() == where, "the scope does not say where the sandboxes are");
  expect(host.create("berth-1").done(), "create failed");
  expect(presence(host, "berth-1") == Presence::kPresent, "lookup did not find it");
  expect(host.list_owned("owner").get<ListPage>().items.size() == 1, "list_owned did not list it");
  programs_run(host);
  programs_end(host);
  files_come_and_go(host);
  names_are_for_ever(host);
  expect(host.shutdown().done(), "shutdown failed");
  for (const std::string& violation : host.violations()) expect(false, violation);
  std::filesystem::remove_all(state);
  if (failures == 0) std::puts("hello: all is well");
  return failures == 0 ? 0 : 1;
}
