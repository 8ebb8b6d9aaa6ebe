// berth intents: the durable record of each call's sandbox.
#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/base/time.h"
#include "tools/berth/commands.h"
#include "tools/berth/record_source.h"
#include "tools/berth/records.h"
#include "tools/berth/table.h"

namespace berth::cli {
namespace {

constexpr std::uint32_t kCountDefault = 1000;

std::string describe(const Intent& intent, const std::vector<JournalEntry>& journal) {
  std::string text;
  const auto line = [&text](std::string_view name, std::string_view value) {
    if (!value.empty()) text += fmt::format("{:<12}{}\n", name, printable(value));
  };
  line("name", intent.name);
  line("state", to_string(intent.state));
  line("owner", intent.key.owner);
  line("session", intent.key.session);
  line("call", intent.key.call);
  line("turn", intent.turn);
  line("provider", fmt::format("{} {}", intent.provider_id, intent.provider_version));
  line("digest", intent.provider_digest);
  for (const auto& [field, value] : intent.scope) line("scope", fmt::format("{} = {}", field, value));
  line("reference", intent.ref);
  line("made", to_rfc3339(intent.created_at));
  line("changed", to_rfc3339(intent.updated_at));
  line("stage", intent.last_stage);
  line("error", intent.last_error);
  line("result", intent.result ? "recorded" : intent.result_expired ? "expired" : "none");
  text += "\n";
  Table table({"WHEN", "EVENT", "FROM", "TO", "EVIDENCE"});
  for (const JournalEntry& entry : journal) {
    table.add({to_rfc3339(entry.at), entry.event, std::string(to_string(entry.from)),
               std::string(to_string(entry.to)), entry.evidence});
  }
  return text + table.take();
}

Task<int> show_one(Context& context, Store& store, const std::string& name) {
  IntentFilter filter;
  filter.name = name;
  filter.count_max = 1;
  auto intents = co_await read_intents(store, std::move(filter));
  if (!intents) co_return report(context, {Exit::kState, intents.error()});
  if (intents->empty()) {
    co_return report(context, {Exit::kInput, Error(ErrorKind::kNotFound,
                                                   fmt::format("there is no intent '{}'", name))});
  }
  auto journal = co_await read_journal(store, name);
  if (!journal) co_return report(context, {Exit::kState, journal.error()});
  const Intent& intent = intents->front();
  if (!context.common.json) co_return to_int(context.console.print(describe(intent, *journal)));
  boost::json::array entries;
  for (const JournalEntry& entry : *journal) entries.push_back(cli::to_json(entry));
  boost::json::object document = cli::to_json(intent);
  document["journal"] = std::move(entries);
  co_return to_int(print_json(context.console, std::move(document)));
}

Task<int> show_all(Context& context, Store& store, const IntentsOptions& options) {
  IntentFilter filter;
  filter.owner = options.owner;
  filter.session = options.session;
  filter.provider_id = options.provider;
  filter.unresolved_only = options.unresolved;
  const std::size_t count_max = options.count_max == 0 ? kCountDefault : options.count_max;
  filter.count_max = count_max + 1;  // whether there are more
  filter.newest = true;
  auto intents = co_await read_intents(store, filter);
  if (!intents) co_return report(context, {Exit::kState, intents.error()});
  if (intents->size() > count_max) {
    intents->erase(intents->begin());
    context.console.note(fmt::format("these are the newest {}; --limit shows more", count_max));
  }
  Exit printed = Exit::kSuccess;
  if (context.common.json) {
    boost::json::array items;
    for (const Intent& intent : *intents) items.push_back(cli::to_json(intent));
    printed = print_json(context.console, boost::json::object{{"intents", std::move(items)}});
  } else if (intents->empty()) {
    context.console.note(options.unresolved ? "nothing is unresolved" : "there are no such intents");
  } else {
    Table table({"NAME", "STATE", "OWNER", "SESSION", "CALL", "PROVIDER", "CHANGED", "ERROR"});
    for (const Intent& intent : *intents) {
      table.add({intent.name, std::string(to_string(intent.state)), intent.key.owner,
                 intent.key.session, intent.key.call, intent.provider_id,
                 to_rfc3339(intent.updated_at), intent.last_error});
    }
    printed = context.console.print(table.take());
  }
  if (printed != Exit::kSuccess) co_return to_int(printed);
  co_return to_int(options.unresolved && !intents->empty() ? Exit::kFinding : Exit::kSuccess);
}

}  // namespace

Task<int> show_intents(Context& context, IntentsOptions options) {
  auto records = RecordSource::open(context);
  if (!records) co_return report(context, records.error());
  Store& store = (*records)->store();
  const int exit = options.name.empty() ? co_await show_all(context, store, options)
                                        : co_await show_one(context, store, options.name);
  co_await (*records)->close();
  co_return exit;
}

}  // namespace berth::cli
