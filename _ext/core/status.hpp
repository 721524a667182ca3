// What functions of the core return in place of exceptions: none crosses the core's edge.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace ascend_infer {

enum class StatusCode : std::int32_t {
  ok,
  invalid_argument,     // a value that the function cannot take
  out_of_memory,        // of the pool's upstream, or its limit; StatusDetail::shortage is set
  host_out_of_memory,   // no host memory for our own bookkeeping; nothing was changed
  upstream_failed,      // the upstream failed for another reason than memory
  misaligned_upstream,  // the upstream gave an address that breaks its promise
  double_free,          // the block was of this pool and is free already
  foreign_block,        // the block was never of this pool
  closed,               // the pool takes no more requests
  forked,               // the pool is a parent process's
  overrun,              // guard: someone wrote past a block's end; the block was freed all the same
  written_after_free,   // guard: someone wrote into free memory; nothing was allocated
};

// Numbers behind out_of_memory, all in bytes.
struct MemoryShortage {
  struct Holder {
    std::string owner;
    std::size_t active_bytes = 0;
    std::size_t active_blocks = 0;
  };
  std::size_t needed = 0;        // what the caller asked for
  std::size_t stride = 0;        // what it takes in the pool
  std::size_t free = 0;          // what the upstream says it has left
  std::size_t total = 0;         // what the upstream says it has
  std::size_t limit = 0;         // of the pool; 0: none
  std::size_t reserved = 0;      // the pool's, as are the rest
  std::size_t active = 0;
  std::size_t held = 0;
  std::size_t largest_held = 0;  // largest block that is free in the pool
  bool limited = false;          // the pool's own bound refused, not the upstream
  std::vector<Holder> holders;   // at most five, largest first
};

struct StatusDetail {
  std::string message;
  MemoryShortage shortage;
};

// Cheap to return when all is well. Immutable; copies share the detail.
class [[nodiscard]] Status {
 public:
  Status() noexcept = default;
  Status(StatusCode code) noexcept : code_(code) {}  // NOLINT(google-explicit-constructor): `return StatusCode::closed;`
  Status(StatusCode code, const char *message) noexcept : code_(code) {
    try {
      detail_ = std::make_shared<const StatusDetail>(StatusDetail{message, {}});
    } catch (const std::bad_alloc &) {  // the code alone has to do
    }
  }
  Status(StatusCode code, StatusDetail detail) noexcept : code_(code) {
    try {
      detail_ = std::make_shared<const StatusDetail>(std::move(detail));
    } catch (const std::bad_alloc &) {
    }
  }

  // A failed call of a C library: its function and its error code.
  static Status of_call(StatusCode code, const char *function, std::int32_t native_code) noexcept {
    Status status(code);
    status.function_ = function;
    status.native_code_ = native_code;
    return status;
  }

  bool ok() const noexcept { return code_ == StatusCode::ok; }
  StatusCode code() const noexcept { return code_; }
  std::int32_t native_code() const noexcept { return native_code_; }
  const char *function() const noexcept { return function_; }                // null: no C library's call
  const StatusDetail *detail() const noexcept { return detail_.get(); }      // null: none
  Status with_call_of(const Status &other) const noexcept {                  // keeps the code, takes the call
    Status status(*this);
    status.function_ = other.function_;
    status.native_code_ = other.native_code_;
    return status;
  }

 private:
  StatusCode code_ = StatusCode::ok;
  std::int32_t native_code_ = 0;
  const char *function_ = nullptr;
  std::shared_ptr<const StatusDetail> detail_;
};

}  // namespace ascend_infer
