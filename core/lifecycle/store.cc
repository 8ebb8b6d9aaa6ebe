#include "core/lifecycle/store.h"

namespace berth {

Result<std::optional<std::uint64_t>> Transaction::revision_of(std::string_view name) {
  BERTH_TRY(const std::optional<Intent> stored, intent(name));
  if (!stored) return std::optional<std::uint64_t>();
  return std::optional(stored->revision);
}

Result<bool> Transaction::insert_new_intent(const Intent& wanted) {
  BERTH_TRY(const std::optional<Intent> same_call, intent_of_call(wanted.key));
  if (same_call) return false;
  BERTH_TRY(const std::optional<Intent> same_name, intent(wanted.name));
  if (same_name) return false;
  BERTH_CHECK_OK(insert_intent(wanted));
  return true;
}

Status Transaction::append_lines(std::string_view name, std::span<const JournalLine> lines) {
  for (const JournalLine& line : lines)
    BERTH_CHECK_OK(append_journal({std::string(name), line.from, line.to, std::string(line.event),
                                   std::string(line.evidence), line.at}));
  return {};
}

Result<std::optional<Intent>> Transaction::unresolved_in_other_scope(std::string_view provider_id,
                                                                     const Scope& scope) {
  IntentFilter filter;
  filter.provider_id = provider_id;
  filter.unresolved_only = true;
  for (;;) {
    BERTH_TRY(std::vector<Intent> page, intents(filter));
    for (Intent& intent : page) {
      if (intent.scope != scope) return std::move(intent);
    }
    if (page.size() < filter.count_max) return std::optional<Intent>();
    filter.after_name = page.back().name;
  }
}

std::string HolderProbe::describe(const Holder& holder) const { return "host " + holder.host_id; }

void HolderProbe::leave_word(std::string_view, std::string_view) {}

std::optional<std::string> HolderProbe::left_word(std::string_view) const { return std::nullopt; }

std::vector<std::string> HolderProbe::intents_with_words() const { return {}; }

void HolderProbe::drop_word(std::string_view) {}

}  // namespace berth
