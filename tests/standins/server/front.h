// Front: finds the endpoint of a request, checks who asks, does what it was told to get wrong, and writes
// down what happened. One for each stand-in.
#ifndef BERTH_TESTS_STANDINS_SERVER_FRONT_H_
#define BERTH_TESTS_STANDINS_SERVER_FRONT_H_

#include <boost/json/object.hpp>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/standins/server/faults.h"
#include "tests/standins/server/journal.h"
#include "tests/standins/server/service.h"

namespace berth::standins {

class Front {
 public:
  Front(Service& service, const std::filesystem::path& journal);

  Task<void> serve(Exchange& exchange);

  // {"faults": [...]} adds them, {"clear": true} ends all and forgets the journal, {"journal": true} and
  // {"state": true} ask. One answer each; {"error": "..."} when it means nothing.
  boost::json::object control(const boost::json::object& command);
  Status add_faults(const boost::json::array& list) { return faults_.add(list, names_); }

 private:
  const Endpoint* match(const Request& request, std::vector<std::string>* parameters) const;
  bool admitted(const Request& request, const std::vector<Fault>& faults);
  Task<void> perform(const Endpoint& endpoint, Call& call, FaultyExchange& exchange);

  Service& service_;
  Faults faults_;
  Journal journal_;
  std::vector<std::string> names_;
  std::set<std::string, std::less<>> expired_;
};

}  // namespace berth::standins

#endif  // BERTH_TESTS_STANDINS_SERVER_FRONT_H_
