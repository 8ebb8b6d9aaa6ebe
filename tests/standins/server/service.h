// Service: what is particular to one service. The front asks it for its endpoints and calls them.
#ifndef BERTH_TESTS_STANDINS_SERVER_SERVICE_H_
#define BERTH_TESTS_STANDINS_SERVER_SERVICE_H_

#include <boost/json/object.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/standins/server/faults.h"
#include "tests/standins/server/http.h"
#include "tests/standins/server/machines.h"

namespace berth::standins {

// One call of an endpoint. Borrowed for the call.
struct Call {
  Exchange& exchange;
  const Request& request;
  std::vector<std::string> parameters;  // of the path, in order
  const std::vector<Fault>& faults;

  const Fault* fault(Fault::Kind kind) const { return find(faults, kind); }
};

struct Endpoint {
  std::string name;  // "POST /sandbox/{id}/start": a line of endpoints.txt
  // It answers through the call's exchange, exactly once.
  std::function<Task<void>(Call&)> run;
};

class Service {
 public:
  virtual ~Service() = default;

  virtual const std::vector<Endpoint>& endpoints() const = 0;
  // Takes off what comes before the paths that endpoints name, or says that this is no path of the service.
  virtual bool strip(std::vector<std::string>* path) const = 0;
  // Whether the request needs no token, because its address is signed.
  virtual bool is_signed(const Request&) const { return false; }
  virtual Response refusal(const Request& request, int status, std::string message) const = 0;
  // Called before the first request.
  virtual void listens_at(std::uint16_t port) = 0;
  // How long a minute is here, for a service that counts in them.
  virtual void minute_lasts(std::chrono::milliseconds) {}

  // What there is, for tests that count.
  virtual boost::json::object state() const = 0;
  // Every sandbox ends.
  virtual Task<void> close() = 0;
};

// An endpoint that gives back its answer.
template <class Fn>
Endpoint answering(std::string name, Fn fn) {
  return {std::move(name), [fn = std::move(fn)](Call& call) -> Task<void> {
            Response response = co_await fn(call);
            co_await call.exchange.answer(std::move(response));
          }};
}

std::unique_ptr<Service> make_daytona(Machines& machines);
std::unique_ptr<Service> make_vercel(Machines& machines);

}  // namespace berth::standins

#endif  // BERTH_TESTS_STANDINS_SERVER_SERVICE_H_
