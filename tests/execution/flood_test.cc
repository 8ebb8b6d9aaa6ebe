// A program that floods both of its streams at once, through the real worker and the local sandbox.
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "core/host/host.h"

namespace berth {
namespace {

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;
constexpr std::uint64_t kKeptBytes = kMebibyte;

constexpr const char* kFlood = R"(
import os, threading
def bulk():
  piece = memoryview(b'x' * 65536)
  for _ in range(16384):
    rest = piece
    while rest: rest = rest[os.write(1, rest):]
def drip():
  for _ in range(8 << 20): os.write(2, b'.')
threads = [threading.Thread(target=each) for each in (bulk, drip)]
for each in threads: each.start()
for each in threads: each.join()
)";

std::uint64_t status_bytes(const std::string& process, const std::string& field) {
  std::ifstream status("/proc/" + process + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field + ":")) return std::stoull(line.substr(field.size() + 1)) * 1024;
  }
  ADD_FAILURE() << "process " << process << " has no " << field;
  return 0;
}

// From now on the peak of a process is counted anew.
void reset_peak(const std::string& process) {
  std::ofstream("/proc/" + process + "/clear_refs") << "5";
}

class Counter final : public ExecutionObserver {
 public:
  Flow on_output(const OutputChunk& chunk) override {
    (chunk.stream == Stream::kStdout ? out : err) += chunk.raw_bytes;
    return Flow::kContinue;
  }
  std::uint64_t out = 0;
  std::uint64_t err = 0;
};

struct Flooded {
  ExecutionResult result;
  Counter seen;
  std::uint64_t host_growth = 0;
  std::uint64_t worker_growth = 0;
};

Task<Result<Flooded>> flood(Host& host) {
  BERTH_CO_TRY(HostedProvider* const provider, co_await host.load("local"));
  BERTH_CO_CHECK_OK(check_usable(*provider->loaded));
  const std::string worker = std::to_string(provider->loaded->worker_pids().at(0));
  ExecutionRequest request;
  request.code = "pass";
  request.key = CallKey{"tester", "flood", "idle"};
  Cancellation cancellation;
  Flooded flooded;
  co_await host.execute(*provider, request, &flooded.seen, cancellation);
  reset_peak("self");
  reset_peak(worker);
  const std::uint64_t host_idle = status_bytes("self", "VmRSS");
  const std::uint64_t worker_idle = status_bytes(worker, "VmRSS");
  request.code = kFlood;
  request.key.call = "flood";
  flooded.result = co_await host.execute(*provider, request, &flooded.seen, cancellation);
  flooded.host_growth = status_bytes("self", "VmHWM") - host_idle;
  flooded.worker_growth = status_bytes(worker, "VmHWM") - worker_idle;
  co_return flooded;
}

Result<Flooded> run_flood(const std::filesystem::path& state) {
  boost::asio::io_context loop(1);
  HostOptions options;
  options.state_dir = state;
  options.installation = BERTH_BUILD_FOLDER;
  options.limits.application_deadline = std::chrono::minutes(25);
  options.limits.sandbox_lifetime = std::chrono::minutes(30);
  BERTH_TRY(const auto host, Host::open(loop.get_executor(), std::move(options)));
  std::optional<Result<Flooded>> ended;
  boost::asio::co_spawn(loop, flood(*host), [&](std::exception_ptr thrown, Result<Flooded> value) {
    if (thrown) std::rethrow_exception(thrown);
    ended = std::move(value);
    boost::asio::co_spawn(loop, host->close(), [](std::exception_ptr) {});
  });
  loop.run();
  return std::move(*ended);
}

void expect_kept(const OutputText& text, std::uint64_t produced) {
  EXPECT_EQ(text.bytes, produced);
  EXPECT_TRUE(text.truncated);
  EXPECT_EQ(text.omitted_bytes, produced - kKeptBytes);
  EXPECT_LT(text.text.size(), kKeptBytes + 100);
  EXPECT_NE(text.text.find("[... " + std::to_string(text.omitted_bytes) + " bytes omitted ...]"),
            std::string::npos);
}

TEST(Flood, OfBothStreamsIsCountedExactlyAndLeavesMemoryFlat) {
  std::string folder = (std::filesystem::temp_directory_path() / "berth-flood-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const auto flooded = run_flood(folder + "/state");
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(flooded) << flooded.error().message();
  const ExecutionResult& result = flooded->result;
  ASSERT_EQ(result.status, ExecutionStatus::kCompleted) << result.message.substr(0, 2000);
  expect_kept(result.stdout_text, 1024 * kMebibyte);
  expect_kept(result.stderr_text, 8 * kMebibyte);
  EXPECT_EQ(flooded->seen.out, 1024 * kMebibyte);
  EXPECT_EQ(flooded->seen.err, 8 * kMebibyte);
  ASSERT_TRUE(result.receipt);
  EXPECT_EQ(result.receipt->stdout_bytes, 1024 * kMebibyte);
  EXPECT_EQ(result.receipt->stderr_bytes, 8 * kMebibyte);
  RecordProperty("host_growth_bytes", std::to_string(flooded->host_growth));
  RecordProperty("worker_growth_bytes", std::to_string(flooded->worker_growth));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(flooded->host_growth, 64 * kMebibyte);
  EXPECT_LT(flooded->worker_growth, 64 * kMebibyte);
#endif
}

}  // namespace
}  // namespace berth
