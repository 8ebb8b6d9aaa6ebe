#include "tests/remote/standin.h"

#include <stdlib.h>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <stdexcept>
#include <system_error>

namespace berth::tests {

namespace json = boost::json;

Standin::Standin(std::string_view service) {
  std::string path = (std::filesystem::temp_directory_path() / "berth-standin-XXXXXX").string();
  if (::mkdtemp(path.data()) == nullptr) throw std::runtime_error("no temporary folder");
  folder_ = path;
  service_ = standins::StandIn::start(BERTH_STANDIN, service, folder_);
}

Standin::~Standin() {
  service_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void Standin::fault(std::string_view text) {
  json::object fault = json::parse(json::string_view(text.data(), text.size())).as_object();
  if (auto* body = fault.if_contains("body"); body != nullptr && !body->is_string()) {
    *body = json::serialize(*body);
    fault.emplace("type", "application/json");
  }
  json::array list;
  list.push_back(fault);
  service_->faults(json::serialize(list));
}

}  // namespace berth::tests
