// Lab: what a case works with: one provider, one directory, names nobody else uses.
//
//   const std::string name = lab.new_name();
//   BERTH_TRY(const Created first, lab.made(name));    // create, or the reason why it is not DONE
//   BERTH_TRY(const Created again, lab.made(name));
//   if (first.ref != again.ref) return violated("...");
//   return lab.gone(name);                             // destroy, DONE
//
// Every name is written to the case's list before anything can be made under it; what a case leaves
// is destroyed after it, here or, when this process died, in another.
#ifndef BERTH_CORE_CONFORMANCE_LAB_H_
#define BERTH_CORE_CONFORMANCE_LAB_H_

#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/conformance/bench.h"
#include "core/conformance/case.h"
#include "core/conformance/fresh_process.h"
#include "core/conformance/messages.h"

namespace berth::conformance {

// "create ended uncertain (internal): no answer from the service".
std::string describe(std::string_view what, const Outcome& outcome);

class Lab {
 public:
  // `clause` is that of the case.
  Lab(const Subject& subject, Messages& messages, std::string_view clause = {});

  const Subject& subject() const { return subject_; }
  const registry::Manifest& manifest() const { return subject_.manifest(); }
  Bench& bench() { return *bench_; }
  std::string_view clause() const { return clause_; }
  std::mt19937_64& random() { return random_; }
  Duration scaled(Duration duration) const { return subject_.scaled(duration); }
  // The longest an operation that should end is waited for.
  Duration patience() const { return scaled(std::chrono::seconds(10)); }

  // ---- The steps to an open provider; a case that starts further on has them behind it.
  Status load();
  Status open();
  // The case called `open` itself, and it is DONE.
  Status opened_by_hand() {
    open_ = true;
    return {};
  }
  // The case called `shutdown` itself.
  void shut_by_hand() { shut_ = true, open_ = false; }
  // The last operation; waits until no lent thread runs. Nothing may be called after it.
  Status shut_down();

  // ---- Operations to their end. An operation that never ends is an outcome UNCERTAIN with the
  //      code host.deadline, and counts as a breach of OP-002.
  Answer<ProbeReport> probe();
  Answer<Scope> scope();
  Answer<Created> create(const std::string& name, CreateSpec spec = plain_spec());
  Answer<Found> lookup(const std::string& name);
  Answer<Found> fence(const std::string& name);
  Answer<Destroyed> destroy(const std::string& name, const std::string& ref = {});
  Answer<plugin::ListPage> list_page(const std::string& tag, const std::string& cursor = {});
  Answer<std::vector<Listed>> list_owned(const std::string& tag);
  struct Ran {
    Outcome outcome;
    RunEnd end;
    std::string out;
    std::string err;
    Record record;
  };
  Ran run(const std::string& ref, Command command, Treatment treatment = {});
  Answer<Nothing> put_file(const std::string& ref, PutFile file, std::string bytes);
  struct Got {
    Outcome outcome;
    FileGot got;
    std::string bytes;
  };
  Got get_file(const std::string& ref, GetFile file);

  // ---- Begun, and not awaited: the bench tells how far it is.
  plugin::OpId begin(plugin::Slot slot, plugin::Arguments arguments, Treatment treatment = {});
  plugin::OpId begin_create(const std::string& name, Treatment treatment = {}, CreateSpec spec = plain_spec());

  // ---- The same, expecting DONE.
  Result<Created> made(const std::string& name, CreateSpec spec = plain_spec());
  Result<Found> looked_up(const std::string& name);
  Status gone(const std::string& name);
  // A sandbox under a new name.
  Result<Created> sandbox();
  // A program of the standard library of Python, to its end.
  Result<Ran> python(const std::string& ref, const std::string& program);

  // ---- What a case needs beside the provider.
  // A name no one has used, already on the list of what to clean.
  std::string new_name();
  // Something may exist under it that is this case's to clean.
  void remember(const std::string& name) { alive_.insert(name); }
  // DONE was said of its destruction: it is no longer this case's to clean.
  void forget(const std::string& name) { alive_.erase(name); }
  static CreateSpec plain_spec();
  // The declared variables that are set, with their values: what must not be seen anywhere.
  std::vector<std::pair<std::string, std::string>> secrets() const;
  const std::string& owner_tag() const { return subject_.request.owner_tag; }
  Result<std::unique_ptr<FreshProcess>> fresh();
  // What the binding found beside refusals.
  const registry::Findings& findings() const { return findings_; }
  std::function<void(std::string_view)> progress() {
    return [this](std::string_view operation) { messages_.progress(operation, ""); };
  }
  void note(std::string_view text) { messages_.note(text); }

  // Destroys what the case left, and tells of what it could not. Called once, after the body.
  std::vector<std::string> clean_up();
  bool is_open() const { return open_; }
  // The provider cannot be brought to its end after this case: its process just ends.
  void abandon() { shut_ = true, open_ = false; }

 private:
  template <class T>
  Answer<T> ask(plugin::Slot slot, plugin::Arguments arguments, Treatment treatment = {});
  Record perform(plugin::Slot slot, plugin::Arguments arguments, Treatment treatment);

  const Subject& subject_;
  Messages& messages_;
  std::string_view clause_;
  std::unique_ptr<Bench> bench_;
  std::mt19937_64 random_;
  registry::Findings findings_;
  std::set<std::string> alive_;
  unsigned names_ = 0;
  bool loaded_ = false;
  bool open_ = false;
  bool shut_ = false;
};

}  // namespace berth::conformance

#endif  // BERTH_CORE_CONFORMANCE_LAB_H_
