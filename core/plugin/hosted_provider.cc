#include "core/plugin/hosted_provider.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sdk/include/berth/abi.h"

namespace berth::plugin {
namespace {

std::string name_fault(std::string_view name) {
  const bool good = !name.empty() && name.size() <= BERTH_NAME_MAX_BYTES &&
                    std::all_of(name.begin(), name.end(), [](char c) {
                      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
                    });
  if (good) return {};
  return fmt::format("a sandbox name must have 1 to {} characters of a-z, 0-9 and -",
                     BERTH_NAME_MAX_BYTES);
}

std::string ref_fault(std::string_view ref, bool may_be_empty) {
  if (ref.empty() && !may_be_empty) return "the sandbox's reference is empty";
  if (ref.size() > BERTH_REF_MAX_BYTES)
    return fmt::format("a reference has at most {} bytes", BERTH_REF_MAX_BYTES);
  return {};
}

std::string path_fault(std::string_view path) {
  if (path.empty() || path[0] != '/' || path.size() > BERTH_PATH_MAX_BYTES ||
      path.find('\0') != std::string_view::npos)
    return fmt::format("a path in a sandbox is absolute and has at most {} bytes",
                       BERTH_PATH_MAX_BYTES);
  return {};
}

std::string pairs_fault(const Environment& pairs) {
  if (pairs.size() > BERTH_LIST_MAX_ITEMS)
    return fmt::format("an environment has at most {} variables", BERTH_LIST_MAX_ITEMS);
  for (const auto& [key, value] : pairs)
    if (key.empty() || key.find('=') != std::string::npos || key.size() > BERTH_ARGV_MAX_BYTES ||
        value.size() > BERTH_ARGV_MAX_BYTES)
      return "the name or value of an environment variable is not usable";
  return {};
}

struct Fault {
  std::string operator()(const std::monostate&) const { return {}; }
  std::string operator()(const OpenSpec&) const { return {}; }
  std::string operator()(const CreateCall& call) const {
    std::string fault = name_fault(call.name);
    return fault.empty() ? pairs_fault(call.spec.env) : fault;
  }
  std::string operator()(const NameCall& call) const { return name_fault(call.name); }
  std::string operator()(const RunCall& call) const {
    if (call.command.argv.empty() || call.command.argv.size() > BERTH_LIST_MAX_ITEMS)
      return fmt::format("a command has 1 to {} arguments", BERTH_LIST_MAX_ITEMS);
    for (const std::string& argument : call.command.argv)
      if (argument.size() > BERTH_ARGV_MAX_BYTES)
        return fmt::format("an argument has at most {} bytes", BERTH_ARGV_MAX_BYTES);
    std::string fault = ref_fault(call.ref, false);
    return fault.empty() ? pairs_fault(call.command.env) : fault;
  }
  std::string operator()(const PutFileCall& call) const {
    std::string fault = ref_fault(call.ref, false);
    return fault.empty() ? path_fault(call.file.path) : fault;
  }
  std::string operator()(const GetFileCall& call) const {
    std::string fault = ref_fault(call.ref, false);
    return fault.empty() ? path_fault(call.file.path) : fault;
  }
  std::string operator()(const DestroyCall& call) const {
    std::string fault = name_fault(call.name);
    return fault.empty() ? ref_fault(call.ref, true) : fault;
  }
  std::string operator()(const ListCall&) const { return {}; }
};

}  // namespace

std::string argument_fault(const Arguments& arguments) { return std::visit(Fault{}, arguments); }

template <class T>
Task<Answer<T>> HostedProvider::call(OperationContext context, Slot slot, Arguments arguments,
                                     OutputSink* output, InputSource* input) {
  Answer<T> answer;
  if (std::string fault = argument_fault(arguments); !fault.empty()) {
    answer.outcome = Outcome::make(OutcomeClass::kRejected, OutcomeCode::kHostUnsent,
                                   fmt::format("{} was not sent: {}", to_string(slot), fault));
    co_return answer;
  }
  Request request;
  request.slot = slot;
  request.arguments = std::move(arguments);
  Reply reply = co_await host_->perform(std::move(context), std::move(request), output, input);
  answer.outcome = std::move(reply.outcome);
  if constexpr (!std::is_same_v<T, Nothing>)
    if (auto* value = std::get_if<T>(&reply.value)) answer.value = std::move(*value);
  co_return answer;
}

Task<Answer<ProbeReport>> HostedProvider::probe(OperationContext context) {
  return call<ProbeReport>(std::move(context), Slot::kProbe, std::monostate{});
}

Task<Answer<Scope>> HostedProvider::scope(OperationContext context) {
  return call<Scope>(std::move(context), Slot::kScope, std::monostate{});
}

Task<Answer<Created>> HostedProvider::create(OperationContext context, std::string name,
                                             CreateSpec spec) {
  return call<Created>(std::move(context), Slot::kCreate,
                       CreateCall{std::move(name), std::move(spec)});
}

Task<Answer<Found>> HostedProvider::lookup(OperationContext context, std::string name) {
  return call<Found>(std::move(context), Slot::kLookup, NameCall{std::move(name)});
}

Task<Answer<Found>> HostedProvider::fence(OperationContext context, std::string name) {
  if (identity_.recovery == Recovery::kManual) {
    Answer<Found> answer;
    answer.outcome = Outcome::make(
        OutcomeClass::kRejected, OutcomeCode::kUnsupported,
        fmt::format("provider {} cannot fence: its manifest says recovery manual", identity_.id));
    co_return answer;
  }
  NameCall wanted{std::move(name)};
  co_return co_await call<Found>(std::move(context), Slot::kFence, std::move(wanted));
}

Task<Answer<RunEnd>> HostedProvider::run(OperationContext context, std::string ref,
                                         Command command, OutputSink& output) {
  InputSource* input = command.input;
  return call<RunEnd>(std::move(context), Slot::kRun, RunCall{std::move(ref), std::move(command)},
                      &output, input);
}

Task<Answer<Nothing>> HostedProvider::put_file(OperationContext context, std::string ref,
                                               PutFile file, InputSource& input) {
  return call<Nothing>(std::move(context), Slot::kPutFile,
                       PutFileCall{std::move(ref), std::move(file)}, nullptr, &input);
}

Task<Answer<FileGot>> HostedProvider::get_file(OperationContext context, std::string ref,
                                               GetFile file, OutputSink& output) {
  return call<FileGot>(std::move(context), Slot::kGetFile,
                       GetFileCall{std::move(ref), std::move(file)}, &output);
}

Task<Answer<Destroyed>> HostedProvider::destroy(OperationContext context, std::string name,
                                                std::string ref) {
  return call<Destroyed>(std::move(context), Slot::kDestroy,
                         DestroyCall{std::move(name), std::move(ref)});
}

Task<Answer<std::vector<Listed>>> HostedProvider::list_owned(OperationContext context,
                                                             std::string owner_tag) {
  Answer<std::vector<Listed>> answer;
  std::set<std::string> cursors;
  std::string cursor;
  for (;;) {
    ListCall wanted{owner_tag, cursor};
    Answer<ListPage> page =
        co_await call<ListPage>(context, Slot::kListOwned, std::move(wanted));
    answer.outcome = std::move(page.outcome);
    if (!answer.outcome.done()) {
      answer.value.clear();
      co_return answer;
    }
    std::move(page.value.items.begin(), page.value.items.end(), std::back_inserter(answer.value));
    cursor = std::move(page.value.next_cursor);
    if (cursor.empty()) co_return answer;
    const bool again = !cursors.insert(cursor).second;
    if (again || answer.value.size() > BERTH_LIST_MAX_ITEMS || cursors.size() > BERTH_LIST_MAX_ITEMS) {
      answer.value.clear();
      answer.outcome = Outcome::make(
          OutcomeClass::kUncertain, OutcomeCode::kHostBadReply,
          again ? std::string("list_owned gave the same cursor twice and would never end")
                : fmt::format("list_owned gave more than {} items", BERTH_LIST_MAX_ITEMS));
      co_return answer;
    }
  }
}

}  // namespace berth::plugin
