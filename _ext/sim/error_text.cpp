#include "error_text.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <ctime>
#include <mutex>

#include "state.hpp"

namespace aclsim {
namespace {

constexpr std::size_t longest = 16 * 1024;  // of what one thread keeps unread

std::atomic<bool> per_process{false};

std::mutex& shared_lock() {
  static auto* lock = new std::mutex;
  return *lock;
}
std::string& shared_text() {
  static auto* text = new std::string;
  return *text;
}

const char* solution(int code) {
  switch (code) {
    case rt_memory_allocation:
    case ge_memory_allocation:
      return "Close applications not in use, or use less memory.";
    case rt_context_null:
      return "Call aclrtSetDevice or aclrtSetCurrentContext on this thread first.";
    case rt_no_stream:
    case rt_no_event:
      return "Destroy the streams and events that are not used any more.";
    default:
      return "Check the arguments and the order of the calls.";
  }
}

void append(std::string& to, const std::string& text) {
  if (to.size() + text.size() > longest) to.erase(0, to.size() + text.size() - longest);
  to += text;
}

}  // namespace

std::string format_error(const char* id, const std::string& message) {
  char date[48];
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  std::strftime(date, sizeof date, "%Y-%m-%d-%H:%M:%S", &parts);
  char head[112];
  std::snprintf(head, sizeof head, "%s: [PID: %d] %s.000.000 ", id, static_cast<int>(getpid()), date);
  return head + message + "\n";
}

void add_error_text(const std::string& text) {
  if (per_process.load(std::memory_order_relaxed)) {
    const std::lock_guard<std::mutex> lock(shared_lock());
    append(shared_text(), text);
  } else {
    append(this_thread().pending, text);
  }
}

int fail(int code, const char* id, const char* format, ...) {
  char message[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  add_error_text(format_error(id, std::string(message) + "\n        Solution: " + solution(code)));
  this_thread().last_error = code;
  return code;
}

int fail_null(const char* function, const char* argument) {
  return fail(invalid_param, "EH0002", "%s failed: argument %s must not be null.", function, argument);
}

int fail_value(const char* function, const std::string& value, const char* argument, const char* reason) {
  return fail(invalid_param, "EH0001", "%s failed: value %s for %s is invalid. Reason: %s.", function, value.c_str(),
              argument, reason);
}

int fail_handle(const char* function, const char* what, const void* handle) {
  return fail(invalid_handle, "EE1017", "%s failed. Reason: %p is no %s of this process, or was destroyed.", function,
              handle, what);
}

void share_error_text(bool on) { per_process.store(on, std::memory_order_relaxed); }

const char* take_error_text(bool without_context) {
  ThreadState& thread = this_thread();
  std::string fresh;
  if (per_process.load(std::memory_order_relaxed)) {
    const std::lock_guard<std::mutex> lock(shared_lock());
    fresh.swap(shared_text());
  } else {
    fresh.swap(thread.pending);
  }
  // The real function asks the device for its messages, and that question fails without a context.
  if (without_context && !fresh.empty())
    fresh += format_error("EE1001",
                          "The argument is invalid. Reason: rtGetDevMsg execute failed, reason=[context pointer null]");
  // What was shown is not forgotten: a call without news repeats it, as the real one may.
  if (!fresh.empty()) thread.shown.swap(fresh);
  return thread.shown.empty() ? nullptr : thread.shown.c_str();
}

}  // namespace aclsim
