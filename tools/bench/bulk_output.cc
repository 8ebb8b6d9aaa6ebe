#include "tools/bench/bulk_output.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/host/host.h"

namespace berth::bench {
namespace {

double seconds_since(Instant begun) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

// Keeps every byte, in blocks that are not moved again.
class Keeper final : public ExecutionObserver {
 public:
  // The program's own start counts, as that of `cat` does.
  void on_stage(std::string_view stage) override {
    if (stage == "run" && !begun_) begun_ = std::chrono::steady_clock::now();
  }
  Flow on_output(const OutputChunk& chunk) override {
    bytes_ += chunk.raw.size();
    std::string_view rest = chunk.raw;
    while (!rest.empty()) {
      if (blocks_.empty() || blocks_.back().size() == kBlockBytes) {
        blocks_.emplace_back().reserve(kBlockBytes);
      }
      const std::string_view piece = rest.substr(0, kBlockBytes - blocks_.back().size());
      blocks_.back().append(piece);
      rest.remove_prefix(piece.size());
    }
    if (begun_) seconds_ = seconds_since(*begun_);
    return Flow::kContinue;
  }

  std::uint64_t bytes() const { return bytes_; }
  double seconds() const { return seconds_; }

 private:
  static constexpr std::size_t kBlockBytes = std::size_t{1} << 20;
  std::vector<std::string> blocks_;
  std::uint64_t bytes_ = 0;
  std::optional<Instant> begun_;
  double seconds_ = 0;
};

Task<Result<double>> through_library(Host& host, HostedProvider& provider, int turn,
                                     std::size_t mebibytes) {
  ExecutionRequest request;
  request.code = fmt::format(
      "import os\npiece = memoryview(b'x' * 65535 + b'\\n')\nfor _ in range({}):\n"
      "  rest = piece\n  while rest: rest = rest[os.write(1, rest):]\n",
      mebibytes * 16);
  request.key = CallKey{"bench", "bulk", fmt::format("turn-{}", turn)};
  Keeper keeper;
  Cancellation cancellation;
  const ExecutionResult result =
      co_await host.execute(provider, std::move(request), &keeper, cancellation);
  if (result.status != ExecutionStatus::kCompleted || keeper.bytes() != mebibytes << 20) {
    co_return fail(ErrorKind::kInternal,
                   fmt::format("the program that writes ended as {} with {} bytes: {}",
                               to_string(result.status), keeper.bytes(), result.message));
  }
  co_return static_cast<double>(keeper.bytes()) / keeper.seconds();
}

Result<double> through_cat(const std::filesystem::path& file, std::size_t mebibytes) {
  const std::string command = fmt::format("cat '{}' | wc -c", file.string());
  const Instant begun = std::chrono::steady_clock::now();
  std::FILE* counted = ::popen(command.c_str(), "r");
  if (counted == nullptr) return fail(ErrorKind::kIo, "cannot run 'cat FILE | wc -c'");
  unsigned long long bytes = 0;
  const int read = std::fscanf(counted, "%llu", &bytes);
  ::pclose(counted);
  const double seconds = seconds_since(begun);
  if (read != 1 || bytes != mebibytes << 20) {
    return fail(ErrorKind::kInternal, fmt::format("'{}' counted {} bytes", command, bytes));
  }
  return static_cast<double>(bytes) / seconds;
}

Task<Result<boost::json::object>> measure(Host& host, std::filesystem::path file, int turns,
                                          std::size_t mebibytes) {
  BERTH_CO_TRY(HostedProvider* const provider, co_await host.load("local"));
  BERTH_CO_CHECK_OK(check_usable(*provider->loaded));
  boost::json::array library;
  boost::json::array cat_wc;
  for (int turn = -1; turn < turns; ++turn) {
    BERTH_CO_TRY(const double theirs, through_cat(file, mebibytes));
    BERTH_CO_TRY(const double ours, co_await through_library(host, *provider, turn, mebibytes));
    if (turn < 0) continue;  // warms caches
    cat_wc.push_back(theirs);
    library.push_back(ours);
  }
  boost::json::object report;
  report["library"] = std::move(library);
  report["cat_wc"] = std::move(cat_wc);
  co_return report;
}

}  // namespace

Task<Result<boost::json::object>> bulk_output(boost::asio::any_io_executor executor,
                                              std::filesystem::path installation,
                                              std::filesystem::path folder, int turns,
                                              std::size_t mebibytes) {
  const std::filesystem::path file = folder / "bulk";
  {
    std::ofstream out(file, std::ios::binary);
    const std::string piece(std::size_t{1} << 20, 'x');
    for (std::size_t i = 0; i < mebibytes; ++i) out.write(piece.data(), std::ssize(piece));
    out.flush();
    if (!out) co_return fail(ErrorKind::kIo, "cannot write " + file.string());
  }
  HostOptions options;
  options.state_dir = folder / "bulk-state";
  options.installation = std::move(installation);
  BERTH_CO_TRY(const auto host, Host::open(executor, std::move(options)));
  auto report = co_await measure(*host, file, turns, mebibytes);
  co_await host->close();
  co_return report;
}

}  // namespace berth::bench
