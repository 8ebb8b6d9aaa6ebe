// What a stand-in and its agent inside a sandbox say to each other, over the standard streams of the one
// long command that the agent is.
//
// A frame is a header and a payload: u32 payload bytes, u32 id, u8 kind; both ends are on one machine, so
// numbers are as the processor has them. Ids are the stand-in's, never used twice in one agent's life.
#ifndef BERTH_TESTS_STANDINS_AGENT_WIRE_H_
#define BERTH_TESTS_STANDINS_AGENT_WIRE_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace berth::standins::wire {

enum class Kind : std::uint8_t {
  // To the agent.
  kStart = 1,   // u8 flags, str cwd, u32 n, n str argv, u32 n, n str "NAME=value"
  kExec,        // u32 id of a shell, str command: its next command, under this id
  kInput,       // bytes for a process' or a file's id; empty: nothing more comes
  kSignal,      // u32 number, to the process group
  kEndTree,     // of a supervised process: it and all it ever started
  kEndAll,      // every process of the sandbox but the agent; answered with kDone
  kReadFile,    // str path
  kWriteFile,   // u32 mode, str path; contents come as kInput
  kStat,        // str path
  kList,        // str path
  kMakeFolder,  // u32 mode, str path; parents too
  kRemove,      // u8 recursive, str path
  kRename,      // str from, str to
  kSetMode,     // u32 mode, str path
  // From the agent.
  kReady = 64,  // id 0: it works now
  kStarted,     // u32 pid
  kOutput,      // u8 stream (1 or 2), bytes; also after kEnded, of what outlives its parent
  kEnded,       // u32 wait status
  kData,        // bytes of a file; or entries: str name, u64 size, u32 mode, u64 mtime ms, u32 uid
  kDone,        // u32 errno, 0: done. The end of everything that is not a process, and of a failed start
};

enum StartFlag : std::uint8_t {
  kWithInput = 1,     // standard input is what kInput brings; else it is empty
  kMerged = 2,        // standard error goes where standard output goes
  kSupervised = 4,    // kEndTree finds what it started
};

inline constexpr std::size_t kHeaderBytes = 9;
inline constexpr std::size_t kPayloadMaxBytes = std::size_t{1} << 26;
inline constexpr std::size_t kPieceBytes = 32768;

class Packer {
 public:
  Packer& u8(std::uint8_t value) {
    text_.push_back(static_cast<char>(value));
    return *this;
  }
  Packer& u32(std::uint32_t value) { return raw(&value, sizeof(value)); }
  Packer& u64(std::uint64_t value) { return raw(&value, sizeof(value)); }
  Packer& str(std::string_view value) {
    u32(static_cast<std::uint32_t>(value.size()));
    return bytes(value);
  }
  Packer& bytes(std::string_view value) {
    text_.append(value);
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  Packer& raw(const void* value, std::size_t size) {
    text_.append(static_cast<const char*>(value), size);
    return *this;
  }
  std::string text_;
};

// Reads what a Packer wrote; what is missing reads as zero or empty, and whole() says so.
class Unpacker {
 public:
  explicit Unpacker(std::string_view text) : text_(text) {}
  std::uint8_t u8() {
    std::uint8_t value = 0;
    raw(&value, sizeof(value));
    return value;
  }
  std::uint32_t u32() {
    std::uint32_t value = 0;
    raw(&value, sizeof(value));
    return value;
  }
  std::uint64_t u64() {
    std::uint64_t value = 0;
    raw(&value, sizeof(value));
    return value;
  }
  std::string_view str() {
    const std::size_t size = u32();
    if (size > text_.size()) {
      whole_ = false;
      return {};
    }
    const std::string_view value = text_.substr(0, size);
    text_.remove_prefix(size);
    return value;
  }
  std::string_view rest() const { return text_; }
  bool whole() const { return whole_; }

 private:
  void raw(void* value, std::size_t size) {
    if (size > text_.size()) {
      whole_ = false;
      return;
    }
    std::memcpy(value, text_.data(), size);
    text_.remove_prefix(size);
  }
  std::string_view text_;
  bool whole_ = true;
};

inline std::string frame(Kind kind, std::uint32_t id, std::string_view payload) {
  Packer packer;
  packer.u32(static_cast<std::uint32_t>(payload.size())).u32(id).u8(static_cast<std::uint8_t>(kind));
  packer.bytes(payload);
  return packer.text();
}

// Takes the first whole frame off `text`, beginning at *at. False when there is none yet.
inline bool take_frame(std::string_view text, std::size_t* at, Kind* kind, std::uint32_t* id,
                       std::string_view* payload) {
  if (text.size() - *at < kHeaderBytes) return false;
  Unpacker header(text.substr(*at));
  const std::size_t size = header.u32();
  *id = header.u32();
  *kind = static_cast<Kind>(header.u8());
  if (text.size() - *at - kHeaderBytes < size) return false;
  *payload = text.substr(*at + kHeaderBytes, size);
  *at += kHeaderBytes + size;
  return true;
}

}  // namespace berth::standins::wire

#endif  // BERTH_TESTS_STANDINS_AGENT_WIRE_H_
