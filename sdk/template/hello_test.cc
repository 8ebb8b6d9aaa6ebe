#include "hello.h"

#include <cstdio>

#include "berth/testing/fake_host.hpp"

namespace {

int failures = 0;

void expect(bool holds, const char* sentence) {
  if (holds) return;
  ++failures;
  std::fprintf(stderr, "hello_test: %s\n", sentence);
}

}  // namespace

int main() {
  berth::testing::FakeHost host(&berth::provider_entry<Hello>);
  expect(host.open().done(), "open failed");
  expect(host.create("berth-1").done(), "create failed");
  expect(host.lookup("berth-1").get<berth::Found>().presence == berth::Presence::kPresent,
         "lookup did not find it");
  expect(host.run("berth-1", {.argv = {"berth"}}).out == "hello, berth\n", "run did not greet");
  expect(host.put_file("berth-1", "/a", "bytes").done(), "put_file failed");
  expect(host.get_file("berth-1", "/a").file == "bytes", "get_file returned something else");
  expect(host.destroy("berth-1").done(), "destroy failed");
  expect(host.lookup("berth-1").get<berth::Found>().presence == berth::Presence::kAbsentNow,
         "it is still there");
  expect(host.shutdown().done(), "shutdown failed");
  for (const std::string& violation : host.violations()) expect(false, violation.c_str());
  if (failures == 0) std::puts("hello: all is well");
  return failures == 0 ? 0 : 1;
}
