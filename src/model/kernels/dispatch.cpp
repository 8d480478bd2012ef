#include <string>

#include "base/check.h"
#include "model/kernels/kernel_tables.h"

#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace paceline {
namespace {

constexpr Isa kAllIsas[] = {Isa::kScalar, Isa::kAvx2, Isa::kAvx512Vnni, Isa::kAmxInt8};

#if defined(__x86_64__)
/// Asks Linux for the tile registers, which it gives to a process only on request; repeated calls
/// are harmless. Source: Linux Documentation/arch/x86/xstate.rst.
bool request_tile_registers() {
#if defined(__linux__)
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // XFEATURE_XTILE_DATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool has_avx512_vnni() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vnni");
}
bool has_amx_int8() {
  return has_avx512_vnni() && __builtin_cpu_supports("amx-tile") &&
         __builtin_cpu_supports("amx-int8") && request_tile_registers();
}
#endif

}  // namespace

std::string_view to_string(Isa isa) {
  switch (isa) {
    case Isa::kScalar:
      return "scalar";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512Vnni:
      return "avx512_vnni";
    case Isa::kAmxInt8:
      return "amx_int8";
  }
  return "unknown";
}

bool is_available(Isa isa) {
#if defined(__x86_64__)
  static const bool avx2 = has_avx2();
  static const bool avx512_vnni = has_avx512_vnni();
  static const bool amx_int8 = has_amx_int8();
  switch (isa) {
    case Isa::kScalar:
      return true;
    case Isa::kAvx2:
      return avx2;
    case Isa::kAvx512Vnni:
      return avx512_vnni;
    case Isa::kAmxInt8:
      return amx_int8;
  }
  return false;
#else
  return isa == Isa::kScalar;
#endif
}

Isa detect_isa() {
  Isa best = Isa::kScalar;
  for (const Isa isa : kAllIsas) {
    if (is_available(isa)) best = isa;
  }
  return best;
}

Result<Isa> choose_isa(std::string_view forced) {
  if (forced.empty() || forced == "auto") return detect_isa();
  for (const Isa isa : kAllIsas) {
    if (to_string(isa) != forced) continue;
    if (is_available(isa)) return isa;
    return fail(ErrorCode::kBadConfig, "instruction set " + std::string(forced) +
                                           " is not available on this processor; the best one is " +
                                           std::string(to_string(detect_isa())));
  }
  return fail(ErrorCode::kBadConfig, "unknown instruction set '" + std::string(forced) +
                                         "'; known are auto, scalar, avx2, avx512_vnni, amx_int8");
}

const KernelTable& kernels_for(Isa isa) {
  CHECK(is_available(isa));
#if defined(__x86_64__)
  switch (isa) {
    case Isa::kScalar:
      break;
    case Isa::kAvx2:
      return avx2_kernels();
    case Isa::kAvx512Vnni:
      return avx512_vnni_kernels();
    case Isa::kAmxInt8:
      return amx_int8_kernels();
  }
#endif
  return scalar_kernels();
}

}  // namespace paceline
