#include "tools/berth/reconcile_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>

#include "core/base/time.h"

namespace berth::cli {
namespace {

using Settling = ReconciledIntent::Result;

std::string_view to_string(SandboxState state) {
  switch (state) {
    case SandboxState::kUnknown: return "unknown";
    case SandboxState::kStarting: return "starting";
    case SandboxState::kReady: return "ready";
    case SandboxState::kStopped: return "stopped";
    case SandboxState::kBroken: return "broken";
  }
  return "";
}

std::string describe(const ReconciledIntent& intent) {
  return fmt::format("{}  {}  ({} of {}/{}, was {})\n    {}\n", intent.name,
                     to_string(intent.result), intent.key.call, intent.key.owner,
                     intent.key.session, berth::to_string(intent.before), intent.detail);
}

std::string describe(const std::string& provider_id, const StrayResource& stray) {
  return fmt::format(
      "{}  {} at provider '{}' ({}){}\n", stray.listed.name.empty() ? "(no name)" : stray.listed.name,
      stray.released ? "is there, though its call is released," : "is there, and no record knows it,",
      provider_id, to_string(stray.listed.state),
      stray.listed.holder.empty() ? "" : ", held by " + stray.listed.holder);
}

std::string describe(const std::string& provider_id, const Listed& ahead) {
  return fmt::format("{}  waits ready at provider '{}' ({}), held by {}\n", ahead.ref, provider_id,
                     to_string(ahead.state), ahead.holder);
}

}  // namespace

void ReconcileSummary::add(const std::string& provider_id, ReconcileReport report) {
  for (ReconciledIntent& intent : report.intents) {
    if (intent.provider_id == provider_id) intents.push_back(std::move(intent));
  }
  for (StrayResource& stray : report.strays) strays.emplace_back(provider_id, std::move(stray));
  for (Listed& ahead : report.made_ahead) made_ahead.emplace_back(provider_id, std::move(ahead));
  if (!report.sweep_error.empty()) problems.push_back(std::move(report.sweep_error));
}

bool ReconcileSummary::settled() const {
  const bool open = std::any_of(intents.begin(), intents.end(), [](const ReconciledIntent& intent) {
    return intent.result != Settling::kReleased && intent.result != Settling::kHeld;
  });
  return !open && strays.empty() && problems.empty();
}

boost::json::object to_json(const ReconcileSummary& summary) {
  boost::json::array intents;
  for (const ReconciledIntent& intent : summary.intents) {
    boost::json::object item;
    item["name"] = intent.name;
    item["owner"] = intent.key.owner;
    item["session"] = intent.key.session;
    item["call"] = intent.key.call;
    item["provider"] = intent.provider_id;
    item["before"] = berth::to_string(intent.before);
    item["after"] = berth::to_string(intent.after);
    item["result"] = to_string(intent.result);
    item["detail"] = intent.detail;
    intents.push_back(std::move(item));
  }
  boost::json::array strays;
  for (const auto& [provider_id, stray] : summary.strays) {
    boost::json::object item;
    item["provider"] = provider_id;
    item["name"] = stray.listed.name;
    item["ref"] = stray.listed.ref;
    item["holder"] = stray.listed.holder;
    item["state"] = to_string(stray.listed.state);
    item["released"] = stray.released;
    strays.push_back(std::move(item));
  }
  boost::json::array made_ahead;
  for (const auto& [provider_id, ahead] : summary.made_ahead) {
    boost::json::object item;
    item["provider"] = provider_id;
    item["ref"] = ahead.ref;
    item["holder"] = ahead.holder;
    item["state"] = to_string(ahead.state);
    made_ahead.push_back(std::move(item));
  }
  boost::json::object document;
  document["settled"] = summary.settled();
  document["intents"] = std::move(intents);
  document["unknown_resources"] = std::move(strays);
  document["made_ahead"] = std::move(made_ahead);
  document["problems"] = boost::json::array(summary.problems.begin(), summary.problems.end());
  return document;
}

Exit print_text(Console& console, const ReconcileSummary& summary) {
  std::string text;
  for (const ReconciledIntent& intent : summary.intents) text += describe(intent);
  for (const auto& [provider_id, stray] : summary.strays) text += describe(provider_id, stray);
  const bool nothing = text.empty();
  for (const auto& [provider_id, ahead] : summary.made_ahead) text += describe(provider_id, ahead);
  const Exit printed = text.empty() ? Exit::kSuccess : console.print(printable(text));
  for (const std::string& problem : summary.problems) console.error(problem);
  if (nothing && summary.problems.empty()) console.note("nothing to settle");
  return printed;
}

}  // namespace berth::cli
