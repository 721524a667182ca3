#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include "../acl_types.h"
#include "dtypes.hpp"
#include "network.hpp"
#include "onnxruntime_api.hpp"
#include "options.hpp"

namespace aclsim {
namespace {

constexpr std::uint32_t table_version = 17;  // every wheel that ships the library knows it
constexpr int log_nothing = 4;

struct ApiBase {
  void* const* (*get_api)(std::uint32_t) noexcept;
  const char* (*get_version)() noexcept;
};

std::mutex& runtime_lock() {
  static auto* lock = new std::mutex;
  return *lock;
}
OnnxRuntime* loaded = nullptr;  // guarded by runtime_lock

class OnnxNetwork : public Network {
 public:
  OnnxNetwork(const OnnxRuntime& runtime, OrtSession* session) : runtime_(runtime), session_(session) {}
  ~OnnxNetwork() override { runtime_.release_session(session_); }

  bool read_names(std::string& reason) {
    OrtAllocator* allocator = nullptr;
    reason = runtime_.take(runtime_.allocator(&allocator));
    for (const bool inputs : {true, false}) {
      std::size_t count = 0;
      if (reason.empty()) reason = runtime_.take(runtime_.count(session_, inputs, &count));
      for (std::size_t i = 0; i < count && reason.empty(); ++i) {
        char* name = nullptr;
        reason = runtime_.take(runtime_.name(session_, inputs, i, allocator, &name));
        if (!reason.empty()) break;
        (inputs ? inputs_ : outputs_).emplace_back(name);
        runtime_.take(runtime_.free(allocator, name));
        (inputs ? input_types_ : output_types_).push_back(element_type(inputs, i));
      }
    }
    return reason.empty();
  }

  int type_of(bool input, const std::string& name, std::size_t index) const override {
    const auto& names = input ? inputs_ : outputs_;
    const auto& types = input ? input_types_ : output_types_;
    const auto found = std::find(names.begin(), names.end(), name);
    if (found != names.end()) index = static_cast<std::size_t>(found - names.begin());
    return index < types.size() ? types[index] : -1;
  }

  int count(bool input) const override { return static_cast<int>((input ? inputs_ : outputs_).size()); }

  bool run(const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs, std::string& reason) override {
    std::vector<const char*> in_names, out_names;
    if (!match(inputs, inputs_, "input", in_names, reason) || !match(outputs, outputs_, "output", out_names, reason))
      return false;
    Values in(runtime_), out(runtime_);
    for (const Tensor& tensor : inputs)
      if (!in.borrow(tensor, reason)) return false;
    for (const Tensor& tensor : outputs) {
      if (tensor.data == nullptr)
        out.values.push_back(nullptr);
      else if (!out.borrow(tensor, reason))
        return false;
    }
    reason = runtime_.take(runtime_.run(session_, runtime_.quiet, in_names.data(), in.values.data(), in.values.size(),
                                        out_names.data(), out.values.size(), out.values.data()));
    for (std::size_t i = 0; i < outputs.size() && reason.empty(); ++i)
      if (outputs[i].data == nullptr) copy_out(out.values[i], outputs[i], reason);
    return reason.empty();
  }

 private:
  struct Values {
    explicit Values(const OnnxRuntime& r) : runtime(r) {}
    ~Values() {
      for (OrtValue* value : values)
        if (value != nullptr) runtime.release_value(value);
    }
    Values(const Values&) = delete;
    Values& operator=(const Values&) = delete;
    bool borrow(const Tensor& tensor, std::string& reason) {
      OrtValue* value = nullptr;
      const std::size_t bytes = elements(tensor.dims) * element_size(tensor.type);
      reason = runtime.take(runtime.tensor_on(runtime.memory, tensor.data, bytes, tensor.dims.data(),
                                              tensor.dims.size(), onnx_type(tensor.type), &value));
      if (reason.empty()) values.push_back(value);
      return reason.empty();
    }
    const OnnxRuntime& runtime;
    std::vector<OrtValue*> values;
  };

  // By name where the network has it, else by position.
  static bool match(const std::vector<Tensor>& tensors, const std::vector<std::string>& own, const char* what,
                    std::vector<const char*>& names, std::string& reason) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const auto found = std::find(own.begin(), own.end(), tensors[i].name);
      if (found != own.end())
        names.push_back(found->c_str());
      else if (i < own.size() && tensors.size() == own.size())
        names.push_back(own[i].c_str());
      else {
        reason = std::string("the ONNX model has no ") + what + " \"" + tensors[i].name + "\"";
        return false;
      }
    }
    return true;
  }

  void copy_out(OrtValue* value, Tensor& tensor, std::string& reason) const {
    OrtTensorInfo* info = nullptr;
    void* data = nullptr;
    std::size_t rank = 0;
    int type = 0;
    reason = runtime_.take(runtime_.tensor_info(value, &info));
    if (!reason.empty()) return;
    reason = runtime_.take(runtime_.rank(info, &rank));
    tensor.dims.assign(rank, 0);
    if (reason.empty()) reason = runtime_.take(runtime_.dims(info, tensor.dims.data(), rank));
    if (reason.empty()) reason = runtime_.take(runtime_.element_type(info, &type));
    runtime_.release_info(info);
    if (reason.empty() && type != onnx_type(tensor.type))
      reason = "output \"" + tensor.name + "\" has ONNX type " + std::to_string(type) + ", the model says " +
               std::to_string(onnx_type(tensor.type));
    if (reason.empty()) reason = runtime_.take(runtime_.tensor_data(value, &data));
    if (!reason.empty()) return;
    tensor.bytes = elements(tensor.dims) * element_size(tensor.type);
    tensor.own.resize(tensor.bytes);
    if (tensor.bytes != 0) std::memcpy(tensor.own.data(), data, tensor.bytes);
  }

  int element_type(bool inputs, std::size_t index) const {
    OrtTypeInfo* info = nullptr;
    const OrtTensorInfo* tensor = nullptr;
    int type = 0;
    std::string reason = runtime_.take(runtime_.type_info(session_, inputs, index, &info));
    if (reason.empty()) reason = runtime_.take(runtime_.as_tensor(info, &tensor));
    if (reason.empty() && tensor != nullptr) runtime_.take(runtime_.element_type(tensor, &type));
    if (info != nullptr) runtime_.release_type(info);
    return acl_type(type);
  }

  const OnnxRuntime& runtime_;
  OrtSession* session_;
  std::vector<std::string> inputs_, outputs_;
  std::vector<int> input_types_, output_types_;
};

}  // namespace

std::string OnnxRuntime::take(OrtStatus* status) const {
  if (status == nullptr) return {};
  std::string message = at<const char*, const OrtStatus*>(2)(status);
  at<void, OrtStatus*>(93)(status);
  return message.empty() ? "onnxruntime failed without a message" : message;
}

namespace {

// While onnxruntime starts: since 1.32 it writes a device id and a database of usage events below ~/.cache/Microsoft
// unless this variable is set at that moment. Whoever set it himself has decided.
class TelemetryOff {
 public:
  TelemetryOff() : ours_(std::getenv(name) == nullptr) {
    if (ours_) setenv(name, "1", 0);
  }
  ~TelemetryOff() {
    if (ours_) unsetenv(name);
  }
  TelemetryOff(const TelemetryOff&) = delete;
  TelemetryOff& operator=(const TelemetryOff&) = delete;

 private:
  static constexpr const char* name = "ORT_DISABLE_TELEMETRY";
  bool ours_;
};

}  // namespace

const OnnxRuntime* OnnxRuntime::get(const std::string& path, std::string& reason) {
  const std::lock_guard<std::mutex> lock(runtime_lock());
  if (loaded != nullptr) return loaded;
  const TelemetryOff quiet;
  const std::string name = path.empty() ? "libonnxruntime.so.1" : path;
  void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    reason =
        "onnxruntime's library cannot be loaded: " + std::string(why == nullptr ? name : why) +
        ". Install onnxruntime (pip install onnxruntime) and name its capi/libonnxruntime.so.* in ACLSIM_ONNXRUNTIME";
    return nullptr;
  }
  const auto base_of = reinterpret_cast<const ApiBase* (*)() noexcept>(dlsym(library, "OrtGetApiBase"));
  const ApiBase* base = base_of == nullptr ? nullptr : base_of();
  void* const* table = base == nullptr ? nullptr : base->get_api(table_version);
  if (table == nullptr) {
    reason = name + " is no onnxruntime of version 1.17 or newer";
    return nullptr;
  }
  auto runtime = std::make_unique<OnnxRuntime>();
  runtime->table_ = table;
  runtime->version = base->get_version();
  reason = runtime->take(runtime->create_env(log_nothing, "aclsim", &runtime->env));
  // Nothing that runs here is anybody else's business.
  if (reason.empty()) reason = runtime->take(runtime->no_telemetry(runtime->env));
  if (reason.empty()) reason = runtime->take(runtime->cpu_memory(&runtime->memory));
  if (reason.empty()) reason = runtime->take(runtime->create_run_options(&runtime->quiet));
  if (reason.empty()) reason = runtime->take(runtime->set_run_log_level(runtime->quiet, log_nothing));
  if (!reason.empty()) return nullptr;
  loaded = runtime.release();
  return loaded;
}

std::shared_ptr<Network> open_onnx(std::string_view bytes, const std::string& path, std::string& reason) {
  const OnnxRuntime* runtime = OnnxRuntime::get(options().onnxruntime, reason);
  if (runtime == nullptr) return nullptr;
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  const int threads = options().threads > 0 ? options().threads : static_cast<int>(std::min(4u, cores));
  OrtSessionOptions* settings = nullptr;
  OrtSession* session = nullptr;
  reason = runtime->take(runtime->create_options(&settings));
  if (reason.empty()) reason = runtime->take(runtime->set_log_level(settings, log_nothing));
  if (reason.empty()) reason = runtime->take(runtime->set_intra_threads(settings, threads));
  if (reason.empty()) reason = runtime->take(runtime->set_inter_threads(settings, 1));
  // Threads that spin between two runs would take the cores from the other streams.
  if (reason.empty()) reason = runtime->take(runtime->add_config(settings, "session.intra_op.allow_spinning", "0"));
  if (reason.empty())
    reason = runtime->take(bytes.empty()
                               ? runtime->create_session(runtime->env, path.c_str(), settings, &session)
                               : runtime->create_session(runtime->env, bytes.data(), bytes.size(), settings, &session));
  if (settings != nullptr) runtime->release_options(settings);
  if (!reason.empty()) return nullptr;
  auto network = std::make_shared<OnnxNetwork>(*runtime, session);
  return network->read_names(reason) ? network : nullptr;
}

std::string onnxruntime_version() {
  const std::lock_guard<std::mutex> lock(runtime_lock());
  return loaded == nullptr ? std::string() : loaded->version;
}

}  // namespace aclsim
