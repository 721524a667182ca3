// Forks noticed cheaply: a lock that another thread held when the process forked stays locked in the child for ever.
#pragma once
#include <pthread.h>

#include <atomic>
#include <cstdint>

namespace ascend_infer {

// How many forks lie between the first process and this one, counted from the first call on.
inline std::uint32_t fork_generation() noexcept {
  static std::atomic<std::uint32_t> generation{0};
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });
  (void)registered;
  return generation.load(std::memory_order_relaxed);
}

// What its maker's forked children must leave alone.
class OfOneProcess {
 public:
  bool forked() const noexcept { return fork_generation() != made_in_; }

 private:
  const std::uint32_t made_in_ = fork_generation();
};

}  // namespace ascend_infer
