// FolderProvider: a provider whose service is a folder, so that several processes share it and it
// outlives all of them. A sandbox is a file in `alive`; every effect is a line of `log`.
#ifndef BERTH_TESTS_STORE_FOLDER_PROVIDER_H_
#define BERTH_TESTS_STORE_FOLDER_PROVIDER_H_

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/lifecycle/provider.h"

namespace berth::test {

class FolderProvider final : public Provider {
 public:
  explicit FolderProvider(std::filesystem::path folder);

  // Names that exist now, and the log's lines ("create NAME").
  static std::vector<std::string> alive(const std::filesystem::path& folder);
  static std::vector<std::string> log(const std::filesystem::path& folder);

  const ProviderIdentity& identity() const override { return identity_; }
  void on_late_answer(std::function<void(LateAnswer)>) override {}
  Task<Answer<ProbeReport>> probe(OperationContext context) override;
  Task<Answer<Scope>> scope(OperationContext context) override;
  Task<Answer<Created>> create(OperationContext context, std::string name,
                               CreateSpec spec) override;
  Task<Answer<Found>> lookup(OperationContext context, std::string name) override;
  Task<Answer<Found>> fence(OperationContext context, std::string name) override;
  Task<Answer<RunEnd>> run(OperationContext context, std::string ref, Command command,
                           OutputSink& output) override;
  Task<Answer<Nothing>> put_file(OperationContext context, std::string ref, PutFile file,
                                 InputSource& input) override;
  Task<Answer<FileGot>> get_file(OperationContext context, std::string ref, GetFile file,
                                 OutputSink& output) override;
  Task<Answer<Destroyed>> destroy(OperationContext context, std::string name,
                                  std::string ref) override;
  Task<Answer<std::vector<Listed>>> list_owned(OperationContext context,
                                               std::string owner_tag) override;

 private:
  void record(std::string_view what, const std::string& name);
  Found found(const std::string& name, Presence absent) const;

  std::filesystem::path folder_;
  ProviderIdentity identity_;
};

}  // namespace berth::test

#endif  // BERTH_TESTS_STORE_FOLDER_PROVIDER_H_
