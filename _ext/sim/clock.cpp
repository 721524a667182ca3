#include "clock.hpp"

#include <thread>

namespace aclsim {

Clock& Clock::get() {
  static auto* clock = new Clock;
  return *clock;
}

void Clock::use_virtual(bool on) {
  if (on && !is_virtual()) advance_to(real_now());
  virtual_.store(on, std::memory_order_release);
}

void Clock::advance_to(Nanoseconds then) {
  Nanoseconds seen = virtual_now_.load(std::memory_order_relaxed);
  while (seen < then && !virtual_now_.compare_exchange_weak(seen, then, std::memory_order_acq_rel)) {
  }
}

void Clock::sleep(Nanoseconds duration) {
  if (duration == 0) return;
  if (is_virtual()) {
    advance_to(now() + duration);
  } else {
    std::this_thread::sleep_for(std::chrono::nanoseconds(duration));
  }
}

}  // namespace aclsim
