// Runs every attack of the table twice: in a sandbox with all its layers, where each attempt has to answer
// as the table says, and in one without the layers that stop it, where it has to succeed.
#include <gtest/gtest.h>

#include <fstream>
#include <iostream>
#include <set>
#include <sstream>

#include "table.h"

namespace berth::attack {
namespace {

// Made once; sandboxes with the same layers are shared by the probes that leave them working.
class Stage {
 public:
  static World& world() {
    static World world;
    return world;
  }
  static Scene& scene(std::uint32_t left_out) {
    std::unique_ptr<Scene>& found = scenes()[left_out];
    if (!found) found = std::make_unique<Scene>(world(), left_out);
    return *found;
  }
  static void forget(std::uint32_t left_out) { scenes().erase(left_out); }
  static Scene& template_scene() {
    if (!forked()) forked() = std::make_unique<Scene>(world(), 0, local::StartupChoice::kTemplate);
    return *forked();
  }
  static void close() {
    scenes().clear();
    forked().reset();
  }

 private:
  static std::unique_ptr<Scene>& forked() {
    static std::unique_ptr<Scene> scene;
    return scene;
  }
  static std::map<std::uint32_t, std::unique_ptr<Scene>>& scenes() {
    static std::map<std::uint32_t, std::unique_ptr<Scene>> scenes;
    return scenes;
  }
};

std::string said_by(const Probe& probe, Scene& scene) {
  return probe.scene != nullptr ? probe.scene(scene) : scene.run(probe.program);
}

std::string answer_to(const Attempt& attempt, const std::string& said) {
  const auto all = answers(said);
  const auto found = all.find(attempt.what);
  return found == all.end() ? "(nothing)" : found->second;
}

class Attack : public ::testing::TestWithParam<std::size_t> {
 public:
  static void TearDownTestSuite() { Stage::close(); }

 protected:
  const Probe& probe() const { return probes()[GetParam()]; }
};

// True when this kernel's Landlock has no such rule, which is said.
bool lacks_rule(const Probe& probe, Scene& scene) {
  const std::uint32_t level = scene.machine().allocations().layers().landlock_level;
  if (level >= probe.least_landlock) return false;
  std::cout << "[  ABSENT  ] " << probe.number << " " << probe.title << ": this kernel's Landlock is of level "
            << level << " and has no such rule\n";
  return true;
}

// Why the twin does not run here, or nothing.
std::string no_twin_here(const Probe& probe) {
  switch (probe.twin) {
    case Twin::kRuns: return "";
    case Twin::kTakesRoot:
      return geteuid() == 0 ? "" : "an ordinary user may not do this to the host in the first place";
    case Twin::kTakesIdentity:
      return geteuid() == 0 ? "" : "it would reach the processes of whoever runs the tests";
    case Twin::kTakesOwnNetwork:
      return Stage::world().own_network() ? "" : "packets would leave the machine; run the tests as root";
    case Twin::kNever: return probe.reason;
  }
  return "";
}

// True when the machine by itself has not what is attempted, which the same answer without the layers shows:
// a kernel without the 32-bit calls refuses them before any filter sees them.
bool machine_lacks(const Probe& probe, const Attempt& attempt, const std::string& answer) {
  if (attempt.absent == kUsuallyAbsent || !is_one_of(answer, attempt.absent)) return false;
  if (!no_twin_here(probe).empty()) return false;
  const std::uint32_t left_out = probe.without | probe.stopped_by;
  Scene& bare = Stage::scene(left_out);
  const bool same = answer_to(attempt, said_by(probe, bare)) == answer;
  if (!bare.works()) Stage::forget(left_out);
  if (same)
    std::cout << "[  ABSENT  ] " << probe.number << " " << attempt.what << ": this machine answers "
              << answer << " by itself\n";
  return same;
}

void expect_held(const Probe& probe, const std::string& said) {
  for (const Attempt& attempt : probe.attempts) {
    const std::string answer = answer_to(attempt, said);
    EXPECT_TRUE(is_one_of(answer, attempt.held) || machine_lacks(probe, attempt, answer))
        << attempt.what << " answers " << answer << ", not " << attempt.held << "\n" << said;
  }
}

TEST_P(Attack, FailsAsTheTableSaysAndLeavesSandboxAndHostAsTheyWere) {
  Scene& scene = Stage::scene(probe().without);
  if (lacks_rule(probe(), scene)) return;
  const std::string before = Stage::world().fingerprint();
  const std::string said = said_by(probe(), scene);
  EXPECT_TRUE(scene.works());
  EXPECT_EQ(Stage::world().fingerprint(), before);
  expect_held(probe(), said);
}

// The same in a sandbox that was forked from a template, by a program that was the interpreter forked with
// it: it has every wall that a program of any other sandbox has.
TEST_P(Attack, FailsInASandboxForkedFromATemplateToo) {
  Scene& scene = Stage::template_scene();
  if (probe().without != 0) return;  // layers seen alone are seen above
  scene.renew();
  ASSERT_EQ(scene.sandbox().startup(), local::Startup::kTemplate)
      << scene.machine().allocations().pool().describe();
  const std::string said = said_by(probe(), scene);
  if (probe().program != nullptr) {
    EXPECT_EQ(scene.sandbox().forked_runs(), 1u);
  }
  EXPECT_TRUE(scene.works());
  expect_held(probe(), said);
}

TEST_P(Attack, SucceedsWithoutTheLayersThatStopIt) {
  const std::string reason = no_twin_here(probe());
  if (!reason.empty()) {
    std::cout << "[  NO TWIN ] " << probe().number << " " << probe().title << ": " << reason << "\n";
    return;
  }
  const std::uint32_t left_out = probe().without | probe().stopped_by;
  Scene& scene = Stage::scene(left_out);
  if (lacks_rule(probe(), scene)) return;
  const std::string said = said_by(probe(), scene);
  int succeeded = 0;
  bool all_may_be_absent = true;
  for (const Attempt& attempt : probe().attempts) {
    if (attempt.succeeds == nullptr) continue;
    all_may_be_absent = all_may_be_absent && attempt.absent != kUsuallyAbsent;
    const std::string answer = answer_to(attempt, said);
    if (is_one_of(answer, attempt.succeeds)) {
      ++succeeded;
    } else if (is_one_of(answer, attempt.absent)) {
      std::cout << "[  ABSENT  ] " << probe().number << " " << attempt.what
                << ": this machine answers " << answer << " by itself\n";
    } else {
      ADD_FAILURE() << attempt.what << " answers " << answer << ", not " << attempt.succeeds << "\n" << said;
    }
  }
  EXPECT_TRUE(succeeded > 0 || all_may_be_absent) << said;
  if (!scene.works()) Stage::forget(left_out);
}

std::string test_name(const ::testing::TestParamInfo<std::size_t>& info) {
  std::string name = std::to_string(probes()[info.param].number) + "_" + probes()[info.param].title;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Probe, Attack, ::testing::Range(std::size_t{0}, probes().size()), test_name);

TEST(AttackTable, HasEveryNumberFrom1To44AndALayerOrAReasonForEach) {
  std::set<int> numbers;
  for (const Probe& probe : probes()) {
    numbers.insert(probe.number);
    EXPECT_FALSE(probe.attempts.empty()) << probe.title;
    EXPECT_NE(probe.program == nullptr, probe.scene == nullptr) << probe.title;
    const bool proven = std::any_of(probe.attempts.begin(), probe.attempts.end(),
                                    [](const Attempt& attempt) { return attempt.succeeds != nullptr; });
    EXPECT_TRUE(probe.twin == Twin::kNever ? probe.reason != nullptr : proven && probe.stopped_by != 0)
        << probe.title;
  }
#if !defined(__x86_64__)
  numbers.insert(16);  // the other calling conventions of that processor
#endif
  EXPECT_EQ(numbers.size(), 44u);
  EXPECT_EQ(*numbers.begin(), 1);
  EXPECT_EQ(*numbers.rbegin(), 44);
}

#if defined(__x86_64__)
TEST(AttackTable, OfTheReadmeIsTheOneInTheCode) {
  std::ifstream file(BERTH_ATTACK_README);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_NE(text.str().find(rendered()), std::string::npos)
      << "put this in place of the table in the README of tests/attack:\n" << rendered();
}
#endif

}  // namespace
}  // namespace berth::attack
