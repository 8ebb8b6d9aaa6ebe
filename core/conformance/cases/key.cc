// KEY: a name is the key to one sandbox.
#include "core/conformance/lab.h"

#include <fmt/format.h>

namespace berth::conformance {
namespace {

std::size_t count_of(const std::vector<Listed>& items, const std::string& name) {
  std::size_t count = 0;
  for (const Listed& item : items) count += item.name == name ? 1 : 0;
  return count;
}

Status same_name_same_sandbox(Lab& lab) {
  const std::string name = lab.new_name();
  BERTH_TRY(const Created first, lab.made(name));
  BERTH_TRY(const Created second, lab.made(name));
  if (first.ref != second.ref)
    return violated(fmt::format("two creates of one name gave the references {} and {}", first.ref,
                                second.ref));
  const auto listed = lab.list_owned(lab.owner_tag());
  if (!listed.outcome.done()) return violated(describe("list_owned", listed.outcome));
  if (listed.value.size() != 1)
    return violated(fmt::format("after two creates of one name {} sandboxes carry the tag, {} of "
                                "them under that name", listed.value.size(),
                                count_of(listed.value, name)));
  return lab.gone(name);
}

constexpr Case kCases[] = {
    {"KEY-001", "the-same-name-is-the-same-sandbox", "KEY-001", Profile::kSmoke, Start::kOpen,
     "Creates one name twice and expects one reference and one resource",
     &same_name_same_sandbox},
};

}  // namespace

CaseList key_cases() { return kCases; }

}  // namespace berth::conformance
