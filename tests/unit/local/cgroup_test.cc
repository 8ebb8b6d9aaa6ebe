#include "cgroup.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace berth::local {
namespace {

// A machine made of files: what the kernel would say, and groups as plain folders.
class LocalCgroup : public ::testing::Test {
 protected:
  LocalCgroup() {
    char path[] = "/tmp/berth-cgroup-test-XXXXXX";
    if (mkdtemp(path) == nullptr) std::abort();
    folder_ = path;
    view_.mountinfo = folder_ + "/mountinfo";
    view_.own_groups = folder_ + "/own";
  }
  ~LocalCgroup() override { std::filesystem::remove_all(folder_); }

  void mount(const std::string& name, const std::string& type, const std::string& options,
             const std::string& root = "/") {
    std::filesystem::create_directories(folder_ + "/" + name);
    std::ofstream(view_.mountinfo, std::ios::app)
        << "30 20 0:26 " << root << " " << folder_ << "/" << name << " rw,relatime shared:9 - " << type
        << " " << type << " " << options << "\n";
  }
  void own(const std::string& line) { std::ofstream(view_.own_groups, std::ios::app) << line << "\n"; }
  void controllers(const std::string& group, const std::string& names) {
    std::filesystem::create_directories(folder_ + "/" + group);
    std::ofstream(folder_ + "/" + group + "/cgroup.controllers") << names << "\n";
  }
  CgroupTree detect(const std::string& parent = "") {
    return CgroupTree::detect(parent, "0123456789abcdef", view_);
  }
  std::vector<std::string> folders(const CgroupTree& tree) const {
    std::vector<std::string> found;
    for (const CgroupBase& base : tree.bases()) found.push_back(base.folder.substr(folder_.size()));
    std::sort(found.begin(), found.end());
    return found;
  }

  std::string folder_;
  CgroupView view_;
};

using Folders = std::vector<std::string>;

TEST_F(LocalCgroup, AHybridMachineIsLimitedByVersionOneAndKilledByVersionTwo) {
  mount("memory", "cgroup", "rw,memory");
  mount("pids", "cgroup", "rw,pids");
  mount("cpu,cpuacct", "cgroup", "rw,cpu,cpuacct");
  mount("unified", "cgroup2", "rw");
  controllers("unified", "hugetlb");
  own("4:memory:/jobs/one");
  own("3:pids:/");
  own("2:cpu,cpuacct:/");
  own("0::/");
  CgroupTree tree = detect();
  EXPECT_EQ(folders(tree), (Folders{"/cpu,cpuacct/berth-0123456789ab", "/memory/jobs/one/berth-0123456789ab",
                                    "/pids/berth-0123456789ab", "/unified/berth-0123456789ab"}));
  EXPECT_EQ(tree.describe(), "memory (v1), pids (v1), cpu (v1), cpuacct (v1), kill (v2)");
}

TEST_F(LocalCgroup, AtTheRootOfVersionTwoSandboxesLieBelowIt) {
  mount("cg", "cgroup2", "rw,nsdelegate");
  controllers("cg", "cpuset cpu io memory pids");
  own("0::/");
  CgroupTree tree = detect();
  EXPECT_EQ(folders(tree), (Folders{"/cg/berth-0123456789ab"}));
  EXPECT_EQ(tree.describe(), "memory (v2), pids (v2), cpu (v2), cpuacct (v2)");
}

TEST_F(LocalCgroup, InAGroupOfVersionTwoTheyLieBesideThisProcess) {
  mount("cg", "cgroup2", "rw");
  controllers("cg", "cpu memory pids");
  controllers("cg/user/app", "cpu memory pids");
  controllers("cg/user/app/shell", "");
  own("0::/user/app/shell");
  EXPECT_EQ(folders(detect()), (Folders{"/cg/user/app/berth-0123456789ab"}));
}

TEST_F(LocalCgroup, ANamedParentIsTakenAsItIs) {
  mount("cg", "cgroup2", "rw");
  controllers("cg/given", "cpu memory pids");
  own("0::/somewhere/else");
  EXPECT_EQ(folders(detect("/given")), (Folders{"/cg/given/berth-0123456789ab"}));
}

TEST_F(LocalCgroup, AMountOfASubtreeIsSeenFromItsRoot) {
  mount("memory", "cgroup", "rw,memory", "/docker/abc");
  mount("pids", "cgroup", "rw,pids", "/docker/abc");
  mount("cpu", "cgroup", "rw,cpu", "/docker/abc");
  own("3:memory:/docker/abc/inner");
  own("2:pids:/docker/abc");
  own("1:cpu:/docker/abc");
  EXPECT_EQ(folders(detect()), (Folders{"/cpu/berth-0123456789ab", "/memory/inner/berth-0123456789ab",
                                        "/pids/berth-0123456789ab"}));
}

TEST_F(LocalCgroup, WhatNoHierarchyHasIsNamed) {
  mount("memory", "cgroup", "rw,memory");
  own("3:memory:/");
  EXPECT_EQ(detect().try_out(), "no hierarchy has the controller pids, cpu");
  EXPECT_EQ(folders(detect()).size(), 1u);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/memory/berth-0123456789ab")) << "and nothing is made";
}

TEST_F(LocalCgroup, AMachineWithoutAnyIsToldToo) {
  own("0::/");
  std::ofstream(view_.mountinfo) << "";
  EXPECT_EQ(detect().try_out(), "no hierarchy has the controller memory, pids, cpu");
}

TEST_F(LocalCgroup, AParentThatDoesNotExistOffersNothing) {
  mount("cg", "cgroup2", "rw");
  controllers("cg", "cpu memory pids");
  own("0::/");
  const std::string problem = CgroupTree::detect("/missing", "0123456789abcdef", view_).try_out();
  EXPECT_NE(problem.find("no hierarchy has the controller"), std::string::npos) << problem;
}

TEST_F(LocalCgroup, CountersOfVersionTwoAreRead) {
  mount("cg", "cgroup2", "rw");
  controllers("cg", "cpu memory pids");
  own("0::/");
  const SandboxCgroup sandbox = detect().sandbox("one");
  const std::string folder = sandbox.folders().front();
  std::filesystem::create_directories(folder);
  EXPECT_FALSE(sandbox.counters().oom_kills);
  std::ofstream(folder + "/memory.events") << "low 0\nhigh 0\nmax 7\noom 2\noom_kill 3\noom_group_kill 0\n";
  std::ofstream(folder + "/memory.peak") << "123456\n";
  std::ofstream(folder + "/cpu.stat") << "usage_usec 5000\nuser_usec 4000\n";
  const CgroupCounters counters = sandbox.counters();
  EXPECT_EQ(counters.oom_kills, 3u);
  EXPECT_EQ(counters.memory_peak_bytes, 123456u);
  EXPECT_EQ(counters.cpu_ns, 5'000'000u);
}

TEST_F(LocalCgroup, CountersOfVersionOneAreRead) {
  mount("memory", "cgroup", "rw,memory");
  mount("cpuacct", "cgroup", "rw,cpuacct");
  own("2:memory:/");
  own("1:cpuacct:/");
  const SandboxCgroup sandbox = detect().sandbox("one");
  for (const std::string& folder : sandbox.folders()) std::filesystem::create_directories(folder);
  const std::string base = "/berth-0123456789ab/one/";
  std::ofstream(folder_ + "/memory" + base + "memory.oom_control") << "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n";
  std::ofstream(folder_ + "/memory" + base + "memory.max_usage_in_bytes") << "77\n";
  std::ofstream(folder_ + "/cpuacct" + base + "cpuacct.usage") << "99\n";
  const CgroupCounters counters = sandbox.counters();
  EXPECT_EQ(counters.oom_kills, 1u);
  EXPECT_EQ(counters.memory_peak_bytes, 77u);
  EXPECT_EQ(counters.cpu_ns, 99u);
}

}  // namespace
}  // namespace berth::local
