// Loaded models and the memory that they work in.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dataset.hpp"
#include "device.hpp"
#include "model_info.hpp"
#include "network.hpp"

namespace aclsim {

// What everything loaded from equal bytes has in common.
struct ModelContent {
  ModelInfo info;
  std::shared_ptr<Network> network;
  std::uint64_t hash = 0;
};

struct Region {
  Address begin = 0;
  std::size_t size = 0;
  bool own = false;  // allocated by the load, freed by the unload
  bool overlaps(const Region& other) const {
    return size != 0 && other.size != 0 && begin < other.begin + other.size && other.begin < begin + size;
  }
};

class Model {
 public:
  std::uint32_t id = 0;
  std::uint32_t bundle = 0;
  std::shared_ptr<ModelContent> content;
  std::shared_ptr<Context> context;
  Device* device = nullptr;
  Region work, weight;
  enum class Mode { none, sync, async } mode = Mode::none;
  std::size_t pending = 0;  // executions queued or running
  std::size_t running = 0;
  GearChoice current;  // of the last aclmdlSetDynamic*: what aclmdlGetCurOutputDims speaks of
  std::int32_t priority = 0;

  const ModelInfo& info() const { return content->info; }
  // Marks the weights' memory with the content's signature; false when it does not reach.
  bool write_weights();
  // The signature is still there.
  bool weights_intact() const;
};

// Guarded by the big lock.
class ModelTable {
 public:
  static ModelTable& get();
  std::shared_ptr<Model> add(std::shared_ptr<Model> model);
  std::shared_ptr<Model> find(std::uint32_t id) const;
  void remove(std::uint32_t id);
  const std::map<std::uint32_t, std::shared_ptr<Model>>& all() const { return models_; }

  // Bundles: the ids of their models by index.
  std::map<std::uint32_t, std::vector<std::uint32_t>> bundles;
  std::uint32_t next_bundle = 1;

 private:
  std::map<std::uint32_t, std::shared_ptr<Model>> models_;
  std::uint32_t next_ = 1;
};

// Everything loaded on a device goes, waiting for what runs.
void unload_models_of(Device& device, Lock& lock);
void free_regions(Model& model);

// Reads a model's bytes and opens its network, or finds both where equal bytes were loaded before. Called without the
// lock. `path` is that of the file, empty for a model from memory: a real .om looks for its ONNX twin beside it.
// With `describe_only` no network is opened.
int open_content(std::string_view bytes, const std::string& path, bool describe_only,
                 std::shared_ptr<ModelContent>& out, std::string& text);
// The whole file; 145002 with a reason when it cannot be read.
int read_file(const std::string& path, std::string& bytes, std::string& text);
// The ONNX model that a real .om from memory stands for, by the hash of the .om's bytes.
void set_twin(std::string_view bytes, const std::string& onnx_path);

}  // namespace aclsim
