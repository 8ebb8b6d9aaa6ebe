// A template as this process holds it: a sandbox of its own in which an interpreter has imported what
// programs import, and from which the launcher forks further sandboxes. What it is made of is in
// template/.
//
// Thread safety: every member may be called from any thread.
#ifndef BERTH_PLUGINS_LOCAL_TEMPLATE_H_
#define BERTH_PLUGINS_LOCAL_TEMPLATE_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "fd.h"
#include "sandbox.h"

namespace berth::local {

class Template {
 public:
  // Starts the interpreter in `sandbox`, which was made for a template. Throws Failure when it cannot.
  Template(std::shared_ptr<Sandbox> sandbox, Interpreter interpreter);
  // Lets the interpreter go. The sandbox stays as long as one that was forked from it.
  ~Template();

  Template(const Template&) = delete;
  Template& operator=(const Template&) = delete;

  // Waits until everything is imported. False when it is not so in this time; true with a problem when it
  // never will be, which is what the interpreter said instead.
  bool await_warm(std::chrono::milliseconds patience, std::string* problem);

  // Whether it can be forked from, as far as is known.
  bool usable() const { return warm_ && !ended_ && !broken_; }
  // It did not do what it should: nobody forks from it any more.
  void give_up(std::string why);
  // Why it was given up; empty when it was not.
  std::string problem() const;

  Interpreter interpreter() const { return interpreter_; }
  int control() const { return control_.get(); }
  int ancestor() const { return sandbox_->user_namespace(); }
  const std::shared_ptr<Sandbox>& sandbox() const { return sandbox_; }

 private:
  void run(Fd theirs);

  const std::shared_ptr<Sandbox> sandbox_;
  const Interpreter interpreter_;
  Fd control_;
  std::atomic<bool> warm_{false};
  std::atomic<bool> ended_{false};
  std::atomic<bool> broken_{false};
  std::string said_;  // once ended_
  mutable std::mutex mutex_;
  std::string problem_;
  std::thread runner_;
};

}  // namespace berth::local

#endif  // BERTH_PLUGINS_LOCAL_TEMPLATE_H_
