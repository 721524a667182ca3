// What every exported function does first and last: count, consult the fault plan, log, let no exception out.
#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <new>
#include <string>

#include "error_text.hpp"
#include "functions.hpp"
#include "prototypes.hpp"
#include "state.hpp"

namespace aclsim {

struct CallCounters {
  std::atomic<std::uint64_t> calls[function_count];
  std::atomic<std::uint64_t> failures[function_count];
  // Non-zero while a fault plan or the call log is on: the only thing that a call looks at otherwise.
  std::atomic<unsigned> watched{0};
};
CallCounters& call_counters();

// The slow half: 0, or the code that the plan wants returned. `nth` counts from 1.
int consult_plan(Function function, std::uint64_t nth);
void log_call(Function function, int result);
int exception_code(Function function, std::exception_ptr error) noexcept;

inline const char* name_of(Function function) { return function_names[static_cast<std::size_t>(function)]; }

// Runs the body of a function that returns aclError.
template <typename Body>
int run(Function function, Body&& body) noexcept {
  CallCounters& counters = call_counters();
  const auto index = static_cast<std::size_t>(function);
  const std::uint64_t nth = counters.calls[index].fetch_add(1, std::memory_order_relaxed) + 1;
  const bool watched = counters.watched.load(std::memory_order_acquire) != 0;
  int code = 0;
  try {
    if (watched) code = consult_plan(function, nth);
    if (code == 0) code = body();
    if (code != 0) counters.failures[index].fetch_add(1, std::memory_order_relaxed);
    if (watched) log_call(function, code);
  } catch (...) {
    code = exception_code(function, std::current_exception());
  }
  return code;
}

// Runs the body of a function that returns something else; it cannot be made to fail by plan.
template <typename Value, typename Body>
Value ask(Function function, Value fallback, Body&& body) noexcept {
  CallCounters& counters = call_counters();
  counters.calls[static_cast<std::size_t>(function)].fetch_add(1, std::memory_order_relaxed);
  try {
    if (counters.watched.load(std::memory_order_acquire) != 0) {
      if (consult_plan(function, counters.calls[static_cast<std::size_t>(function)].load()) != 0) return fallback;
      log_call(function, 0);
    }
    return body();
  } catch (...) {
    exception_code(function, std::current_exception());
    return fallback;
  }
}

// For functions of the list that the simulator does not have.
int refuse(Function function) noexcept;

// The functions called since the last reset that the log kept, one a line: "sequence thread function result".
std::string call_log_text();
void clear_call_log();

}  // namespace aclsim
