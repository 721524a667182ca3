#include "state.hpp"

#include <pthread.h>

namespace aclsim {

std::mutex& big_lock() {
  static auto* lock = new std::mutex;
  return *lock;
}

ThreadState& this_thread() {
  thread_local ThreadState state;
  if (state.id == 0) state.id = static_cast<std::uint64_t>(pthread_self());
  return state;
}

}  // namespace aclsim
