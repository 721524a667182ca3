// Handles: every pointer that the API hands out for an object is a slot of one table, so a wrong one is told apart
// from a right one, and one that was destroyed from both.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>

namespace aclsim {

enum class Kind : std::uint32_t {
  none,
  context,
  stream,
  event,
  data_buffer,
  tensor_desc,
  dataset,
  model_desc,
  aipp,
  load_config,
  exec_config,
  allocator,
  notify
};
inline constexpr std::size_t kind_count = 13;
extern const char* const kind_names[kind_count];

struct alignas(64) Slot {
  std::atomic<std::uint32_t> kind{0};
  std::atomic<std::uint32_t> generation{0};
  std::atomic<std::int32_t> device{-1};  // of a context: read without the lock
  std::shared_ptr<void> object;
};
static_assert(sizeof(Slot) == 64);

// Guarded by the big lock, but for the atomic members of a slot.
class HandleTable {
 public:
  static HandleTable& get();

  template <typename T>
  Slot* insert(std::shared_ptr<T> object) {
    Slot* slot = take();
    slot->object = std::move(object);
    slot->kind.store(static_cast<std::uint32_t>(T::kind), std::memory_order_release);
    ++live_[static_cast<std::size_t>(T::kind)];
    return slot;
  }

  // Null when the pointer is no live handle of that kind.
  template <typename T>
  T* peek(const void* handle) const {
    Slot* slot = slot_of(handle);
    if (slot == nullptr || slot->kind.load(std::memory_order_relaxed) != static_cast<std::uint32_t>(T::kind))
      return nullptr;
    return static_cast<T*>(slot->object.get());
  }
  template <typename T>
  std::shared_ptr<T> find(const void* handle) const {
    return peek<T>(handle) == nullptr ? nullptr : std::static_pointer_cast<T>(slot_of(handle)->object);
  }

  void erase(const void* handle);
  void erase_all();
  std::size_t live(Kind kind) const { return live_[static_cast<std::size_t>(kind)]; }
  // One line per live handle: "kind address".
  std::string describe() const;

 private:
  static constexpr std::size_t capacity = std::size_t{1} << 22;  // reserved, not used memory
  static constexpr std::size_t quarantine = 8192;                // slots that wait before they are used again

  HandleTable();
  Slot* take();
  Slot* slot_of(const void* handle) const;

  Slot* slots_ = nullptr;
  std::size_t used_ = 0;
  std::deque<Slot*> free_;
  std::array<std::size_t, kind_count> live_{};
};

}  // namespace aclsim
