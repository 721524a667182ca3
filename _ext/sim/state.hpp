// The one lock of the simulator, and what a thread carries with it.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>

#include "../acl_types.h"

namespace aclsim {

struct Slot;

using Lock = std::unique_lock<std::mutex>;

// Guards every table, queue and counter that is not atomic. Never held while user code runs, while data is copied or
// while a model computes. Never destroyed: threads of a program that exits may still want it.
std::mutex& big_lock();

struct ThreadState {
  Slot* context = nullptr;  // current context, valid while its generation matches
  std::uint32_t generation = 0;
  int last_error = 0;           // aclrtPeekAtLastError
  std::uint64_t id = 0;         // pthread_self, as the callback functions count threads
  std::string pending;          // messages since the last aclGetRecentErrMsg
  std::string shown;            // what that call handed out; stays until the next one
  std::uint32_t last_task = 0;  // id of the task that the thread queued last
  bool in_callback = false;     // runs a callback of a stream
  // What the fault plan asks the next task of this call to do.
  int task_error = 0;
  std::uint64_t task_delay_ns = 0;
};

ThreadState& this_thread();

}  // namespace aclsim
