// One loaded model id and what the library says of it.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "acl_device.hpp"
#include "pool_block.hpp"

namespace ascend_infer {

using Dims = std::vector<std::int64_t>;

struct TensorDescription {
  std::string name;
  aclDataType dtype = ACL_DT_UNDEFINED;
  aclFormat format = ACL_FORMAT_UNDEFINED;
  Dims dims;               // -1 where gears or true dynamic shape fill it
  std::size_t bytes = 0;   // of the largest gear; 0: unbounded
  std::size_t itemsize = 0;  // 0: the library calls no size for this type
  aclmdlInputAippType aipp = ACL_DATA_WITHOUT_AIPP;
};

enum class ShapeKind : int { fixed, batch, hw, dims, dynamic };

struct ModelDescription {
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  ShapeKind shapes = ShapeKind::fixed;
  std::vector<TensorDescription> inputs;   // the hidden one included
  std::vector<TensorDescription> outputs;
  std::size_t hidden = none;               // index of the gear's input
  std::vector<Dims> gears;                 // batch: {n}; hw: {h, w}; dims: every input's dims, one after the other
  std::vector<std::vector<Dims>> gear_outputs;  // for each gear, each output's dims

  // An input's dims in a gear; none for a model without gears.
  Dims input_dims(std::size_t input, std::size_t gear) const;
};

struct ModelSizes {
  std::size_t work = 0, weights = 0;
};

// Sizes that a load of this file wants; needs a device, loads nothing.
AclStatus query_model_sizes(const AclDevice &device, const std::string &path, ModelSizes &out) noexcept;

// Memory the model lives in belongs to the caller and outlives it.
class AclModel {
 public:
  AclModel(std::shared_ptr<AclDevice> device) noexcept : device_(std::move(device)) {}

  // Both areas may be null with size 0: the library allocates then.
  AclStatus load(const std::string &path, Address work, std::size_t work_bytes, Address weights,
                 std::size_t weight_bytes) noexcept;
  AclStatus describe() noexcept;
  AclStatus unload() noexcept;
  // Output dims that the library has as the current ones, after a gear was set.
  AclStatus current_output_dims(std::vector<Dims> &out) const noexcept;

  std::uint32_t id() const noexcept { return id_; }
  bool loaded() const noexcept { return loaded_; }
  const ModelDescription &description() const noexcept { return description_; }
  ModelDescription &description() noexcept { return description_; }

 private:
  AclStatus read_tensors();
  AclStatus read_gears();

  std::shared_ptr<AclDevice> device_;
  std::uint32_t id_ = 0;
  bool loaded_ = false;
  aclmdlDesc *desc_ = nullptr;
  ModelDescription description_;
};

}  // namespace ascend_infer
