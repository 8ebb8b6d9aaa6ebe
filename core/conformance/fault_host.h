// FaultHost: the host that runs providers for real, with a fault between it and the provider's worker.
//
// The fault is a decorator of the channel, so it stands in front of any provider: a worker is killed
// while an operation of one slot is under way, an answer is lost on its way, or comes twice. The
// host's own rules decide what such an operation ended as.
#ifndef BERTH_CORE_CONFORMANCE_FAULT_HOST_H_
#define BERTH_CORE_CONFORMANCE_FAULT_HOST_H_

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/conformance/subject.h"
#include "core/plugin/hosted_provider.h"

namespace berth::conformance {

enum class Fault {
  kNone,
  kKill,         // the worker dies some time after the operation was sent to it
  kKillAtReply,  // the worker dies when its answer is there, and the answer is lost
  kDropReply,    // the answer is lost, and the worker lives
  kRepeatReply,  // the answer comes twice
};
std::string_view to_string(Fault fault);

struct FaultPlan {
  Fault fault = Fault::kNone;
  plugin::Slot slot = plugin::Slot::kCreate;
  Duration after{0};  // kKill: from the sending to the end
};

class FaultHost {
 public:
  // Loads and opens the provider; nothing is faulty yet.
  // `on_progress` is told what is about to be asked.
  static Result<std::unique_ptr<FaultHost>> start(const Subject& subject,
                                                  std::function<void(std::string_view)> on_progress);
  ~FaultHost();
  FaultHost(const FaultHost&) = delete;
  FaultHost& operator=(const FaultHost&) = delete;

  // For the operations that start from now on.
  void plan(FaultPlan plan) { *plan_ = plan; }
  // What the next operations may take; a short one is a fault of its own.
  void set_deadline(Duration deadline) { deadline_ = deadline; }

  Outcome create(const std::string& name, CreateSpec spec, std::string* ref = nullptr);
  Outcome lookup(const std::string& name);
  Outcome fence(const std::string& name);
  Outcome run(const std::string& ref, Command command);
  Outcome put_file(const std::string& ref, PutFile file, std::string bytes);
  Outcome get_file(const std::string& ref, GetFile file);
  Outcome destroy(const std::string& name);
  Outcome list_owned(const std::string& tag);

  // Ends the worker in order, or kills it.
  void close();
  void kill();

 private:
  explicit FaultHost(const Subject& subject) : subject_(subject) {}
  OperationContext context(std::string_view slot, std::string_view subject) const;
  template <class T>
  T finish(Task<T> task);

  const Subject& subject_;
  std::function<void(std::string_view)> on_progress_;
  std::shared_ptr<FaultPlan> plan_ = std::make_shared<FaultPlan>();
  Duration deadline_ = std::chrono::seconds(20);
  boost::asio::io_context loop_{1};
  std::shared_ptr<plugin::ProviderHost> host_;
  std::unique_ptr<plugin::HostedProvider> provider_;
};

}  // namespace berth::conformance

#endif  // BERTH_CORE_CONFORMANCE_FAULT_HOST_H_
