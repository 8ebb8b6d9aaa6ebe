// with_sandbox: the one way to a sandbox. Reserves an intent, creates, confirms, runs the body,
// cleans, confirms the cleaning, and releases with result and receipt.
#ifndef BERTH_CORE_LIFECYCLE_WITH_SANDBOX_H_
#define BERTH_CORE_LIFECYCLE_WITH_SANDBOX_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/accounting/billing.h"
#include "core/accounting/receipt.h"
#include "core/base/result.h"
#include "core/base/task.h"
#include "core/lifecycle/intent.h"
#include "core/lifecycle/provider.h"
#include "core/lifecycle/store.h"

namespace berth {

class Clock;
class InFlight;

// What one process works on at the moment. Services of the same provider in one process share one.
std::shared_ptr<InFlight> make_in_flight();

// The bounds of lifecycle rule 7.
struct LifecycleLimits {
  Duration application_deadline = std::chrono::minutes(5);  // everything, cleanup excepted
  Duration create_deadline = std::chrono::seconds(60);
  Duration cleanup_budget = std::chrono::seconds(30);
  Duration sandbox_lifetime = std::chrono::minutes(10);
};

// What a lifecycle works with; the caller owns all of it and keeps it alive until every
// with_sandbox has returned.
struct LifecycleServices {
  Store& store;
  Provider& provider;
  Clock& clock;
  HolderProbe& holders;
  Holder self;
  std::string host_tag;              // put on every resource
  const Billing* billing = nullptr;  // null: usage is recorded, nothing is debited
  Money price = Money::micros(50'000);
  LifecycleLimits limits = {};
  std::shared_ptr<InFlight> in_flight = make_in_flight();
};

struct SandboxRequest {
  CallKey key;
  std::string turn;  // empty: the call
  // The application that has selected this provider, in words that mean it for ever (its folder, say).
  // While it has an open intent with another provider, its new calls are refused. Empty: no selection.
  std::string application = {};
  std::string
      spec_canonical;  // canonical text of the whole request; its SHA-256 is the spec digest
  CreateSpec spec;
  Cancellation* cancellation = nullptr;
  std::function<void(std::string_view)> on_stage = {};  // progress for people; may be empty
  // Overrides limits.application_deadline when set.
  std::optional<Duration> deadline;
  // What must be waited for between reservation and dispatch (a worker to start, a slot to become
  // free); empty: nothing, and both are one commit. An error refuses the call.
  std::function<Task<Status>()> prepare = {};
};

// A confirmed sandbox as the body sees it. Operations share the call's cancellation and deadline.
// An answer that is not DONE taints the sandbox: further operations are REJECTED.
class Sandbox {
 public:
  virtual ~Sandbox() = default;
  virtual const ProviderIdentity& provider() const = 0;
  virtual Task<Answer<RunEnd>> run(Command command, OutputSink& output) = 0;
  virtual Task<Answer<Nothing>> put_file(PutFile file, InputSource& input) = 0;
  virtual Task<Answer<FileGot>> get_file(GetFile file, OutputSink& output) = 0;
  // Records how long a phase took, for the receipt ("install", "run", "collect").
  virtual void add_timing(std::string_view phase, Duration took) = 0;
};

// What the body makes of it.
struct BodyResult {
  enum class Kind {
    kCompleted,              // the program ran; its own failure included
    kInfrastructureFailure,  // transport failed or the output was invalid
  };
  Kind kind = Kind::kInfrastructureFailure;
  std::string document;  // the result document without receipt, at most 16 MiB; kept for replays
  std::string message;   // with kInfrastructureFailure: what happened
  std::optional<RunEnd> run_end;
};

using Body = std::function<Task<BodyResult>(Sandbox&)>;

// How a call ended.
struct CallEnd {
  enum class Status {
    kCompleted,
    kCancelled,
    kInfrastructureError,
    kRefused,  // nothing was allocated: conflict, unresolved earlier call, billing, create REJECTED
    kUncertain,  // a sandbox may exist; the intent is retained
  };
  Status status = Status::kRefused;
  bool replayed = false;
  std::optional<std::string> document;
  std::string message;  // for people, when not kCompleted
  std::optional<Error> error;
  std::optional<Receipt> receipt;  // absent when no intent was written
  std::string intent_name;
};

// One call, whole. Safe to run many at once on one loop. The body starts only after the
// confirmation is committed; the end is returned only after the release is committed, or with what
// is retained named.
Task<CallEnd> with_sandbox(LifecycleServices& services, SandboxRequest request, Body body);

}  // namespace berth

#endif  // BERTH_CORE_LIFECYCLE_WITH_SANDBOX_H_
