// The host program over FolderProvider.
#include "tests/store/folder_provider.h"
#include "tests/store/host_program.h"

namespace berth::test {
namespace {

class Opened final : public HostProgramProvider {
 public:
  explicit Opened(std::filesystem::path folder) : provider_(std::move(folder)) {}
  Provider& provider() override { return provider_; }

 private:
  FolderProvider provider_;
};

Task<std::unique_ptr<HostProgramProvider>> open_folder(boost::asio::any_io_executor,
                                                       std::filesystem::path state, std::string) {
  co_return std::make_unique<Opened>(state / "cloud");
}

}  // namespace
}  // namespace berth::test

int main(int argc, char** argv) {
  const berth::test::HostProgram program{berth::test::open_folder, {"true"}};
  return berth::test::run_host_program(program, argc, argv);
}
