#include "tests/standins/support/stand_in.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace berth::standins {
namespace {

TEST(StandIn, TellsWhereItIsAndWhatItHasAndRefusesAFaultOfNoEndpoint) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "stand-in";
  std::filesystem::remove_all(folder);
  const auto service = StandIn::start(BERTH_STANDIN, "daytona", folder);
  EXPECT_TRUE(service->url().starts_with("https://localhost:"));
  EXPECT_TRUE(std::filesystem::is_regular_file(service->authority()));
  EXPECT_EQ(service->machines(), 0u);
  EXPECT_EQ(service->calls("POST /sandbox"), 0u);
  EXPECT_TRUE(service->state().at("sandboxes").as_array().empty());
  service->faults(R"([{"endpoint": "POST /sandbox", "do": "drop", "when": "after"}])");
  EXPECT_THROW(service->faults(R"([{"endpoint": "POST /nothing", "do": "drop"}])"), std::runtime_error);
  service->clear();
}

}  // namespace
}  // namespace berth::standins
