#include "call.hpp"

#include <deque>

#include "clock.hpp"
#include "faults.hpp"
#include "fork_guard.hpp"
#include "options.hpp"

namespace aclsim {
namespace {

constexpr std::size_t log_capacity = 65536;

struct LogEntry {
  std::uint64_t sequence;
  std::uint64_t thread;
  Function function;
  int result;
};

std::mutex& log_lock() {
  static auto* lock = new std::mutex;
  return *lock;
}
std::deque<LogEntry>& log_entries() {
  static auto* entries = new std::deque<LogEntry>;
  return *entries;
}
std::uint64_t log_sequence = 0;  // guarded by log_lock

}  // namespace

CallCounters& call_counters() {
  static auto* counters = new CallCounters{};
  return *counters;
}

int consult_plan(Function function, std::uint64_t nth) {
  Nanoseconds delay = 0;
  int code = 0;
  // Nothing of the parent's is usable in a child, its lock least of all.
  if (forked())
    return fail(drv_internal, "EL9999", "%s failed: ACL cannot be used in a forked process. Start it by spawn.",
                name_of(function));
  {
    const Lock lock(big_lock());
    const Fault* fault = fault_plan().find(function, nth);
    if (fault == nullptr) return 0;
    delay = fault->delay;
    code = fault->code;
    ThreadState& thread = this_thread();
    thread.task_error = fault->task_code;
    // Of a function that queues a task the task is what is slow.
    switch (function) {
      case Function::aclmdlExecuteAsync:
      case Function::aclmdlExecuteAsyncV2:
      case Function::aclmdlExecute:
      case Function::aclmdlExecuteV2:
      case Function::aclrtMemcpyAsync:
      case Function::aclrtMemsetAsync:
      case Function::aclrtRecordEvent:
      case Function::aclrtLaunchCallback:
      case Function::aclrtLaunchHostFunc:
        thread.task_delay_ns = delay;
        delay = 0;
        break;
      default:
        break;
    }
  }
  if (code != 0) fail(code, "EE9999", "%s failed by the simulator's fault plan.", name_of(function));
  Clock::get().sleep(delay);
  return code;
}

void log_call(Function function, int result) {
  ThreadState& thread = this_thread();
  thread.task_error = 0;
  thread.task_delay_ns = 0;
  if (!options().call_log) return;
  const std::lock_guard<std::mutex> lock(log_lock());
  auto& entries = log_entries();
  if (entries.size() == log_capacity) entries.pop_front();
  entries.push_back({++log_sequence, thread.id, function, result});
}

std::string call_log_text() {
  std::string out;
  const std::lock_guard<std::mutex> lock(log_lock());
  for (const LogEntry& entry : log_entries())
    out += std::to_string(entry.sequence) + " " + std::to_string(entry.thread) + " " + name_of(entry.function) + " " +
           std::to_string(entry.result) + "\n";
  return out;
}

void clear_call_log() {
  const std::lock_guard<std::mutex> lock(log_lock());
  log_entries().clear();
}

int exception_code(Function function, std::exception_ptr error) noexcept {
  try {
    std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    this_thread().last_error = bad_alloc;
    return bad_alloc;
  } catch (const std::exception& e) {
    try {
      return fail(internal_error, "EE9999", "%s failed inside the simulator: %s", name_of(function), e.what());
    } catch (...) {
      return internal_error;
    }
  } catch (...) {
    return internal_error;
  }
}

int refuse(Function function) noexcept {
  return run(function,
             [=] { return fail(feature_unsupported, "EE1005", "The simulator does not have %s.", name_of(function)); });
}

}  // namespace aclsim
