// One batch on its way through an instance: where its inputs lie, which gear runs, where its outputs go.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "acl_model.hpp"

namespace ascend_infer {

constexpr aclError stream_sync_timeout = 507046;

// How a caller waits. Without a poll it blocks; with one it wakes every `slice_ms` and asks whether to go on.
// The poll takes locks of its own (the interpreter's): it is called holding none of ours.
struct WaitPolicy {
  static constexpr int slice_ms = 50;
  bool (*go_on)(void *argument) = nullptr;
  void *argument = nullptr;

  bool sliced() const noexcept { return go_on != nullptr; }
  bool stop() const noexcept { return go_on != nullptr && !go_on(argument); }
};

// A pinned block that an output was copied into; the last holder gives it back.
class PinnedLease {
 public:
  PinnedLease(PoolBlock block, std::shared_ptr<std::atomic<int>> outstanding) noexcept
      : block_(std::move(block)), outstanding_(std::move(outstanding)) {}
  PinnedLease(const PinnedLease &) = delete;
  PinnedLease &operator=(const PinnedLease &) = delete;
  ~PinnedLease() { --*outstanding_; }

  void *data() const noexcept { return block_.data(); }
  std::size_t bytes() const noexcept { return block_.bytes(); }

 private:
  PoolBlock block_;
  std::shared_ptr<std::atomic<int>> outstanding_;
};

// Bytes of an input. On the device they are the caller's memory: read by a copy before the run, never by the model.
struct InputPiece {
  const void *data = nullptr;
  std::size_t bytes = 0;
  bool on_device = false;
};

// An output that is wanted: its first `bytes` bytes.
struct BatchOutput {
  std::size_t index = 0;
  std::size_t bytes = 0;
  void *target = nullptr;               // ordinary memory, written after the batch; or null:
  std::shared_ptr<PinnedLease> lease;   // the device copies into it
};

struct DynamicOutput {
  Dims dims;
  std::size_t bytes = 0;
  std::shared_ptr<PinnedLease> lease;  // null for an empty output
};

struct Batch {
  static constexpr std::size_t no_gear = static_cast<std::size_t>(-1);

  std::size_t gear = no_gear;
  std::vector<std::vector<InputPiece>> inputs;  // by the model's input index, the hidden one left empty; gathered in order
  std::vector<BatchOutput> outputs;
  WaitPolicy wait;
  // True dynamic shape only.
  std::vector<Dims> input_dims;
  std::vector<std::size_t> wanted;
  std::vector<DynamicOutput> results;  // one for each wanted
  // Told by the run, in ns of the steady clock: when the inputs were together and when the outputs had arrived; and what
  // the device took for it, the batches before it left out; 0 where that is not known.
  std::int64_t gathered_ns = 0, computed_ns = 0, device_ns = 0;
  std::uint64_t number = 0;  // in the order of the instance's launches
};

}  // namespace ascend_infer
