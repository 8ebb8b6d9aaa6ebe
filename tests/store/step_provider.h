// StepProvider: another provider, with a word to the test before and after the operations that make
// and end things.
#ifndef BERTH_TESTS_STORE_STEP_PROVIDER_H_
#define BERTH_TESTS_STORE_STEP_PROVIDER_H_

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/lifecycle/provider.h"

namespace berth::test {

class StepProvider final : public Provider {
 public:
  // `at_step` is told "create", "created", "run", "ran", "destroy" and "destroyed".
  StepProvider(Provider& inner, std::function<void(std::string_view)> at_step)
      : inner_(inner), at_step_(std::move(at_step)) {}

  const ProviderIdentity& identity() const override { return inner_.identity(); }
  void on_late_answer(std::function<void(LateAnswer)> listener) override {
    inner_.on_late_answer(std::move(listener));
  }
  Task<Answer<ProbeReport>> probe(OperationContext context) override {
    return inner_.probe(std::move(context));
  }
  Task<Answer<Scope>> scope(OperationContext context) override {
    return inner_.scope(std::move(context));
  }
  Task<Answer<Created>> create(OperationContext context, std::string name,
                               CreateSpec spec) override {
    return around("create", "created",
                  inner_.create(std::move(context), std::move(name), std::move(spec)));
  }
  Task<Answer<Found>> lookup(OperationContext context, std::string name) override {
    return inner_.lookup(std::move(context), std::move(name));
  }
  Task<Answer<Found>> fence(OperationContext context, std::string name) override {
    return inner_.fence(std::move(context), std::move(name));
  }
  Task<Answer<RunEnd>> run(OperationContext context, std::string ref, Command command,
                           OutputSink& output) override {
    return around("run", "ran",
                  inner_.run(std::move(context), std::move(ref), std::move(command), output));
  }
  Task<Answer<Nothing>> put_file(OperationContext context, std::string ref, PutFile file,
                                 InputSource& input) override {
    return inner_.put_file(std::move(context), std::move(ref), std::move(file), input);
  }
  Task<Answer<FileGot>> get_file(OperationContext context, std::string ref, GetFile file,
                                 OutputSink& output) override {
    return inner_.get_file(std::move(context), std::move(ref), std::move(file), output);
  }
  Task<Answer<Destroyed>> destroy(OperationContext context, std::string name,
                                  std::string ref) override {
    return around("destroy", "destroyed",
                  inner_.destroy(std::move(context), std::move(name), std::move(ref)));
  }
  Task<Answer<std::vector<Listed>>> list_owned(OperationContext context,
                                               std::string owner_tag) override {
    return inner_.list_owned(std::move(context), std::move(owner_tag));
  }

 private:
  // An operation starts when it is awaited, so the word before it comes in time.
  template <class T>
  Task<T> around(std::string_view before, std::string_view after, Task<T> operation) {
    at_step_(before);
    T answer = co_await std::move(operation);
    at_step_(after);
    co_return answer;
  }

  Provider& inner_;
  std::function<void(std::string_view)> at_step_;
};

}  // namespace berth::test

#endif  // BERTH_TESTS_STORE_STEP_PROVIDER_H_
