#include "metrics/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace paceline {
namespace {

double seconds_of(const timeval& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
}

double process_cpu_seconds() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

// Second field of /proc/self/statm: resident pages (proc(5)).
double resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  long total = 0;
  long resident = 0;
  if (!(statm >> total >> resident)) return 0;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double open_fds() {
  std::error_code ignored;
  const std::filesystem::directory_iterator entries("/proc/self/fd", ignored);
  const auto count = std::distance(begin(entries), end(entries));
  return static_cast<double>(std::max<std::ptrdiff_t>(0, count - 1));  // without the iterator's own
}

}  // namespace

void register_process_metrics(MetricsRegistry& registry) {
  auto cpu = registry.counter("process_cpu_seconds_total", "User and system CPU time.");
  auto resident = registry.gauge("process_resident_memory_bytes", "Resident memory.");
  auto fds = registry.gauge("process_open_fds", "Open file descriptors.");
  registry.on_scrape([cpu, resident, fds]() mutable {
    cpu.add(std::max(0.0, process_cpu_seconds() - cpu.value()));
    resident.set(resident_bytes());
    fds.set(open_fds());
  });
}

}  // namespace paceline
