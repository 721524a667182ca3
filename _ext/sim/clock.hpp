// Time: the machine's, or a virtual one in which waiting costs nothing.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>

namespace aclsim {

using Nanoseconds = std::uint64_t;

class Clock {
 public:
  static Clock& get();

  // Virtual time starts where real time stood and moves only through advance_to.
  void use_virtual(bool on);
  bool is_virtual() const { return virtual_.load(std::memory_order_relaxed); }

  Nanoseconds now() const { return is_virtual() ? virtual_now_.load(std::memory_order_acquire) : real_now(); }
  // Moves virtual time forward; without effect on real time.
  void advance_to(Nanoseconds then);
  // Waits in real time, advances in virtual time.
  void sleep(Nanoseconds duration);

  static Nanoseconds real_now() {
    return static_cast<Nanoseconds>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count());
  }
  static std::chrono::steady_clock::time_point real_point(Nanoseconds when) {
    return std::chrono::steady_clock::time_point(
        std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::nanoseconds(when)));
  }

 private:
  std::atomic<bool> virtual_{false};
  std::atomic<Nanoseconds> virtual_now_{0};
};

}  // namespace aclsim
