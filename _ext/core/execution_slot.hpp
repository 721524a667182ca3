// What one batch in flight needs for itself: a stream, device buffers, pinned staging, datasets, the gear's input, an event.
#pragma once
#include <vector>

#include "batch.hpp"

namespace ascend_infer {

struct SlotMemory {
  std::shared_ptr<AnyPool> device_pool, pinned_pool;
  OwnerId device_owner = 0, pinned_owner = 0;
};

// Built once, used by one thread at a time. No function but release() may be called after a failed build.
class ExecutionSlot {
 public:
  ExecutionSlot(AclDevice &device, const AclModel &model, const SlotMemory &memory) noexcept
      : device_(device), model_(model), memory_(memory) {}

  AclStatus build() noexcept;
  // Nothing may be queued that uses the slot. Gives everything back even when a step fails; the first failure.
  AclStatus release() noexcept;

  // Copies the pieces of each input that lie on the host one after the other, each to its place, and fills up to `needed`
  // bytes with zeros behind them.
  void gather(const Batch &batch, const std::vector<std::size_t> &needed) noexcept;
  // Queues one copy of an input that was gathered; of one with pieces on the device a copy for each of those and for each
  // run of others between them, and zeros behind the last. Blocks where an address is no multiple of 64.
  AclStatus copy_in(const Batch &batch, const std::vector<std::size_t> &needed) noexcept;
  // Device memory of the caller's is read by what copy_in queued; waits until it no longer is.
  bool borrows() const noexcept { return borrows_; }
  void return_inputs() noexcept;
  // Blocks for a small copy, and only when the gear is not the last one's.
  AclStatus set_gear(std::size_t gear) noexcept;
  // Queues the model behind `before`, the event of the run before this one (null: there is none), and records
  // computed() behind it. When this fails nothing of the slot is in flight.
  AclStatus execute_async(aclrtEvent before) noexcept;
  AclStatus copy_out(const Batch &batch) noexcept;
  // From staging to the targets that are ordinary memory; the copies must be done.
  void hand_over(const Batch &batch) noexcept;

  // True dynamic shape: room and descriptions for the inputs, and the outputs that the library allocated.
  AclStatus fit_inputs(const std::vector<std::size_t> &needed, const std::vector<Dims> &dims) noexcept;
  AclStatus execute_sync() noexcept;
  AclStatus output_shape(std::size_t index, Dims &dims, std::size_t &bytes) noexcept;
  AclStatus copy_dynamic_out(std::size_t index, void *target, std::size_t bytes) noexcept;
  AclStatus free_dynamic_outputs() noexcept;

  // Waits for all that was queued, and hears of its failure. 507046 after timeout_ms; -1 waits for ever.
  AclStatus synchronise(int timeout_ms) noexcept;
  AclStatus synchronise(const WaitPolicy &wait) noexcept;
  // The same without an end, and again when that fails: a wait may fail by itself, while the work goes on.
  AclStatus settle() noexcept;

  aclrtEvent computed() const noexcept { return computed_; }

  // A batch was abandoned in here: it must be waited for before the slot is used again.
  bool dirty = false;
  std::int64_t left_ns = 0;  // when that was
  std::vector<std::shared_ptr<PinnedLease>> kept;  // what such a batch may still write into

 private:
  struct Tensor {
    PoolBlock device, pinned;
    aclDataBuffer *buffer = nullptr;
    void *freed = nullptr;  // an output's address that was given back and that the buffer could not be made to forget
  };
  AclStatus add(aclmdlDataset *dataset, Tensor &tensor, std::size_t bytes, bool staged) noexcept;
  AclStatus create_stream() noexcept;
  AclStatus create_event(aclrtEvent &event) noexcept;
  AclStatus copy_pieces(std::size_t input, const std::vector<InputPiece> &pieces, std::size_t needed) noexcept;
  AclStatus copy_piece(const Tensor &tensor, std::size_t at, const void *from, std::size_t bytes,
                       aclrtMemcpyKind kind) noexcept;
  AclStatus check_address(std::size_t input, const Tensor &tensor, const InputPiece &piece) noexcept;
  void *staging(const Tensor &tensor) const noexcept {
    return device_.unified() ? tensor.device.data() : tensor.pinned.data();
  }

  AclDevice &device_;
  const AclModel &model_;
  const SlotMemory &memory_;
  std::vector<Tensor> inputs_, outputs_;
  aclmdlDataset *input_set_ = nullptr, *output_set_ = nullptr;
  aclrtStream stream_ = nullptr;
  aclrtEvent computed_ = nullptr;
  aclrtEvent copied_ = nullptr;  // recorded behind copies from the caller's device memory; made for the first of them
  bool borrows_ = false;
  std::size_t gear_ = Batch::no_gear;
};

}  // namespace ascend_infer
