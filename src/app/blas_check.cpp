#include "app/blas_check.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "config/config_loader.h"
#include "model/kernels/gemm_blas.h"

namespace paceline {
namespace {

constexpr const char* kRetryVariable = "PACELINE_BLAS_RETRY";

bool is_retry() {
  const auto variables = paceline_environment();
  return std::ranges::find(variables, kRetryVariable,
                           &std::pair<std::string, std::string>::first) != variables.end();
}

std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) arguments.push_back(argument);
  return arguments;
}

// Returns only when the program cannot be started again.
Error start_again() {
  setenv("OPENBLAS_CORETYPE", "Haswell", 1);
  setenv(kRetryVariable, "1", 1);
  std::vector<std::string> arguments = own_arguments();
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  execv("/proc/self/exe", pointers.data());
  return Error{ErrorCode::kInternalError,
               std::string("cannot start again: ") + std::strerror(errno)};
}

}  // namespace

Result<void> ensure_blas_works() {
  auto tested = blas_self_test();
  if (tested || is_retry()) return tested;
  std::cerr << "paceline: " << tested.error().message
            << "; starting again with OPENBLAS_CORETYPE=Haswell\n";
  return tl::unexpected(start_again());
}

}  // namespace paceline
