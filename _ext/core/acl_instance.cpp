#include "acl_instance.hpp"

#include <algorithm>
#include <chrono>

namespace ascend_infer {
namespace {

// On Linux the clock of Python's time.perf_counter_ns.
std::int64_t now_ns() noexcept {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

bool retires_instance(aclError code) noexcept {
  switch (code) {
    case 107022: case 107023: case 107035:                             // tasks and streams that were aborted
    case 507010: case 507901:                                          // the device is lost
    case 507011: case 507013: case 507014: case 507015: case 507016:   // model, copy engine, AI Core
    case 507017: case 507018:                                          // AI CPU
    case 507034: case 507035: case 507036:                             // vector core
    case 507042: case 507043: case 507044: case 507045:                // accesses past a buffer
    case 507048: case 507049: case 507050:                             // FFTS+
    case 507053: case 507054: case 507055: case 507056:                // memory and links
      return true;
    default:
      return false;
  }
}

// --- a batch's way ---------------------------------------------------------------------------------------------------

AclStatus AclInstance::run(Batch &batch) noexcept {
  return without_throwing([&]() -> AclStatus {
    if (AclStatus status = check(batch); !status.ok()) return status;
    const ContextGuard guard(*device_);
    if (!guard.ok()) return guard.status();
    const WorkInFlight work;
    ExecutionSlot *slot = nullptr;
    if (AclStatus status = acquire(batch.wait, slot); !status.ok()) return status;
    AclStatus status = without_throwing([&] {
      return description().shapes == ShapeKind::dynamic ? run_dynamic(*slot, batch) : run_queued(*slot, batch);
    });
    if (status.outcome() == AclOutcome::host_out_of_memory) {  // left half way
      (void)slot->settle();
      (void)slot->free_dynamic_outputs();
    }
    give_back(slot);
    return status;
  });
}

AclStatus AclInstance::check(const Batch &batch) const {
  const ModelDescription &model = description();
  const auto wrong = [](std::string text) { return AclStatus(AclOutcome::invalid_argument, std::move(text)); };
  if (batch.inputs.size() != model.inputs.size())
    return wrong("got " + std::to_string(batch.inputs.size()) + " inputs, the model has " +
                 std::to_string(model.inputs.size()));
  if (model.shapes == ShapeKind::dynamic) {
    if (batch.input_dims.size() != model.inputs.size()) return wrong("the shape of each input is needed");
    for (const std::size_t index : batch.wanted)
      if (index >= model.outputs.size()) return wrong("there is no output " + std::to_string(index));
    for (std::size_t i = 0; i < batch.inputs.size(); ++i) {
      // The library trusts the dims: memory past the buffer's end would be read.
      std::size_t given = 0, stated = model.inputs[i].itemsize;
      for (const InputPiece &piece : batch.inputs[i]) given += piece.bytes;
      bool fits = true;
      for (const std::int64_t dim : batch.input_dims[i])
        fits = fits && dim >= 0 && !__builtin_mul_overflow(stated, static_cast<std::size_t>(dim), &stated);
      if (!fits || stated != given)
        return AclStatus::of_input(model.inputs[i].name,
                                   "has " + std::to_string(given) + " bytes, its shape would take " +
                                       (fits ? std::to_string(stated) : "more than there are"));
    }
    return {};
  }
  if ((batch.gear == Batch::no_gear) != model.gears.empty() || (!model.gears.empty() && batch.gear >= model.gears.size()))
    return wrong("got no gear of the model's " + std::to_string(model.gears.size()));
  for (std::size_t i = 0; i < batch.inputs.size(); ++i) {
    if (i == model.hidden) continue;
    std::size_t bytes = 0;
    for (const InputPiece &piece : batch.inputs[i]) bytes += piece.bytes;
    if (bytes > input_bytes(batch.gear, i))
      return AclStatus::of_input(model.inputs[i].name, "has " + std::to_string(bytes) + " bytes, the model takes " +
                                                           std::to_string(input_bytes(batch.gear, i)));
  }
  if (batch.outputs.size() > model.outputs.size()) return wrong("an output was asked for twice");
  for (const BatchOutput &output : batch.outputs) {
    if (output.index >= model.outputs.size()) return wrong("there is no output " + std::to_string(output.index));
    const std::size_t room = output.lease != nullptr ? output.lease->bytes() : output.bytes;
    if (output.bytes > output_bytes(batch.gear, output.index) || output.bytes > room)
      return wrong("output " + std::to_string(output.index) + " has " +
                   std::to_string(output_bytes(batch.gear, output.index)) + " bytes, " + std::to_string(output.bytes) +
                   " were asked for");
  }
  return {};
}

AclStatus AclInstance::acquire(const WaitPolicy &wait, ExecutionSlot *&slot) {
  for (;;) {
    {
      std::unique_lock lock(slots_lock_);
      const auto ready = [&] { return closing_ || retired() || !idle_.empty(); };
      if (!wait.sliced()) slot_freed_.wait(lock, ready);
      else slot_freed_.wait_for(lock, std::chrono::milliseconds(WaitPolicy::slice_ms), ready);
      if (closing_) return AclOutcome::closed;
      if (!retired() && !idle_.empty()) {
        // A clean slot first: an abandoned one has to be waited for.
        auto at = std::find_if(idle_.rbegin(), idle_.rend(), [](const ExecutionSlot *one) { return !one->dirty; });
        if (at == idle_.rend()) at = idle_.rbegin();
        slot = *at;
        idle_.erase(std::next(at).base());
      }
    }
    if (retired() && slot == nullptr) return fault();
    if (slot != nullptr) break;
    if (wait.stop()) return AclOutcome::interrupted;
  }
  if (!slot->dirty) return {};
  AclStatus status = clean(*slot, wait);
  if (status.ok()) return status;
  give_back(slot);
  slot = nullptr;
  return status;
}

void AclInstance::give_back(ExecutionSlot *slot) noexcept {
  {
    const std::lock_guard lock(slots_lock_);
    idle_.push_back(slot);  // reserved for all of them
  }
  slot_freed_.notify_all();
}

AclStatus AclInstance::run_queued(ExecutionSlot &slot, Batch &batch) {
  slot.gather(batch, input_bytes_[row(batch.gear)]);
  batch.gathered_ns = now_ns();
  AclStatus status = launch(slot, batch);
  if (status.ok()) status = slot.synchronise(batch.wait);
  if (status.outcome() == AclOutcome::interrupted) {
    abandon(slot, batch);
    return status;
  }
  if (!status.ok()) {
    (void)slot.settle();  // whatever was queued must be over before the slot is used again
    return note(std::move(status));
  }
  stamp(batch);
  slot.hand_over(batch);
  return {};
}

void AclInstance::stamp(Batch &batch) noexcept {
  const std::lock_guard lock(done_lock_);
  batch.computed_ns = now_ns();
  // Threads do not always get to run in the order in which their batches end: then no end is known to be the last one's.
  if (done_number_ + 1 == batch.number)
    batch.device_ns = std::max<std::int64_t>(1, batch.computed_ns - std::max(batch.gathered_ns, done_ns_));
  done_ns_ = batch.computed_ns;
  done_number_ = std::max(done_number_, batch.number);
}

AclStatus AclInstance::launch(ExecutionSlot &slot, Batch &batch) noexcept {
  if (AclStatus status = slot.copy_in(batch, input_bytes_[row(batch.gear)]); !status.ok()) return status;
  {
    const std::lock_guard lock(launch_lock_);
    if (AclStatus status = slot.set_gear(batch.gear); !status.ok()) return status;
    if (AclStatus status = slot.execute_async(last_run_); !status.ok()) return status;
    last_run_ = slot.computed();
    batch.number = launched_.fetch_add(1, std::memory_order_relaxed) + 1;
  }
  return slot.copy_out(batch);
}

void AclInstance::abandon(ExecutionSlot &slot, const Batch &batch) noexcept {
  slot.dirty = true;
  slot.left_ns = now_ns();
  ++left_;
  slot.return_inputs();
  AclProcess::get().begin_work_again();  // until the slot is clean: its copies are in flight
  for (const BatchOutput &output : batch.outputs)
    if (output.lease != nullptr) slot.kept.push_back(output.lease);  // reserved
}

AclStatus AclInstance::clean(ExecutionSlot &slot, const WaitPolicy &wait) noexcept {
  AclStatus status = slot.synchronise(wait);
  return status.outcome() == AclOutcome::interrupted ? status : cleaned(slot, std::move(status));
}

AclStatus AclInstance::cleaned(ExecutionSlot &slot, AclStatus status) noexcept {
  if (!status.ok()) (void)slot.settle();
  slot.dirty = false;
  --left_;
  slot.kept.clear();
  AclProcess::get().end_work();
  // The abandoned batch's failure is nobody's now, unless it is the instance's end.
  status = note(std::move(status));
  return retired() ? status : AclStatus();
}

std::int64_t AclInstance::reclaim() noexcept {
  std::int64_t oldest = 0;
  (void)without_throwing([&]() -> AclStatus {
    const ContextGuard guard(*device_);
    if (!guard.ok()) return guard.status();
    for (const auto &one : slots_) {
      ExecutionSlot *slot = nullptr;
      {
        const std::lock_guard lock(slots_lock_);
        const auto at = std::find(idle_.begin(), idle_.end(), one.get());
        if (closing_ || retired() || at == idle_.end() || !one->dirty) continue;
        slot = *at;
        idle_.erase(at);
      }
      AclStatus status = slot->synchronise(1);
      if (status.code() == stream_sync_timeout) oldest = std::max(oldest, now_ns() - slot->left_ns);
      else (void)cleaned(*slot, std::move(status));
      give_back(slot);
    }
    return {};
  });
  return oldest;
}

AclStatus AclInstance::run_dynamic(ExecutionSlot &slot, Batch &batch) {
  std::vector<std::size_t> needed(batch.inputs.size(), 0);
  for (std::size_t i = 0; i < needed.size(); ++i)
    for (const InputPiece &piece : batch.inputs[i]) needed[i] += piece.bytes;
  if (AclStatus status = slot.fit_inputs(needed, batch.input_dims); !status.ok()) return status;
  slot.gather(batch, needed);
  batch.gathered_ns = now_ns();
  batch.number = launched_.fetch_add(1, std::memory_order_relaxed) + 1;
  AclStatus status = slot.copy_in(batch, needed);
  if (!device_->unified() || slot.borrows()) {
    // A synchronous run is ordered behind no stream.
    AclStatus copied = status.ok() ? slot.synchronise(batch.wait) : slot.settle();
    if (status.ok()) status = std::move(copied);
  }
  if (status.outcome() == AclOutcome::interrupted) {
    abandon(slot, batch);
    return status;
  }
  if (status.ok()) status = slot.execute_sync();
  batch.results.clear();
  for (const std::size_t index : batch.wanted) {
    if (!status.ok()) break;
    DynamicOutput output;
    status = slot.output_shape(index, output.dims, output.bytes);
    if (status.ok() && output.bytes != 0) {
      PoolBlock block;
      const Status taken = PoolBlock::take(memory_.pinned_pool, output.bytes, memory_.pinned_owner, block);
      if (!taken.ok()) {
        status = AclStatus::of_pool(taken, true);
        break;
      }
      ++*leases_;
      output.lease = std::make_shared<PinnedLease>(std::move(block), leases_);
      status = slot.copy_dynamic_out(index, output.lease->data(), output.bytes);
    }
    batch.results.push_back(std::move(output));
  }
  // Without a poll: the outputs' memory is given back below, and must not be in use.
  if (!device_->unified())
    if (AclStatus copied = slot.settle(); status.ok()) status = std::move(copied);
  if (status.ok()) stamp(batch);
  if (AclStatus freed = slot.free_dynamic_outputs(); status.ok()) status = std::move(freed);
  return note(std::move(status));
}

// --- failing ---------------------------------------------------------------------------------------------------------

AclStatus AclInstance::note(AclStatus status) noexcept {
  if (status.outcome() == AclOutcome::failed_call && retires_instance(status.code())) retire(status);
  return status;
}

void AclInstance::retire(const AclStatus &why) noexcept {
  {
    const std::lock_guard lock(fault_lock_);
    if (!retired()) {
      (void)without_throwing([&]() -> AclStatus {
        fault_ = why;
        return {};
      });
      retired_.store(true, std::memory_order_release);
    }
  }
  slot_freed_.notify_all();
}

AclStatus AclInstance::fault() const {
  const std::lock_guard lock(fault_lock_);
  return AclStatus(AclOutcome::retired, std::string(fault_.function()) + " returned " + std::to_string(fault_.code()) +
                                            (fault_.text().empty() ? "" : ": " + fault_.text()));
}

std::shared_ptr<PinnedLease> AclInstance::lease(std::size_t bytes) noexcept {
  // Who keeps all results would make the pinned pool grow with every batch: beyond this many, results are copied.
  const int most = static_cast<int>(8 * slots_.size() * std::max<std::size_t>(1, description().outputs.size()));
  if (leases_->load() >= most) return nullptr;
  try {
    PoolBlock block;
    if (!PoolBlock::take(memory_.pinned_pool, bytes, memory_.pinned_owner, block).ok()) return nullptr;
    ++*leases_;
    return std::make_shared<PinnedLease>(std::move(block), leases_);
  } catch (const std::bad_alloc &) {
    return nullptr;
  }
}

}  // namespace ascend_infer
