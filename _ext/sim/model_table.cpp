#include "model_table.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <mutex>

#include "codes.hpp"
#include "stream.hpp"

namespace aclsim {
namespace {

constexpr std::size_t signature_size = 32;

// FNV over eight bytes at a time: to tell models apart, not to resist anyone.
std::uint64_t hash_of(std::string_view bytes) {
  std::uint64_t hash = 1469598103934665603ull ^ bytes.size();
  std::size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data() + i, 8);
    hash = (hash ^ word) * 1099511628211ull;
    hash ^= hash >> 29;
  }
  for (; i < bytes.size(); ++i) hash = (hash ^ static_cast<unsigned char>(bytes[i])) * 1099511628211ull;
  return hash;
}

struct Contents {
  std::mutex lock;
  std::map<std::pair<std::uint64_t, std::string>, std::weak_ptr<ModelContent>> known;
  std::map<std::uint64_t, std::string> twins;
};
Contents& contents() {
  static auto* all = new Contents;
  return *all;
}

bool exists(const std::string& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

// What tells one content of a file from the next.
std::string stamp_of(const std::string& path) {
  struct stat info{};
  if (path.empty() || stat(path.c_str(), &info) != 0) return path;
  return path + "|" + std::to_string(info.st_size) + "|" + std::to_string(info.st_mtim.tv_sec) + "." +
         std::to_string(info.st_mtim.tv_nsec) + "|" + std::to_string(info.st_ino);
}

std::string twin_of(const std::string& path, std::uint64_t hash) {
  {
    const std::lock_guard<std::mutex> lock(contents().lock);
    const auto named = contents().twins.find(hash);
    if (named != contents().twins.end()) return named->second;
  }
  if (path.empty()) return {};
  const auto slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
  const auto dot = path.rfind('.');
  if (dot != std::string::npos && (slash == std::string::npos || dot > slash))
    if (const std::string same = path.substr(0, dot) + ".onnx"; exists(same)) return same;
  const std::string usual = folder + "model.onnx";
  return exists(usual) ? usual : std::string();
}

bool same_counts(const ModelInfo& info, const Network& network, std::string& text) {
  for (const bool input : {true, false}) {
    const std::size_t own = input ? info.visible_inputs() : info.outputs.size();
    const int there = network.count(input);
    if (there < 0 || static_cast<std::size_t>(there) == own) continue;
    text = "the file contradicts itself: MODEL_INOUT_INFO has " + std::to_string(own) +
           (input ? " inputs" : " outputs") + ", the ONNX model " + std::to_string(there);
    return false;
  }
  return true;
}

}  // namespace

ModelTable& ModelTable::get() {
  static auto* table = new ModelTable;
  return *table;
}

std::shared_ptr<Model> ModelTable::add(std::shared_ptr<Model> model) {
  model->id = next_++;
  return models_[model->id] = std::move(model);
}

std::shared_ptr<Model> ModelTable::find(std::uint32_t id) const {
  const auto at = models_.find(id);
  return at == models_.end() ? nullptr : at->second;
}

void ModelTable::remove(std::uint32_t id) { models_.erase(id); }

bool Model::write_weights() {
  if (weight.size == 0) return true;
  unsigned char signature[signature_size];
  for (std::size_t i = 0; i < signature_size; ++i)
    signature[i] = static_cast<unsigned char>(content->hash >> (i % 8 * 8)) ^ static_cast<unsigned char>(i / 8 * 0x55);
  if (device->memory.block_of(weight.begin, weight.size) == nullptr) return false;
  auto* bytes = static_cast<unsigned char*>(device->memory.shadow(weight.begin));
  const std::size_t size = std::min(weight.size, signature_size);
  std::memcpy(bytes, signature, size);
  std::memcpy(bytes + weight.size - size, signature, size);
  return true;
}

bool Model::weights_intact() const {
  if (weight.size == 0) return true;
  if (device->memory.block_of(weight.begin, weight.size) == nullptr) return false;
  const auto* bytes = static_cast<const unsigned char*>(device->memory.shadow(weight.begin));
  const std::size_t size = std::min(weight.size, signature_size);
  for (std::size_t i = 0; i < size; ++i) {
    const auto expected = static_cast<unsigned char>(static_cast<unsigned char>(content->hash >> (i % 8 * 8)) ^
                                                     static_cast<unsigned char>(i / 8 * 0x55));
    if (bytes[i] != expected && weight.size >= 2 * signature_size) return false;
    if (bytes[weight.size - size + i] != expected) return false;
  }
  return true;
}

void free_regions(Model& model) {
  for (Region* region : {&model.work, &model.weight})
    if (region->own) model.device->memory.release(region->begin);
}

void unload_models_of(Device& device, Lock& lock) {
  ModelTable& table = ModelTable::get();
  std::vector<std::shared_ptr<Model>> gone;
  for (const auto& [id, model] : table.all())
    if (model->device == &device) gone.push_back(model);
  if (!gone.empty() && device.lost_code() == 0) Machine::get().violation("device reset with loaded models");
  for (const auto& stream : std::vector<Stream*>(device.streams)) {
    const auto keep = stream->shared_from_this();
    if (!gone.empty() && !keep->dead()) keep->abort(lock);
  }
  for (const auto& model : gone) {
    free_regions(*model);
    table.remove(model->id);
  }
}

int read_file(const std::string& path, std::string& bytes, std::string& text) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) {
    text = "Path " + path + " is invalid. Reason: " + std::strerror(errno);
    return ge_path_invalid;
  }
  if (!S_ISREG(info.st_mode)) {
    text = "Path " + path + " is invalid. Reason: it is no file";
    return ge_path_invalid;
  }
  std::ifstream file(path, std::ios::binary);
  bytes.resize(static_cast<std::size_t>(info.st_size));
  if (!file || !file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) {
    text = "Path " + path + " is invalid. Reason: it cannot be read";
    return ge_path_invalid;
  }
  return 0;
}

void set_twin(std::string_view bytes, const std::string& onnx_path) {
  const std::uint64_t hash = hash_of(bytes);
  const std::lock_guard<std::mutex> lock(contents().lock);
  contents().twins[hash] = onnx_path;
}

int open_content(std::string_view bytes, const std::string& path, bool describe_only,
                 std::shared_ptr<ModelContent>& out, std::string& text) {
  auto content = std::make_shared<ModelContent>();
  content->hash = hash_of(bytes);
  std::string side, ignored;
  if (!path.empty()) {
    const std::string name = path + ".sim.json";
    if (exists(name)) read_file(name, side, ignored);
  }
  if (const int code = read_model(bytes, side, content->info, text); code != 0) return code;
  ModelInfo& info = content->info;
  if (describe_only) {
    info.onnx = {};
    out = std::move(content);
    return 0;
  }
  const std::string twin = info.simulator_model ? std::string() : twin_of(path, content->hash);
  if (!info.simulator_model && twin.empty()) {
    text =
        "this .om holds code for an NPU, which no CPU runs. Put the ONNX model that it was made of beside it, as "
        "model.onnx or under the same name, and the simulator computes with that";
    return ge_model_partition;
  }
  const std::pair<std::uint64_t, std::string> key(content->hash, stamp_of(twin) + side);
  {
    const std::lock_guard<std::mutex> lock(contents().lock);
    if (const auto known = contents().known[key].lock()) {
      out = known;
      return 0;
    }
  }
  std::string reason;
  content->network = open_network(info.onnx, twin, reason);
  info.onnx = {};
  if (content->network == nullptr) {
    text = "the ONNX model cannot be opened: " + reason;
    return ge_load_model;
  }
  // A twin may be more than the model that ATC made of it; the simulator's own file holds what it was written from.
  if (info.simulator_model && !same_counts(info, *content->network, text)) return ge_model_partition;
  if (!twin.empty() && info.aipp.empty())
    for (const TensorInfo& input : info.inputs)
      if (input.dims != input.dims_v2) {
        text = "input \"" + input.name +
               "\" has static AIPP, whose parameters the simulator does not read from a real "
               ".om: write them to " +
               (path.empty() ? "MODEL.om" : path) + ".sim.json (ascend-infer simulate describe)";
        return ge_model_partition;
      }
  if (!twin.empty()) {
    // What the twin computes in is its own affair: a card's model may take and give half precision for it.
    for (std::size_t v = 0; v < info.visible_inputs(); ++v) {
      TensorInfo& tensor = info.inputs[info.visible(v)];
      if (const int type = content->network->type_of(true, tensor.onnx_name, v); type >= 0) tensor.onnx_type = type;
    }
    for (std::size_t i = 0; i < info.outputs.size(); ++i)
      if (const int type = content->network->type_of(false, info.outputs[i].onnx_name, i); type >= 0)
        info.outputs[i].onnx_type = type;
  }
  const std::lock_guard<std::mutex> lock(contents().lock);
  contents().known[key] = content;
  out = std::move(content);
  return 0;
}

}  // namespace aclsim
