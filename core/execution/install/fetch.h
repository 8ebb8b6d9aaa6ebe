// One file or page over HTTP, fetched by the host: bounded in time and bytes, TLS verified.
#ifndef BERTH_CORE_EXECUTION_INSTALL_FETCH_H_
#define BERTH_CORE_EXECUTION_INSTALL_FETCH_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/base/task.h"
#include "core/base/time.h"
#include "core/execution/install/url.h"

namespace berth::install {

struct FetchHead {
  unsigned status = 0;
  std::string reason;
  std::string location;                 // of a redirect
  std::optional<std::uint64_t> length;  // of the body, when it was said
};

// Takes what comes. An error ends the fetch and is its result.
class FetchSink {
 public:
  virtual ~FetchSink() = default;
  virtual Status on_head(const FetchHead& head) = 0;
  // Only for status 200. The bytes are the caller's and valid until the task ends.
  virtual Task<Status> on_data(std::string_view bytes) = 0;
};

struct FetchOptions {
  Duration idle_timeout = std::chrono::seconds(30);  // without progress, connecting included
  std::filesystem::path certificates;                // beside the system's; empty: none
};

// The connections of one install. One event loop; not thread-safe. No redirect is followed: that is
// a decision of the caller.
class Fetcher {
 public:
  explicit Fetcher(FetchOptions options);
  ~Fetcher();
  Fetcher(const Fetcher&) = delete;
  Fetcher& operator=(const Fetcher&) = delete;

  // `verify`: whether the certificate must be good for the host's name. Errors name the URL without
  // credentials. `sink` and this object must outlive the task.
  Task<Status> get(Url url, std::string credentials, bool verify, FetchSink& sink);
  // Ends what is under way, soon and with an error; later fetches fail at once.
  void close();

 private:
  class Connection;
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth::install

#endif  // BERTH_CORE_EXECUTION_INSTALL_FETCH_H_
