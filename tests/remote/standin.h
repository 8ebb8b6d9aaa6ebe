// The stand-in of a service that the tests of a file share, in a folder that goes with it.
#ifndef BERTH_TESTS_REMOTE_STANDIN_H_
#define BERTH_TESTS_REMOTE_STANDIN_H_

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "tests/standins/support/stand_in.h"

namespace berth::tests {

// Starts with the first test that needs one and ends with its owner. One thread.
class Standin {
 public:
  explicit Standin(std::string_view service);
  Standin(const Standin&) = delete;
  Standin& operator=(const Standin&) = delete;
  ~Standin();

  const std::string& url() const { return service_->url(); }
  const std::string& authority_file() const { return service_->authority(); }
  const std::filesystem::path& folder() const { return folder_; }

  // Adds one fault: a JSON object, whose body may be JSON too.
  void fault(std::string_view json);
  void clear() { service_->clear(); }
  // How many requests of an endpoint came since it was cleared.
  int requests(std::string_view endpoint) { return static_cast<int>(service_->calls(endpoint)); }
  // How many sandboxes there really are.
  int machines() { return static_cast<int>(service_->machines()); }

 private:
  std::filesystem::path folder_;
  std::unique_ptr<standins::StandIn> service_;
};

}  // namespace berth::tests

#endif  // BERTH_TESTS_REMOTE_STANDIN_H_
