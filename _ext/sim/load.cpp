#include "load.hpp"

#include "call.hpp"
#include "options.hpp"

namespace aclsim {
namespace {

// The program's memory, or some of the library's own.
int place(const char* function, const char* what, Model& model, Region& region, void* given, std::size_t given_size,
          std::size_t needed, bool with_memory) {
  if (given != nullptr || given_size != 0) {
    if (given == nullptr || given_size < needed)
      return fail(ge_param_invalid, "E13025", "%s failed: %s has %zu bytes at %p, the model needs %zu.", function, what,
                  given_size, given, needed);
    region.begin = reinterpret_cast<Address>(given);
    region.size = needed;
    if (needed != 0 && model.device->memory.block_of(region.begin, needed) == nullptr)
      return fail(ge_param_invalid, "E13025", "%s failed: %s at %p with %zu bytes is no live memory of device %d.",
                  function, what, given, needed, model.device->id);
    return 0;
  }
  (void)with_memory;
  if (needed == 0) return 0;
  const DeviceBlock* block =
      model.device->memory.allocate(needed, (needed + 63) / 32 * 32, DeviceMemory::Pages::huge_first, 45);
  if (block == nullptr)
    return fail(ge_memory_allocation, "EL0004",
                "Failed to allocate memory requested by GE module. %s of %zu bytes: device %d has %llu bytes free.",
                what, needed, model.device->id, static_cast<unsigned long long>(model.device->memory.free_bytes()));
  region.begin = block->begin;
  region.size = needed;
  region.own = true;
  return 0;
}

}  // namespace

int load_model(const char* function, const LoadRequest& request, std::uint32_t* id) {
  if (id == nullptr) return fail_null(function, "modelId");
  auto model = std::make_shared<Model>();
  Nanoseconds delay = 0;
  {
    const Lock lock(big_lock());
    if (Machine::get().init_count == 0 && options().require_init)
      return fail(ge_not_init, "E19999", "%s failed: aclInit was not called.", function);
    int code = 0;
    model->context = current_context(function, code);
    if (model->context == nullptr) return code;
    model->device = model->context->device;
    delay = static_cast<Nanoseconds>(options().time.load_ms * 1e6);
  }
  std::string text, content;
  std::string_view bytes = request.bytes;
  int code = 0;
  if (!request.path.empty()) {
    if (code = read_file(request.path, content, text); code != 0)
      return fail(code, "E19999", "%s failed. %s.", function, text.c_str());
    bytes = content;
  }
  if (code = open_content(bytes, request.path, false, model->content, text); code != 0)
    return fail(code, "E10001", "%s failed. %s: %s.", function,
                request.path.empty() ? "Model in memory" : request.path.c_str(), text.c_str());
  Clock::get().sleep(delay);

  const Lock lock(big_lock());
  const ModelInfo& info = model->info();
  // Models of true dynamic shapes ignore a workspace.
  const bool dynamic = info.shapes == Shapes::dynamic;
  code = place(function, "workspace", *model, model->work, dynamic ? nullptr : request.work,
               dynamic ? 0 : request.work_size, dynamic ? 0 : info.work_size, request.with_memory);
  if (code == 0)
    code = place(function, "weight memory", *model, model->weight, request.weight, request.weight_size,
                 info.weight_size, request.with_memory);
  if (code != 0 || !model->write_weights()) {
    free_regions(*model);
    return code;
  }
  model->priority = request.priority;
  model->bundle = request.bundle;
  *id = ModelTable::get().add(model)->id;
  return 0;
}

int unload_model(const char* function, std::uint32_t id, bool of_bundle) {
  const Lock lock(big_lock());
  const auto model = ModelTable::get().find(id);
  if (model == nullptr)
    return fail(ge_model_id_invalid, "E13014", "%s failed: there is no loaded model %u.", function, id);
  if (model->bundle != 0 && !of_bundle)
    return fail(ge_param_invalid, "E19999", "%s failed: model %u belongs to bundle %u: use aclmdlBundleUnload.",
                function, id, model->bundle);
  int code = 0;
  const auto context = current_context(function, code);
  if (context == nullptr) return code;
  if (model->context != context)
    return fail(rt_model_context, "EE1010", "%s execution failed because model %u was loaded in another context.",
                function, id);
  if (model->pending > 0)
    return fail(rt_model_running, "EE1009", "%s failed. Model %u has %zu executions queued or running.", function, id,
                model->pending);
  free_regions(*model);
  ModelTable::get().remove(id);
  return 0;
}

}  // namespace aclsim
