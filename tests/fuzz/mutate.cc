// The main of a fuzzer where libFuzzer is not linked: runs every file of the folders it is given, and then,
// for as long as it is told to, what becomes of them by chance. No coverage guides it; libFuzzer's does.
//
// usage: FUZZER [-seconds=N] [-seed=N] CORPUS...
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr std::size_t kInputBytesMax = 65536;
constexpr unsigned kInputSecondsMax = 10;

// What the signal's action keeps: the input that was running.
const char* running = nullptr;
std::size_t running_bytes = 0;
char kept_name[4096];

void keep_input(int number) {
  const int file = ::open(kept_name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  const bool kept = file >= 0 && ::write(file, running, running_bytes) == static_cast<ssize_t>(running_bytes);
  const std::string_view said = kept ? "the input that did it is kept in " : "it could not be kept in ";
  static_cast<void>(::write(2, said.data(), said.size()));
  static_cast<void>(::write(2, kept_name, std::string_view(kept_name).size()));
  static_cast<void>(::write(2, "\n", 1));
  ::signal(number, SIG_DFL);
  ::raise(number);
}

void run(const std::string& input) {
  running = input.data();
  running_bytes = input.size();
  ::alarm(kInputSecondsMax);
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

class Mutator {
 public:
  Mutator(std::uint64_t seed, const std::vector<std::string>& corpus) : random_(seed), corpus_(corpus) {}

  std::string next() {
    std::string input = corpus_[below(corpus_.size())];
    for (std::size_t left = 1 + below(8); left > 0; --left) change(input);
    input.resize(std::min(input.size(), kInputBytesMax));
    return input;
  }

 private:
  std::size_t below(std::size_t bound) { return bound == 0 ? 0 : random_() % bound; }

  void change(std::string& input) {
    const std::size_t at = below(input.size() + 1);
    const std::size_t count = std::min(below(1 + below(64)), input.size() - at);
    switch (below(7)) {
      case 0:
        if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << below(8)));
        break;
      case 1:
        if (at < input.size()) input[at] = static_cast<char>(random_());
        break;
      case 2:
        input.insert(at, 1 + below(8), static_cast<char>(random_()));
        break;
      case 3:
        input.erase(at, count);
        break;
      case 4:
        input.insert(below(input.size() + 1), input.substr(at, count));
        break;
      case 5:
        number(input, at);
        break;
      default: {
        const std::string& other = corpus_[below(corpus_.size())];
        input.insert(at, other.substr(below(other.size() + 1), below(256)));
      }
    }
  }

  // Sizes and counts are where readers go wrong: the borders of every width, in place.
  void number(std::string& input, std::size_t at) {
    static constexpr std::uint64_t kBorders[] = {0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0xffffffff,
                                                 0x7fffffffffffffff, 0xffffffffffffffff};
    const std::uint64_t value = kBorders[below(std::size(kBorders))] + below(3) - 1;
    const std::size_t width = std::size_t{1} << below(4);
    for (std::size_t i = 0; i < width && at + i < input.size(); ++i)
      input[at + i] = static_cast<char>(value >> (8 * i));
  }

  std::mt19937_64 random_;
  const std::vector<std::string>& corpus_;
};

std::vector<std::string> read_corpus(const std::vector<std::string>& folders) {
  std::vector<std::string> corpus;
  for (const std::string& folder : folders) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
  }
  return corpus;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t seed = std::random_device()();
  long seconds = 0;
  std::vector<std::string> folders;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.starts_with("-seconds=")) seconds = std::strtol(argv[i] + 9, nullptr, 10);
    else if (word.starts_with("-seed=")) seed = std::strtoull(argv[i] + 6, nullptr, 10);
    else folders.emplace_back(word);
  }
  const std::vector<std::string> corpus = read_corpus(folders);
  if (corpus.empty()) {
    std::fprintf(stderr, "usage: %s [-seconds=N] [-seed=N] CORPUS...; the corpus has no file\n", argv[0]);
    return 1;
  }
  std::snprintf(kept_name, sizeof kept_name, "%s.failed-input", argv[0]);
  for (const int number : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM}) ::signal(number, keep_input);
  for (const std::string& input : corpus) run(input);
  std::size_t made = 0;
  Mutator mutator(seed, corpus);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  for (; std::chrono::steady_clock::now() < until; ++made) run(mutator.next());
  std::printf("%zu inputs replayed, %zu made of them with seed %llu\n", corpus.size(), made,
              static_cast<unsigned long long>(seed));
  return 0;
}
