#include "app/processor_quota.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace paceline {
namespace {

std::string read_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The group of this process below a controller's mount point: the line `0::/path` of
// /proc/self/cgroup for version 2.
std::string cgroup_v2_path() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("0::")) return line.substr(3);
  }
  return {};
}

std::optional<double> cgroup_quota() {
  const std::string group = cgroup_v2_path();
  for (const std::string& folder : {"/sys/fs/cgroup" + group, std::string("/sys/fs/cgroup")}) {
    if (auto quota = parse_cpu_max(read_line(folder + "/cpu.max"))) return quota;
  }
  const std::string v1 = "/sys/fs/cgroup/cpu/cpu.cfs_";
  return parse_cpu_max(read_line(v1 + "quota_us") + " " + read_line(v1 + "period_us"));
}

int affinity_count() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

}  // namespace

std::optional<double> parse_cpu_max(std::string_view text) {
  std::istringstream in{std::string(text)};
  double quota = 0;
  double period = 0;
  if (!(in >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

int available_processors() {
  const int processors = affinity_count();
  const auto quota = cgroup_quota();
  if (!quota) return processors;
  return std::clamp(static_cast<int>(*quota), 1, processors);
}

}  // namespace paceline
