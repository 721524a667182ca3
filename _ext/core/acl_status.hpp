// What a step of the ACL side came to: well, or why not, with the library's own words.
#pragma once
#include <string>
#include <utility>

#include "../acl_api.h"
#include "status.hpp"

namespace ascend_infer {

enum class AclOutcome : int {
  ok,
  failed_call,         // an ACL function returned an error: function(), code() and text() are set
  invalid_argument,    // of ours, never seen by the library; text() says what
  missing_symbol,      // function() is not in the library that was loaded
  pool,                // memory() says why the pool did not serve
  host_out_of_memory,  // no host memory for our own bookkeeping
  closed,              // the device or model was closed, or the process is ending
  forked,              // this process was forked off one that had initialised ACL
  interrupted,         // the caller's own poll asked to stop; the work goes on and is waited for later
  retired,             // the instance had a device fault before; text() is that fault's
  busy,                // work did not end within the time given
};

// Cheap when all is well: no memory, one comparison.
class [[nodiscard]] AclStatus {
 public:
  AclStatus() noexcept = default;
  AclStatus(AclOutcome outcome) noexcept : outcome_(outcome) {}  // NOLINT(google-explicit-constructor)
  AclStatus(AclOutcome outcome, std::string text) noexcept : outcome_(outcome), text_(std::move(text)) {}

  static AclStatus missing(const char *function) noexcept {
    AclStatus status(AclOutcome::missing_symbol);
    status.function_ = function;
    return status;
  }
  static AclStatus of_pool(const Status &memory, bool pinned) noexcept {
    AclStatus status(AclOutcome::pool);
    status.memory_ = memory;
    status.pinned_ = pinned;
    return status;
  }
  // A wrong argument: `what` is wrong with the input of that name.
  static AclStatus of_input(const std::string &name, const std::string &what) {
    AclStatus status(AclOutcome::invalid_argument, "input '" + name + "' " + what);
    status.input_ = name;
    return status;
  }
  static AclStatus of_call(const char *function, aclError code, std::string text) noexcept {
    AclStatus status(AclOutcome::failed_call, std::move(text));
    status.function_ = function;
    status.code_ = code;
    return status;
  }

  bool ok() const noexcept { return outcome_ == AclOutcome::ok; }
  AclOutcome outcome() const noexcept { return outcome_; }
  aclError code() const noexcept { return code_; }
  const char *function() const noexcept { return function_; }
  const std::string &text() const noexcept { return text_; }
  // The model's input that a wrong argument is about; empty when it is about none.
  const std::string &input() const noexcept { return input_; }
  const Status &memory() const noexcept { return memory_; }
  // Whether memory() is of the pool of pinned host memory.
  bool pinned() const noexcept { return pinned_; }

 private:
  AclOutcome outcome_ = AclOutcome::ok;
  aclError code_ = 0;
  const char *function_ = "";
  std::string text_, input_;
  Status memory_;
  bool pinned_ = false;
};

// Runs a body that may want host memory; nothing is thrown past the core's edge.
template <typename Body>
AclStatus without_throwing(Body &&body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc &) {
    return AclOutcome::host_out_of_memory;
  } catch (const std::exception &error) {
    return {AclOutcome::invalid_argument, error.what()};
  }
}

}  // namespace ascend_infer
