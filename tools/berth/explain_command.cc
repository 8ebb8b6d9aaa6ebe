// berth provider explain: the contract's clauses in words, as refusals and reports cite them.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "core/registry/clauses.h"
#include "tools/berth/case_names.h"
#include "tools/berth/commands.h"
#include "tools/berth/table.h"

namespace berth::cli {
namespace {

using registry::Clause;

boost::json::object to_json(const Clause& clause) {
  boost::json::object document;
  document["clause"] = clause.id;
  document["text"] = clause.text;
  document["why"] = clause.why;
  document["enforced_by"] = clause.enforced_by;
  document["remedy"] = clause.remedy;
  return document;
}

Exit list_clauses(Context& context) {
  if (context.common.json) {
    boost::json::array all;
    for (const Clause& clause : registry::clauses()) all.push_back(to_json(clause));
    boost::json::object document;
    document["clauses"] = std::move(all);
    return print_json(context.console, std::move(document));
  }
  Table table({"CLAUSE", "ENFORCED BY", "TEXT"});
  for (const Clause& clause : registry::clauses()) {
    table.add({clause.id, clause.enforced_by, clause.text});
  }
  return context.console.print(table.take());
}

}  // namespace

Task<int> explain_clause(Context& context, ProviderExplainOptions options) {
  if (options.clause.empty()) co_return to_int(list_clauses(context));
  const Clause* clause = registry::find_clause(as_id(options.clause));
  if (clause == nullptr) {
    const std::string sentence =
        fmt::format("the contract has no clause '{}'{}; 'berth provider explain' lists them all",
                    printable(options.clause.substr(0, 64)), near_ids(options.clause, Among::kClauses));
    co_return report(context, Failure{Exit::kInput, Error(ErrorKind::kNotFound, sentence)});
  }
  if (context.common.json) co_return to_int(print_json(context.console, to_json(*clause)));
  co_return to_int(context.console.print(registry::explain(*clause)));
}

}  // namespace berth::cli
