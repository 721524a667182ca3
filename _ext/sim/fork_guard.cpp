#include "fork_guard.hpp"

#include <pthread.h>

#include <atomic>
#include <string>

#include "call.hpp"
#include "device.hpp"
#include "faults.hpp"
#include "options.hpp"

namespace aclsim {
namespace {

std::atomic<bool> is_child{false};

}  // namespace

bool forked() { return is_child.load(std::memory_order_acquire); }

void watch_forks() {
  static bool registered = false;  // guarded by the big lock
  if (registered) return;
  registered = true;
  // Before the fork only a look is taken: the lock stays free for the parent's threads.
  pthread_atfork([] { note_spawn("fork"); }, nullptr,
                 [] {
                   is_child.store(true, std::memory_order_release);
                   call_counters().watched.store(1, std::memory_order_release);
                 });
}

bool note_spawn(const char* how) {
  const Lock lock(big_lock());
  Machine& machine = Machine::get();
  if (machine.copies_in_flight == 0) return false;
  machine.violation(std::string(how) + " while an asynchronous copy is in flight");
  return true;
}

void watch_calls() {
  const bool on = forked() || options().call_log || !fault_plan().empty();
  call_counters().watched.store(on ? 1 : 0, std::memory_order_release);
}

}  // namespace aclsim
