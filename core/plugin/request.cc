#include "core/plugin/request.h"

namespace berth::plugin {

std::string_view to_string(Slot slot) {
  switch (slot) {
    case Slot::kOpen: return "open";
    case Slot::kProbe: return "probe";
    case Slot::kScope: return "scope";
    case Slot::kCreate: return "create";
    case Slot::kLookup: return "lookup";
    case Slot::kFence: return "fence";
    case Slot::kRun: return "run";
    case Slot::kPutFile: return "put_file";
    case Slot::kGetFile: return "get_file";
    case Slot::kDestroy: return "destroy";
    case Slot::kListOwned: return "list_owned";
    case Slot::kShutdown: return "shutdown";
  }
  return "unknown";
}

std::string_view subject_of(const Request& request) {
  struct Subject {
    std::string_view operator()(const std::monostate&) const { return {}; }
    std::string_view operator()(const OpenSpec&) const { return {}; }
    std::string_view operator()(const CreateCall& call) const { return call.name; }
    std::string_view operator()(const NameCall& call) const { return call.name; }
    std::string_view operator()(const RunCall& call) const { return call.ref; }
    std::string_view operator()(const PutFileCall& call) const { return call.ref; }
    std::string_view operator()(const GetFileCall& call) const { return call.ref; }
    std::string_view operator()(const DestroyCall& call) const { return call.name; }
    std::string_view operator()(const ListCall&) const { return {}; }
  };
  return std::visit(Subject{}, request.arguments);
}

Reply reply_of(OutcomeClass outcome_class, OutcomeCode code, std::string message) {
  return {Outcome::make(outcome_class, code, std::move(message)), {}};
}

}  // namespace berth::plugin
