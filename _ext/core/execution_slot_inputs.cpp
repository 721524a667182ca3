// A slot's inputs: rows gathered on the host, rows that lie on the device already, zeros behind them.
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "execution_slot.hpp"

namespace ascend_infer {
namespace {

// aclrtMemcpyAsync's documented restriction, for both addresses. Staging and device buffers begin at multiples of 512.
bool aligned(const void *address) noexcept { return reinterpret_cast<std::uintptr_t>(address) % 64 == 0; }

bool any_on_device(const std::vector<InputPiece> &pieces) noexcept {
  for (const InputPiece &piece : pieces)
    if (piece.on_device) return true;
  return false;
}

std::string location_name(const aclrtPtrAttributes &attributes) {
  switch (attributes.location.type) {
    case ACL_MEM_LOCATION_TYPE_HOST: return "pinned host memory";
    case ACL_MEM_LOCATION_TYPE_DEVICE: return "memory of device " + std::to_string(attributes.location.id);
    case ACL_MEM_LOCATION_TYPE_UNREGISTERED: return "no memory of a device: ordinary host memory, or freed";
    default: return "memory of kind " + std::to_string(attributes.location.type);
  }
}

}  // namespace

void ExecutionSlot::gather(const Batch &batch, const std::vector<std::size_t> &needed) noexcept {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (i == model_.description().hidden) continue;
    char *to = static_cast<char *>(staging(inputs_[i]));
    std::size_t filled = 0;
    const std::vector<InputPiece> &pieces = batch.inputs[i];
    for (const InputPiece &piece : pieces) {
      if (piece.bytes != 0 && !piece.on_device) std::memcpy(to + filled, piece.data, piece.bytes);
      filled += piece.bytes;
    }
    const bool staged = pieces.empty() || !pieces.back().on_device;
    if (staged && filled < needed[i]) std::memset(to + filled, 0, needed[i] - filled);
  }
}

AclStatus ExecutionSlot::copy_in(const Batch &batch, const std::vector<std::size_t> &needed) noexcept {
  borrows_ = false;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (i == model_.description().hidden || needed[i] == 0) continue;
    const Tensor &tensor = inputs_[i];
    if (any_on_device(batch.inputs[i])) {
      borrows_ = true;
      if (AclStatus status = copy_pieces(i, batch.inputs[i], needed[i]); !status.ok()) return status;
    } else if (!device_.unified()) {
      ACL_TRY(device_.library(), aclrtMemcpyAsync, tensor.device.data(), tensor.device.bytes(), tensor.pinned.data(),
              needed[i], ACL_MEMCPY_HOST_TO_DEVICE, stream_);
    }
  }
  if (!borrows_) return {};
  if (copied_ == nullptr)
    if (AclStatus status = create_event(copied_); !status.ok()) return status;
  ACL_TRY(device_.library(), aclrtRecordEvent, copied_, stream_);
  return {};
}

AclStatus ExecutionSlot::copy_pieces(std::size_t input, const std::vector<InputPiece> &pieces,
                                     std::size_t needed) noexcept {
  const Tensor &tensor = inputs_[input];
  std::size_t at = 0;
  for (std::size_t i = 0; i < pieces.size();) {
    std::size_t bytes = 0;
    if (pieces[i].on_device) {
      const InputPiece &piece = pieces[i++];
      bytes = piece.bytes;
      if (bytes == 0) continue;
      if (AclStatus status = check_address(input, tensor, piece); !status.ok()) return status;
      if (AclStatus status = copy_piece(tensor, at, piece.data, bytes, ACL_MEMCPY_DEVICE_TO_DEVICE); !status.ok())
        return status;
    } else {
      while (i < pieces.size() && !pieces[i].on_device) bytes += pieces[i++].bytes;
      if (i == pieces.size()) bytes = needed - at;  // and the zeros that were gathered behind them
      if (bytes != 0 && !device_.unified()) {
        const char *from = static_cast<const char *>(tensor.pinned.data()) + at;
        if (AclStatus status = copy_piece(tensor, at, from, bytes, ACL_MEMCPY_HOST_TO_DEVICE); !status.ok())
          return status;
      }
    }
    at += bytes;
  }
  if (at < needed)
    ACL_TRY(device_.library(), aclrtMemsetAsync, static_cast<char *>(tensor.device.data()) + at,
            tensor.device.bytes() - at, 0, needed - at, stream_);
  return {};
}

AclStatus ExecutionSlot::copy_piece(const Tensor &tensor, std::size_t at, const void *from, std::size_t bytes,
                                    aclrtMemcpyKind kind) noexcept {
  char *to = static_cast<char *>(tensor.device.data()) + at;
  const std::size_t room = tensor.device.bytes() - at;
  if (aligned(to) && aligned(from)) {
    ACL_TRY(device_.library(), aclrtMemcpyAsync, to, room, from, bytes, kind, stream_);
  } else {
    // Ordered behind nothing, and nothing of this slot is under way: its last batch was waited for.
    ACL_TRY(device_.library(), aclrtMemcpy, to, room, from, bytes, kind);
  }
  return {};
}

// An address that the copy engine cannot read is a device fault, which would end the instance for everyone: it is refused
// here, where the library can tell (CANN 8.2 and later). It is compared with where memory of our own is said to be.
AclStatus ExecutionSlot::check_address(std::size_t input, const Tensor &tensor, const InputPiece &piece) noexcept {
  if (device_.unified() || device_.api().aclrtPointerGetAttributes == nullptr) return {};
  aclrtPtrAttributes own{};
  ACL_TRY(device_.library(), aclrtPointerGetAttributes, tensor.device.data(), &own);
  const char *first = static_cast<const char *>(piece.data);
  for (const char *address : {first, first + piece.bytes - 1}) {
    aclrtPtrAttributes found{};
    ACL_TRY(device_.library(), aclrtPointerGetAttributes, address, &found);
    if (found.location.type == own.location.type && found.location.id == own.location.id) continue;
    return without_throwing([&]() -> AclStatus {
      char text[32];
      std::snprintf(text, sizeof text, "%p", static_cast<const void *>(first));
      return AclStatus::of_input(model_.description().inputs[input].name,
                                 std::string("lies at ") + text + ", of whose " + std::to_string(piece.bytes) +
                                     " bytes the " + (address == first ? "first" : "last") + " is in " +
                                     location_name(found) + "; expected memory of device " +
                                     std::to_string(device_.index()));
    });
  }
  return {};
}

void ExecutionSlot::return_inputs() noexcept {
  if (!borrows_) return;
  if (device_.api().aclrtSynchronizeEvent(copied_) != 0) (void)settle();
  borrows_ = false;
}

}  // namespace ascend_infer
