// An instance's beginning and end; acl_instance.cpp has what lies between.
#include <algorithm>
#include <chrono>

#include "acl_instance.hpp"

namespace ascend_infer {
namespace {

// Bytes of dims; false when they are open or too many.
bool bytes_of(const Dims &dims, std::size_t itemsize, std::size_t &out) {
  out = itemsize;
  for (const std::int64_t dim : dims)
    if (dim < 0 || __builtin_mul_overflow(out, static_cast<std::size_t>(dim), &out)) return false;
  return itemsize != 0;
}

// bytes * part / whole, for bytes that are a product with wide factors.
std::size_t in_proportion(std::size_t bytes, std::size_t part, std::size_t whole) {
  if (whole == 0) return bytes;
  return static_cast<std::size_t>(static_cast<unsigned __int128>(bytes) * part / whole);
}

}  // namespace

AclInstance::AclInstance(std::shared_ptr<AclDevice> device, std::shared_ptr<AnyPool> device_pool,
                         std::shared_ptr<AnyPool> pinned_pool)
    : device_(std::move(device)), model_(device_) {
  memory_.device_pool = std::move(device_pool);
  memory_.pinned_pool = std::move(pinned_pool);
}

AclStatus AclInstance::open(std::shared_ptr<AclDevice> device, std::shared_ptr<AnyPool> device_pool,
                            std::shared_ptr<AnyPool> pinned_pool, const InstanceOptions &options,
                            std::shared_ptr<AclInstance> &out) noexcept {
  out.reset();
  return without_throwing([&]() -> AclStatus {
    const ContextGuard guard(*device);
    if (!guard.ok()) return guard.status();
    auto instance = std::make_shared<AclInstance>(device, std::move(device_pool), std::move(pinned_pool));
    AclStatus status = instance->load(options);
    if (!status.ok()) {
      (void)instance->tear_down();
      return status;
    }
    out = std::move(instance);
    return {};
  });
}

AclStatus AclInstance::load(const InstanceOptions &options) noexcept {
  weights_owner_ = options.weights_owner;
  return without_throwing([&]() -> AclStatus {
    Status memory = device_owner_.acquire(memory_.device_pool, "slots of " + options.name);
    if (memory.ok()) memory = work_owner_.acquire(memory_.device_pool, "workspace of " + options.name);
    if (memory.ok()) memory = pinned_owner_.acquire(memory_.pinned_pool, "staging of " + options.name);
    memory_.device_owner = device_owner_.id();
    memory_.pinned_owner = pinned_owner_.id();
    if (memory.ok() && options.work_bytes != 0)
      memory = PoolBlock::take(memory_.device_pool, options.work_bytes, work_owner_.id(), work_);
    if (!memory.ok()) return AclStatus::of_pool(memory, false);

    AclStatus status = model_.load(options.path, work_.address(), options.work_bytes, options.weights, options.weight_bytes);
    if (status.ok()) status = model_.describe();
    if (!status.ok()) return status;
    for (const TensorDescription &tensor : description().inputs)
      if (tensor.aipp == ACL_DATA_WITH_DYNAMIC_AIPP || tensor.aipp == ACL_DYNAMIC_AIPP_NODE ||
          tensor.name == ACL_DYNAMIC_AIPP_NAME)
        return {AclOutcome::invalid_argument, "the model has dynamic AIPP, whose parameters each run would have to set"};
    for (const auto *tensors : {&description().inputs, &description().outputs})
      for (const TensorDescription &tensor : *tensors)
        if (tensor.itemsize == 0)
          return {AclOutcome::invalid_argument,
                  "tensor " + tensor.name + " is of ACL type " + std::to_string(tensor.dtype) + ", which has no size"};

    const std::size_t count = description().shapes == ShapeKind::dynamic ? 1 : std::max<std::size_t>(1, options.slots);
    slots_.reserve(count);
    idle_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      slots_.push_back(std::make_unique<ExecutionSlot>(*device_, model_, memory_));
      if (status = slots_.back()->build(); !status.ok()) return status;
      idle_.push_back(slots_.back().get());
    }
    return measure_gears();
  });
}

AclStatus AclInstance::measure_gears() noexcept {
  return without_throwing([&]() -> AclStatus {
    ModelDescription &model = model_.description();
    const std::size_t rows = std::max<std::size_t>(1, model.gears.size());
    input_bytes_.assign(rows, std::vector<std::size_t>(model.inputs.size(), 0));
    output_bytes_.assign(rows, std::vector<std::size_t>(model.outputs.size(), 0));
    if (model.shapes == ShapeKind::dynamic) return {};
    for (std::size_t gear = 0; gear < rows; ++gear) {
      std::vector<Dims> outputs;
      if (model.gears.empty()) {
        for (const TensorDescription &tensor : model.outputs) outputs.push_back(tensor.dims);
      } else {
        // The library alone knows what comes out in a gear.
        if (AclStatus status = slots_[0]->set_gear(gear); !status.ok()) return status;
        if (AclStatus status = model_.current_output_dims(outputs); !status.ok()) return status;
        model.gear_outputs.push_back(outputs);
      }
      for (std::size_t i = 0; i < model.inputs.size(); ++i) {
        if (i == model.hidden) continue;
        const TensorDescription &tensor = model.inputs[i];
        // Without gears the library states what the model takes, pictures for static AIPP included. With gears it states
        // the largest, and the others are in proportion: a YUV picture's bytes are no product of its dims.
        std::size_t bytes = tensor.bytes;
        if (!model.gears.empty()) {
          std::size_t elements = 0, most = 0;
          for (std::size_t other = 0; other < rows; ++other) {
            std::size_t count = 0;
            if (!bytes_of(model.input_dims(i, other), 1, count))
              return {AclOutcome::invalid_argument, "a gear leaves a dimension of input " + tensor.name + " open"};
            most = std::max(most, count);
            if (other == gear) elements = count;
          }
          bytes = tensor.aipp == ACL_DATA_WITH_STATIC_AIPP ? in_proportion(tensor.bytes, elements, most)
                                                           : elements * tensor.itemsize;
          if (bytes > tensor.bytes)
            return {AclOutcome::invalid_argument, "input " + tensor.name + " would take " + std::to_string(bytes) +
                                                      " bytes, the library states " + std::to_string(tensor.bytes)};
        }
        input_bytes_[gear][i] = bytes;
      }
      for (std::size_t i = 0; i < model.outputs.size(); ++i) {
        const TensorDescription &tensor = model.outputs[i];
        std::size_t bytes = 0;
        if (!bytes_of(outputs[i], tensor.itemsize, bytes) || bytes > tensor.bytes)
          return {AclOutcome::invalid_argument, "output " + tensor.name + " would take " + std::to_string(bytes) +
                                                    " bytes, the library states " + std::to_string(tensor.bytes)};
        output_bytes_[gear][i] = bytes;
      }
    }
    return {};
  });
}

AclStatus AclInstance::close(int timeout_ms) noexcept {
  return without_throwing([&]() -> AclStatus {
    {
      std::unique_lock lock(slots_lock_);
      closing_ = true;
      slot_freed_.notify_all();
      if (released_) return {};
      const auto all_idle = [&] { return idle_.size() == slots_.size(); };
      if (timeout_ms < 0) slot_freed_.wait(lock, all_idle);
      else if (!slot_freed_.wait_for(lock, std::chrono::milliseconds(timeout_ms), all_idle)) return AclOutcome::busy;
      if (released_) return {};
      released_ = true;  // one thread goes on
    }
    const ContextGuard guard(*device_);
    if (!guard.ok()) return guard.status().outcome() == AclOutcome::forked ? guard.status() : AclStatus();
    AclStatus first;
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
    for (const auto &slot : slots_) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
      AclStatus status = slot->synchronise(timeout_ms < 0 ? -1 : std::max(1, static_cast<int>(left.count())));
      if (status.code() == stream_sync_timeout) {
        const std::lock_guard slots(slots_lock_);
        released_ = false;
        return AclOutcome::busy;
      }
      if (!status.ok()) (void)slot->synchronise(timeout_ms);  // a wait may fail by itself, while the work goes on
      if (!status.ok() && first.ok() && !slot->dirty) first = std::move(status);
    }
    AclStatus status = tear_down();
    if (retired()) return {};  // its fault was told, and what comes of it now is no news
    return first.ok() ? status : first;
  });
}

AclStatus AclInstance::tear_down() noexcept {
  AclStatus first;
  const auto note = [&](AclStatus status) {
    if (!status.ok() && first.ok()) first = std::move(status);
  };
  for (const auto &slot : slots_) {
    if (slot->dirty) AclProcess::get().end_work();
    slot->dirty = false;
    note(slot->release());
  }
  note(model_.unload());
  work_.reset();
  weights_owner_.reset();
  for (PoolOwner *owner : {&device_owner_, &pinned_owner_, &work_owner_}) owner->release();
  return first;
}

}  // namespace ascend_infer
