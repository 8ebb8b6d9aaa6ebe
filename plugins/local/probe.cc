#include "probe.h"

#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <sstream>

#include "interpreters.h"

namespace berth::local {
namespace {

// Says one line per thing it finds: "name=detail", or "name=" when it is not there. A version is read off the name
// of a package's folder of metadata: the module that reads what is in it takes longer to import than Python to start.
constexpr char kPythonQuestions[] = R"(
import importlib.util as util, os, sys
def names_in(folder):
    try: return os.listdir(folder)
    except OSError: return ()
def version_of(package):
    for folder in sys.path:
        for name in names_in(folder):
            parts, end = os.path.splitext(name)
            parts = parts.split("-")
            if end in (".dist-info", ".egg-info") and len(parts) > 1 and parts[0].lower() == package:
                return parts[1]
    return "present"
print("python3=" + sys.version.split()[0])
for package in ("matplotlib", "pandas", "numpy", "sympy", "yfinance"):
    print(package + "=" + (version_of(package) if util.find_spec(package) else ""))
fonts = [name for _, _, names in os.walk("/usr/share/fonts") for name in names
         if name.endswith((".otf", ".otc", ".ttf", ".ttc"))]
cjk = [name for name in fonts if "CJK" in name or "wqy" in name or "DroidSansFallback" in name]
print("fonts=" + (str(len(fonts)) + " files, with Chinese, Japanese and Korean" if cjk else ""))
)";

constexpr std::string_view kStartupItem = "startup";

std::string kernel_name() {
  utsname name{};
  uname(&name);
  return std::string(name.sysname) + " " + name.release + " " + name.machine;
}

std::string layer_detail(Layer layer, const Allocations& allocations) {
  switch (layer) {
    case Layer::kUser:
      return geteuid() == 0 ? "an identity of its own for every sandbox"
                            : "this user's identity in a namespace of its own";
    case Layer::kLandlock:
      return "ABI level " + std::to_string(allocations.layers().landlock_level);
    case Layer::kCgroup: return allocations.cgroups().describe();
    case Layer::kSeccomp: return "allow list for this architecture";
    case Layer::kNet: return "loopback alone";
    case Layer::kMount: return "read-only system, limited work folder, masked /proc";
    case Layer::kPid:
    case Layer::kIpc:
    case Layer::kUts:
    case Layer::kCgroupNamespace:
    case Layer::kTime: return "namespace";
    case Layer::kCapabilities: return "none, no new privileges";
    case Layer::kRlimit: return "set for every command";
    case Layer::kDescriptors: return "three streams and nothing else";
  }
  return "";
}

std::string layer_remedy(Layer layer) {
  std::string remedy;
  switch (layer) {
    case Layer::kUser:
      remedy = "allow unprivileged user namespaces (user.max_user_namespaces, and on some systems "
               "kernel.unprivileged_userns_clone or kernel.apparmor_restrict_unprivileged_userns)";
      break;
    case Layer::kCgroup:
      remedy = "delegate a control group with memory, pids and cpu to this user and name it in "
               "cgroupParent";
      break;
    case Layer::kLandlock: remedy = "boot with landlock in lsm= (kernel 5.13 or newer)"; break;
    default: remedy = "use a kernel built with this feature"; break;
  }
  if (acceptable_layer(layer_name(layer))) remedy += ", or name the layer in acceptMissingLayers";
  return remedy;
}

void add_layers(const Allocations& allocations, ProbeReport* report) {
  const LayerReport& layers = allocations.layers();
  for (std::uint32_t i = 0; i < kLayerCount; ++i) {
    const auto layer = static_cast<Layer>(i);
    ProbeItem item;
    item.name = layer_name(layer);
    item.ok = (layers.missing & bit(layer)) == 0;
    item.detail = item.ok ? layer_detail(layer, allocations) : layers.sentences[i];
    if (!item.ok) {
      item.remedy = layer_remedy(layer);
      if ((allocations.config().accepted_missing & bit(layer)) != 0) {
        item.detail += " (its absence is accepted by the configuration)";
      }
    }
    report->items.push_back(std::move(item));
  }
}

std::string ask(Sandbox& sandbox, std::vector<std::string_view> argv) {
  Command command;
  command.argv = std::move(argv);
  command.timeout = std::chrono::seconds(30);
  CapturePeer peer;
  const RunResult result = sandbox.run(peer, command);
  return result.cause == Cause::kExited && result.exit_code == 0 ? peer.text() : "";
}

ProbeItem package_item(const std::string& name, const std::string& version) {
  ProbeItem item;
  item.name = name;
  item.ok = !version.empty();
  item.detail = item.ok ? version : "not found";
  if (item.ok) return item;
  if (name == "yfinance") {
    item.detail = "not installed: programs that import it fail where no package index is reachable";
    item.remedy = "pip install yfinance into the system's Python, or configure a package index";
  } else if (name == "fonts") {
    item.detail = "no font for Chinese, Japanese or Korean: charts show boxes instead";
    item.remedy = "apt install fonts-noto-cjk";
  } else if (name == "python3") {
    item.remedy = "apt install python3";
  } else {
    item.remedy = "apt install python3-" + name;
  }
  return item;
}

// One line per answer, "name=detail", of Python's questions and Node's version.
std::string ask_interpreters(Sandbox& sandbox) {
  std::string answers = ask(sandbox, {"/usr/bin/python3", "-c", kPythonQuestions});
  std::string node = ask(sandbox, {"/usr/bin/node", "--version"});
  while (!node.empty() && node.back() == '\n') node.pop_back();
  if (!node.empty()) answers += "node=" + node + '\n';
  return answers;
}

// The answers remembered from an earlier load are as good as new ones while nothing has changed;
// the trial sandbox then shows with a small program that commands run.
std::string answers_of(Sandbox& sandbox, const std::string& file) {
  const std::string fingerprint = interpreter_fingerprint(interpreter_paths());
  if (std::optional<std::string> known = remembered_answers(file, fingerprint)) {
    if (ask(sandbox, {"/usr/bin/printf", "ran"}) == "ran") return std::move(*known);
  }
  std::string answers = ask_interpreters(sandbox);
  const bool complete = answers.starts_with("python3=") && answers.find("\nnode=v") != std::string::npos;
  if (complete) remember_answers(file, fingerprint, answers);
  return answers;
}

void add_languages(const std::string& answers, ProbeReport* report) {
  std::istringstream lines(answers);
  std::string line;
  bool python = false;
  bool node = false;
  while (std::getline(lines, line)) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    ProbeItem item = package_item(line.substr(0, equals), line.substr(equals + 1));
    python = python || item.name == "python3";
    node = node || item.name == "node";
    report->items.push_back(std::move(item));
  }
  if (!python) report->items.push_back(package_item("python3", ""));
  if (!node) report->items.push_back(ProbeItem{"node", false, "not found", "apt install nodejs"});
}

std::string startup_detail(Allocations& allocations) {
  switch (allocations.config().startup) {
    case StartupChoice::kCold: return "cold: every sandbox is made on request";
    case StartupChoice::kWarm: return "warm: " + allocations.pool().describe();
    case StartupChoice::kTemplate: return "template: " + allocations.pool().describe();
    case StartupChoice::kAutomatic: break;
  }
  return "automatic: on request, and from a template once a process makes its third sandbox; now " +
         allocations.pool().describe();
}

// What decides whether a layer works here, as far as it can change while a machine runs.
std::string marks_of(const Allocations& allocations) {
  constexpr const char* kSettings[] = {
      "/proc/sys/user/max_user_namespaces",    "/proc/sys/user/max_pid_namespaces",
      "/proc/sys/user/max_mnt_namespaces",     "/proc/sys/user/max_net_namespaces",
      "/proc/sys/user/max_ipc_namespaces",     "/proc/sys/user/max_uts_namespaces",
      "/proc/sys/user/max_cgroup_namespaces",  "/proc/sys/user/max_time_namespaces",
      "/proc/sys/kernel/unprivileged_userns_clone",
      "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"};
  std::string marks;
  for (const char* path : kSettings) marks += one_line(path) + ';';
  for (const CgroupBase& base : allocations.cgroups().bases()) {
    struct stat found{};
    if (stat(base.folder.c_str(), &found) == 0) marks += std::to_string(found.st_ino);
    marks += ';';
  }
  return marks + interpreter_fingerprint(interpreter_paths());
}

}  // namespace

ProbeReport ProbeMemory::probe(Allocations& allocations) {
  constexpr std::chrono::seconds kRemembered{60};
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  const std::uint64_t failed = allocations.failed_creates();
  std::string marks = marks_of(allocations);
  if (report_ && now - at_ < kRemembered && failed == failed_creates_ && marks == marks_) {
    for (ProbeItem& item : report_->items) {
      if (item.name == kStartupItem) item.detail = startup_detail(allocations);
    }
    return *report_;
  }
  // The layers were tried when the process began.
  if (report_) allocations.examine_layers_again();
  ProbeReport report = probe_machine(allocations);
  report_ = report;
  // A trial makes the base of the control groups where there was none.
  marks_ = marks_of(allocations);
  failed_creates_ = failed;
  at_ = now;
  return report;
}

ProbeReport probe_machine(Allocations& allocations) {
  ProbeReport report;
  report.backend = kernel_name();
  add_layers(allocations, &report);
  const std::string name = std::string(kTrialPrefix) + random_hex(8);
  ProbeItem trial{"sandbox", false, "", ""};
  try {
    const auto sandbox = allocations.create(name, CreateSpec{});
    add_languages(answers_of(*sandbox, allocations.state_folder() + "/interpreters"), &report);
    allocations.destroy(name, std::chrono::seconds(10));
    trial.ok = report.usable = true;
    trial.detail = "a trial sandbox was made, ran and is gone";
  } catch (const Failure& failure) {
    trial.detail = failure.message();
    trial.remedy = "see the layers above";
  }
  report.items.push_back(std::move(trial));
  report.items.push_back(ProbeItem{std::string(kStartupItem), true, startup_detail(allocations), ""});
  return report;
}

}  // namespace berth::local
