// What one operation asks and answers, in host types: the same whether the provider's table is
// called in this process or in a worker.
#ifndef BERTH_CORE_PLUGIN_REQUEST_H_
#define BERTH_CORE_PLUGIN_REQUEST_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/lifecycle/provider.h"

namespace berth::plugin {

// The provider table's slots that take an operation, in the table's order.
enum class Slot : std::uint8_t {
  kOpen,
  kProbe,
  kScope,
  kCreate,
  kLookup,
  kFence,
  kRun,
  kPutFile,
  kGetFile,
  kDestroy,
  kListOwned,
  kShutdown,
};
inline constexpr std::uint8_t kSlotCount = 12;
std::string_view to_string(Slot slot);

struct OpenSpec {
  std::string config_json;
  std::string state_dir;
  std::string owner_tag;
};

struct CreateCall {
  std::string name;
  CreateSpec spec;
};
struct NameCall {  // lookup, fence
  std::string name;
};
struct RunCall {
  std::string ref;
  Command command;  // its `input` says only whether there is any
};
struct PutFileCall {
  std::string ref;
  PutFile file;
};
struct GetFileCall {
  std::string ref;
  GetFile file;
};
struct DestroyCall {
  std::string name;
  std::string ref;
};
struct ListCall {
  std::string owner_tag;
  std::string cursor;
};

// std::monostate for probe, scope and shutdown.
using Arguments = std::variant<std::monostate, OpenSpec, CreateCall, NameCall, RunCall, PutFileCall,
                               GetFileCall, DestroyCall, ListCall>;

struct Request {
  Slot slot = Slot::kProbe;
  Instant deadline;
  bool has_input = false;
  Arguments arguments;
};
// The sandbox's name where the slot has one, else its reference, else empty.
std::string_view subject_of(const Request& request);

struct ListPage {
  std::vector<Listed> items;
  std::string next_cursor;  // empty: this is all there is
};

using ReplyValue = std::variant<std::monostate, ProbeReport, Scope, Created, Found, RunEnd, FileGot,
                                Destroyed, ListPage>;

// The value has the slot's type exactly when the outcome is DONE and the slot has one.
struct Reply {
  Outcome outcome;
  ReplyValue value;
};

Reply reply_of(OutcomeClass outcome_class, OutcomeCode code, std::string message);

// The bounds of the data flow between a provider and its host, per operation.
inline constexpr std::uint64_t kOutputWindowBytes = 262144;  // sent but not yet taken by the reader
inline constexpr std::uint64_t kOutputOverrunBytes = 262144;  // taken of one who ignores PAUSE
inline constexpr std::uint64_t kInputWindowBytes = 262144;   // supplied but not yet fetched
inline constexpr std::size_t kTransferBytesMax = 65536;      // in one piece, as in the ABI

using OpId = std::uint64_t;

}  // namespace berth::plugin

#endif  // BERTH_CORE_PLUGIN_REQUEST_H_
