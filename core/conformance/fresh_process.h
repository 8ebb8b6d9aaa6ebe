// FreshProcess: the same provider in a worker process of its own, the way hosts use it.
//
// It knows nothing but the provider's state folder and what it is asked: what a case finds out
// here, a host finds out that starts after a crash. Synchronous: every method runs a loop of its own
// until the answer is there.
#ifndef BERTH_CORE_CONFORMANCE_FRESH_PROCESS_H_
#define BERTH_CORE_CONFORMANCE_FRESH_PROCESS_H_

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/conformance/subject.h"
#include "core/plugin/load.h"

namespace berth::conformance {

class FreshProcess {
 public:
  static Result<std::unique_ptr<FreshProcess>> start(const Subject& subject);
  ~FreshProcess();
  FreshProcess(const FreshProcess&) = delete;
  FreshProcess& operator=(const FreshProcess&) = delete;

  Answer<Created> create(std::string name, CreateSpec spec);
  Answer<Found> lookup(std::string name);
  Answer<Found> fence(std::string name);
  Answer<Destroyed> destroy(std::string name, std::string ref = {});
  Answer<std::vector<Listed>> list_owned(std::string owner_tag);

  const Scope& scope() const { return loaded_->scope(); }
  // SIGKILL to its worker, as a crash would end it.
  void kill();
  // In order: shutdown, then the end of the worker.
  void close();

 private:
  explicit FreshProcess(const Subject& subject) : subject_(subject) {}
  OperationContext context() const;

  template <class T>
  T finish(Task<T> task) {
    std::optional<T> value;
    boost::asio::co_spawn(loop_, std::move(task), [&value](std::exception_ptr thrown, T result) {
      if (thrown) std::rethrow_exception(thrown);
      value.emplace(std::move(result));
    });
    loop_.restart();
    while (!value && loop_.run_one() > 0) {
    }
    return std::move(*value);
  }

  const Subject& subject_;
  boost::asio::io_context loop_{1};
  std::unique_ptr<plugin::LoadedProvider> loaded_;
};

}  // namespace berth::conformance

#endif  // BERTH_CORE_CONFORMANCE_FRESH_PROCESS_H_
