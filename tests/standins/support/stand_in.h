// StandIn: a stand-in as a child of a test. It ends, and its sandboxes with it, when this is destroyed.
//
//   auto service = StandIn::start(BERTH_STANDIN, "daytona", folder);
//   service->faults(R"([{"endpoint": "POST /sandbox", "do": "drop", "when": "after"}])");
//   ... config.api_url = service->url() + "/api"; the client trusts service->authority() ...
//   EXPECT_EQ(service->calls("POST /sandbox"), 1);
//   EXPECT_EQ(service->machines(), 0);
//
// Blocking; for one thread. What goes wrong with the stand-in itself throws std::runtime_error, which fails the test.
#ifndef BERTH_TESTS_STANDINS_SUPPORT_STAND_IN_H_
#define BERTH_TESTS_STANDINS_SUPPORT_STAND_IN_H_

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "core/os/fd.h"
#include "core/os/process.h"

namespace berth::standins {

class StandIn {
 public:
  // `program` is the target standin. `folder` is made where it is missing; a stand-in each.
  static std::unique_ptr<StandIn> start(const std::filesystem::path& program, std::string_view service,
                                        const std::filesystem::path& folder);
  ~StandIn();
  StandIn(const StandIn&) = delete;
  StandIn& operator=(const StandIn&) = delete;

  const std::string& url() const { return url_; }  // "https://localhost:PORT"
  const std::string& authority() const { return authority_; }  // a file to trust

  // A list of faults as JSON; see faults.h.
  void faults(std::string_view list);
  // Forgets faults, expired tokens and the journal.
  void clear();
  boost::json::array journal();
  std::size_t calls(std::string_view endpoint);
  boost::json::object state();
  // How many real sandboxes there are.
  std::size_t machines();

 private:
  StandIn(os::Process process, os::Fd to, os::Fd from)
      : process_(std::move(process)), to_(std::move(to)), from_(std::move(from)) {}
  boost::json::object ask(const boost::json::object& command);
  boost::json::object line();

  os::Process process_;
  os::Fd to_;
  os::Fd from_;
  std::string read_;
  std::string url_;
  std::string authority_;
};

}  // namespace berth::standins

#endif  // BERTH_TESTS_STANDINS_SUPPORT_STAND_IN_H_
