#include "core/lifecycle/store.h"

namespace berth {

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

}  // namespace berth
