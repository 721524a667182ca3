#include "handles.hpp"

#include <sys/mman.h>

#include <new>
#include <sstream>

namespace aclsim {

const char* const kind_names[kind_count] = {"none",        "context",   "stream",     "event", "data_buffer",
                                            "tensor_desc", "dataset",   "model_desc", "aipp",  "load_config",
                                            "exec_config", "allocator", "notify"};

HandleTable& HandleTable::get() {
  static auto* table = new HandleTable;
  return *table;
}

HandleTable::HandleTable() {
  void* area = mmap(nullptr, capacity * sizeof(Slot), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (area == MAP_FAILED) throw std::bad_alloc();
  slots_ = static_cast<Slot*>(area);
}

Slot* HandleTable::take() {
  if (free_.size() > quarantine || (used_ == capacity && !free_.empty())) {
    Slot* slot = free_.front();
    free_.pop_front();
    return slot;
  }
  if (used_ == capacity) throw std::bad_alloc();
  return new (&slots_[used_++]) Slot;
}

Slot* HandleTable::slot_of(const void* handle) const {
  const auto address = reinterpret_cast<std::uintptr_t>(handle);
  const auto begin = reinterpret_cast<std::uintptr_t>(slots_);
  if (address < begin || address >= begin + used_ * sizeof(Slot) || (address - begin) % sizeof(Slot) != 0)
    return nullptr;
  return &slots_[(address - begin) / sizeof(Slot)];
}

void HandleTable::erase(const void* handle) {
  Slot* slot = slot_of(handle);
  if (slot == nullptr) return;
  const std::uint32_t kind = slot->kind.exchange(0, std::memory_order_acq_rel);
  if (kind == 0) return;
  --live_[kind];
  slot->generation.fetch_add(1, std::memory_order_acq_rel);
  slot->device.store(-1, std::memory_order_release);
  slot->object.reset();
  free_.push_back(slot);
}

void HandleTable::erase_all() {
  for (std::size_t i = 0; i < used_; ++i) erase(&slots_[i]);
}

std::string HandleTable::describe() const {
  std::ostringstream out;
  for (std::size_t i = 0; i < used_; ++i) {
    const std::uint32_t kind = slots_[i].kind.load(std::memory_order_relaxed);
    if (kind != 0) out << kind_names[kind] << ' ' << static_cast<const void*>(&slots_[i]) << '\n';
  }
  return out.str();
}

}  // namespace aclsim
