#include "core/conformance/exercise.h"

namespace berth::conformance {

Status exercise(Lab& lab) {
  constexpr int kRounds = 4;
  for (int round = 0; round < kRounds; ++round) {
    static_cast<void>(lab.probe());
    static_cast<void>(lab.scope());
  }
  const std::string name = lab.new_name();
  const Answer<Created> created = lab.create(name);
  const std::string& ref = created.value.ref;
  static_cast<void>(lab.lookup(name));
  static_cast<void>(lab.lookup(lab.new_name()));
  static_cast<void>(lab.list_owned(lab.owner_tag()));
  const std::string bytes = "exercise\n";
  static_cast<void>(lab.put_file(ref, {"/tmp/kit/exercise", 0644, bytes.size()}, bytes));
  static_cast<void>(lab.get_file(ref, {"/tmp/kit/exercise", 1 << 20}));
  static_cast<void>(lab.get_file(ref, {"/tmp/kit/missing", 1 << 20}));
  Command command;
  command.argv = {"python3", "-c", "print('exercise')"};
  static_cast<void>(lab.run(ref, std::move(command)));
  static_cast<void>(lab.destroy(name));
  static_cast<void>(lab.lookup(name));
  return {};
}

Status loader_finds_nothing(Lab& lab) {
  for (const registry::Findings* findings :
       {&lab.subject().image.inspection.findings, &lab.findings()})
    for (const registry::Finding& finding : *findings)
      if (finding.clause == lab.clause()) return violated(registry::to_sentence(finding));
  return {};
}

}  // namespace berth::conformance
