// What a reconciliation over several providers did, for people and for programs.
#ifndef BERTH_TOOLS_BERTH_RECONCILE_REPORT_H_
#define BERTH_TOOLS_BERTH_RECONCILE_REPORT_H_

#include <boost/json/object.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/lifecycle/reconcile.h"
#include "tools/berth/console.h"

namespace berth::cli {

struct ReconcileSummary {
  std::vector<ReconciledIntent> intents;
  std::vector<std::pair<std::string, StrayResource>> strays;  // by provider id
  std::vector<std::pair<std::string, Listed>> made_ahead;     // likewise
  std::vector<std::string> problems;

  // Takes what is this provider's: what it says of another's is that one's own to say.
  void add(const std::string& provider_id, ReconcileReport report);
  // True when nothing stays unresolved. What a living host works on is not unresolved.
  bool settled() const;
};

boost::json::object to_json(const ReconcileSummary& summary);
Exit print_text(Console& console, const ReconcileSummary& summary);

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_RECONCILE_REPORT_H_
