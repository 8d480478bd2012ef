#pragma once

#include <unistd.h>

namespace paceline {

/// Gives up root's right to read and write everything until the end of the scope; without effect
/// for other users.
class UnprivilegedUser {
 public:
  UnprivilegedUser() : old_user_(::geteuid()) {
    constexpr uid_t kNobody = 65534;
    is_changed_ = old_user_ == 0 && ::seteuid(kNobody) == 0;
  }
  ~UnprivilegedUser() {
    if (is_changed_ && ::seteuid(old_user_) != 0) ::_exit(1);
  }
  UnprivilegedUser(const UnprivilegedUser&) = delete;
  UnprivilegedUser& operator=(const UnprivilegedUser&) = delete;

  /// Whether permissions bind this process now.
  [[nodiscard]] static bool is_active() { return ::geteuid() != 0; }

 private:
  uid_t old_user_;
  bool is_changed_;
};

}  // namespace paceline
