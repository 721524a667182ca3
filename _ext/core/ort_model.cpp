#include "ort_model.hpp"

#include <array>
#include <chrono>
#include <new>

namespace ascend_infer {
namespace {

// As many pointers as there are tensors: on the stack for nearly every model.
template <typename T>
class Pointers {
 public:
  explicit Pointers(std::size_t count) noexcept
      : many_(count > few_.size() ? new (std::nothrow) T[count]() : nullptr),
        begin_(count > few_.size() ? many_.get() : few_.data()) {}
  bool ok() const noexcept { return begin_ != nullptr; }
  T *data() noexcept { return begin_; }
  T &operator[](std::size_t i) noexcept { return begin_[i]; }

 private:
  std::array<T, 8> few_{};
  std::unique_ptr<T[]> many_;
  T *begin_;
};

class Values : public Pointers<ort::Value *> {
 public:
  Values(const OrtRuntime &runtime, std::size_t count) noexcept
      : Pointers(count), runtime_(runtime), count_(ok() ? count : 0) {}
  ~Values() {
    for (std::size_t i = 0; i < count_; ++i)
      if ((*this)[i] != nullptr) runtime_.call<ort::ReleaseValue>((*this)[i]);
  }
  Values(const Values &) = delete;
  Values &operator=(const Values &) = delete;

 private:
  const OrtRuntime &runtime_;
  std::size_t count_;
};

class Options {
 public:
  explicit Options(const OrtRuntime &runtime) noexcept : runtime_(runtime) {}
  ~Options() { runtime_.call<ort::ReleaseSessionOptions>(options_); }
  Options(const Options &) = delete;
  Options &operator=(const Options &) = delete;

  OrtFailure set(const OrtSettings &settings) noexcept {
    OrtFailure failure = runtime_.ask<ort::CreateSessionOptions>(&options_);
    const auto next = [&failure](auto &&step) {
      if (failure.ok()) failure = step();
    };
    next([&] { return runtime_.ask<ort::SetSessionLogSeverityLevel>(options_, settings.log_severity); });
    next([&] { return runtime_.ask<ort::SetIntraOpNumThreads>(options_, settings.intra_threads); });
    next([&] { return runtime_.ask<ort::SetInterOpNumThreads>(options_, settings.inter_threads); });
    next([&] { return runtime_.ask<ort::SetSessionGraphOptimizationLevel>(options_, settings.graph_level); });
    if (settings.parallel)
      next([&] { return runtime_.ask<ort::SetSessionExecutionMode>(options_, static_cast<int>(ort::parallel)); });
    if (settings.mem_arena == 0) next([&] { return runtime_.ask<ort::DisableCpuMemArena>(options_); });
    if (settings.mem_arena == 1) next([&] { return runtime_.ask<ort::EnableCpuMemArena>(options_); });
    if (settings.mem_pattern == 0) next([&] { return runtime_.ask<ort::DisableMemPattern>(options_); });
    if (settings.mem_pattern == 1) next([&] { return runtime_.ask<ort::EnableMemPattern>(options_); });
    for (const auto &entry : settings.session_entries)
      next([&] {
        return runtime_.ask<ort::AddSessionConfigEntry>(options_, entry.first.c_str(), entry.second.c_str());
      });
    return failure;
  }
  const ort::SessionOptions *get() const noexcept { return options_; }

 private:
  const OrtRuntime &runtime_;
  ort::SessionOptions *options_ = nullptr;
};

std::int64_t now() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

OrtFailure OrtModel::load(const OrtRuntime &runtime, const char *path, const OrtSettings &settings,
                          std::shared_ptr<OrtModel> &out) noexcept {
  try {
    auto model = std::make_shared<OrtModel>(runtime);
    OrtFailure failure = model->create(path, nullptr, 0, settings);
    if (failure.ok()) out = std::move(model);
    return failure;
  } catch (const std::exception &) {
    return OrtFailure::no_memory();
  }
}

OrtFailure OrtModel::load(const OrtRuntime &runtime, const void *data, std::size_t size, const OrtSettings &settings,
                          std::shared_ptr<OrtModel> &out) noexcept {
  try {
    auto model = std::make_shared<OrtModel>(runtime);
    OrtFailure failure = model->create(nullptr, data, size, settings);
    if (failure.ok()) out = std::move(model);
    return failure;
  } catch (const std::exception &) {
    return OrtFailure::no_memory();
  }
}

OrtModel::~OrtModel() {
  // Ending a session joins its threads, and a forked child does not have its parent's: there it stays.
  if (!process_.forked()) runtime_.call<ort::ReleaseSession>(session_);
}

OrtFailure OrtModel::create(const char *path, const void *data, std::size_t size,
                            const OrtSettings &settings) noexcept {
  Options options(runtime_);
  OrtFailure failure = options.set(settings);
  if (failure.ok())
    failure = path != nullptr
                  ? runtime_.ask<ort::CreateSession>(runtime_.env(), path, options.get(), &session_)
                  : runtime_.ask<ort::CreateSessionFromArray>(runtime_.env(), data, size, options.get(), &session_);
  if (failure.ok()) failure = describe();
  try {
    run_entries_ = settings.run_entries;
  } catch (const std::exception &) {
    return OrtFailure::no_memory();
  }
  if (failure.ok()) failure = run_options(shared_options_);
  return failure;
}

OrtFailure OrtModel::describe() noexcept {
  try {
    OrtFailure failure =
        describe<ort::SessionGetInputCount, ort::SessionGetInputTypeInfo, ort::SessionGetInputName>(inputs_, false);
    if (failure.ok())
      failure = describe<ort::SessionGetOverridableInitializerCount, ort::SessionGetOverridableInitializerTypeInfo,
                         ort::SessionGetOverridableInitializerName>(inputs_, true);
    if (failure.ok())
      failure = describe<ort::SessionGetOutputCount, ort::SessionGetOutputTypeInfo, ort::SessionGetOutputName>(outputs_,
                                                                                                             false);
    return failure;
  } catch (const std::exception &) {
    return OrtFailure::no_memory();
  }
}

template <typename Count, typename Type, typename Name>
OrtFailure OrtModel::describe(std::vector<OrtTensorDescription> &found, bool optional) {
  const ort::Session *session = session_;
  std::size_t count = 0;
  OrtFailure failure = runtime_.ask<Count>(session, &count);
  for (std::size_t i = 0; i < count && failure.ok(); ++i) {
    OrtTensorDescription tensor;
    tensor.optional = optional;
    char *name = nullptr;
    failure = runtime_.ask<Name>(session, i, runtime_.allocator(), &name);
    if (!failure.ok()) break;
    try {
      tensor.name = name;
    } catch (const std::bad_alloc &) {
      failure = OrtFailure::no_memory();
    }
    const OrtFailure freed = runtime_.ask<ort::AllocatorFree>(runtime_.allocator(), static_cast<void *>(name));
    if (failure.ok()) failure = freed;
    ort::TypeInfo *type = nullptr;
    if (failure.ok()) failure = runtime_.ask<Type>(session, i, &type);
    const ort::TensorInfo *info = nullptr;  // stays null for what is no tensor
    if (failure.ok()) failure = runtime_.ask<ort::CastTypeInfoToTensorInfo>(static_cast<const ort::TypeInfo *>(type), &info);
    if (failure.ok() && info != nullptr) {
      std::size_t rank = 0;
      failure = runtime_.ask<ort::GetTensorElementType>(info, &tensor.type);
      if (failure.ok()) failure = runtime_.ask<ort::GetDimensionsCount>(info, &rank);
      try {
        tensor.dims.assign(rank, -1);
      } catch (const std::bad_alloc &) {
        failure = OrtFailure::no_memory();
      }
      if (failure.ok()) failure = runtime_.ask<ort::GetDimensions>(info, tensor.dims.data(), rank);
    }
    runtime_.call<ort::ReleaseTypeInfo>(type);
    if (failure.ok()) found.push_back(std::move(tensor));
  }
  return failure;
}

OrtFailure OrtModel::borrow(void *data, std::size_t bytes, const std::int64_t *dims, std::size_t rank, int type,
                            ort::Value **out) const noexcept {
  return runtime_.ask<ort::CreateTensorWithDataAsOrtValue>(runtime_.memory(), data, bytes, dims, rank, type, out);
}

void OrtModel::run(OrtRequest &request, const OrtRunOptions *options) const noexcept {
  const std::int64_t begun = now();
  request.failure = process_.forked() ? OrtFailure::of(OrtFailure::forked, "") : run_tensors(request, options);
  request.nanoseconds = now() - begun;
}

OrtFailure OrtModel::run_tensors(OrtRequest &request, const OrtRunOptions *options) const noexcept {
  const std::size_t fed = request.inputs.size(), wanted = request.outputs.size();
  Pointers<const char *> input_names(fed), output_names(wanted);
  Values in(runtime_, fed), out(runtime_, wanted);
  if (!input_names.ok() || !output_names.ok() || !in.ok() || !out.ok()) return OrtFailure::no_memory();
  for (std::size_t i = 0; i < fed; ++i) {
    const OrtInput &input = request.inputs[i];
    const OrtTensorDescription &own = inputs_[input.index];
    input_names[i] = own.name.c_str();
    // onnxruntime does not write to what it is fed.
    OrtFailure failure =
        borrow(const_cast<void *>(input.data), input.bytes, input.dims, input.rank, own.type, &in[i]);
    if (!failure.ok()) return failure;
  }
  for (std::size_t i = 0; i < wanted; ++i) {
    const OrtOutput &output = request.outputs[i];
    const OrtTensorDescription &own = outputs_[output.index];
    output_names[i] = own.name.c_str();
    if (output.data == nullptr) continue;
    OrtFailure failure = borrow(output.data, output.bytes, output.dims, output.rank, own.type, &out[i]);
    if (!failure.ok()) return failure;
  }
  const ort::RunOptions *with = (options == nullptr ? *shared_options_ : *options).get();
  OrtFailure failure =
      runtime_.ask<ort::Run>(session_, with, input_names.data(), in.data(), fed, output_names.data(), wanted, out.data());
  if (!failure.ok()) return failure;
  for (std::size_t i = 0; i < wanted; ++i) {
    if (request.outputs[i].data != nullptr) continue;
    request.outputs[i].made = OrtTensor(&runtime_, out[i]);
    out[i] = nullptr;
  }
  return {};
}

}  // namespace ascend_infer
