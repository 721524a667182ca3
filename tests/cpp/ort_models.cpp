// Models through onnxruntime's library, without Python: LIBRARY IDENTITY.onnx FAILING.onnx LOOPING.onnx
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/ort_model.hpp"
#include "core/ort_pace.hpp"
#include "core/ort_shape_rule.hpp"

#define CHECK(what)                                                          \
  do {                                                                       \
    if (!(what)) {                                                           \
      std::fprintf(stderr, "%s:%d: CHECK(%s)\n", __FILE__, __LINE__, #what); \
      std::exit(1);                                                          \
    }                                                                        \
  } while (false)

using namespace ascend_infer;

namespace {

std::shared_ptr<OrtModel> loaded(const OrtRuntime &runtime, const char *path) {
  std::shared_ptr<OrtModel> model;
  OrtSettings settings;
  settings.intra_threads = 2;
  settings.session_entries.emplace_back("session.intra_op.allow_spinning", "0");
  const OrtFailure failure = OrtModel::load(runtime, path, settings, model);
  if (!failure.ok()) std::fprintf(stderr, "%s\n", failure.text().c_str());
  CHECK(failure.ok() && model != nullptr);
  return model;
}

struct Floats {
  std::vector<float> data;
  std::vector<std::int64_t> dims;
  Floats(std::vector<std::int64_t> shape, float value) : dims(std::move(shape)) {
    std::size_t count = 1;
    for (const std::int64_t dim : dims) count *= static_cast<std::size_t>(dim);
    data.assign(count, value);
  }
  OrtInput input(std::size_t index = 0) const {
    return {index, data.data(), data.size() * sizeof(float), dims.data(), dims.size()};
  }
  void receive(OrtOutput &output) {
    output.data = data.data();
    output.bytes = data.size() * sizeof(float);
    output.dims = dims.data();
    output.rank = dims.size();
  }
};

void libraries(const char *path, const OrtRuntime *&runtime) {
  const OrtRuntime *again = nullptr, *none = nullptr;
  CHECK(OrtRuntime::open(path, runtime).ok());
  CHECK(OrtRuntime::open(path, again).ok() && again == runtime);
  CHECK(OrtRuntime::open("/nothing.so", none).code() == OrtFailure::no_library && none == nullptr);
  CHECK(OrtRuntime::open("libm.so.6", none).code() == OrtFailure::no_library && none == nullptr);
  CHECK(std::string(runtime->version()).find('.') != std::string::npos);
}

void loading(const OrtRuntime &runtime, const char *path) {
  std::ifstream file(path, std::ios::binary);
  std::string content((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::shared_ptr<OrtModel> model;
  CHECK(OrtModel::load(runtime, content.data(), content.size(), {}, model).ok());
  content.assign(content.size(), 'x');
  CHECK(model->inputs().size() == 1 && model->inputs()[0].name == "x" && model->inputs()[0].type == 1);
  CHECK((model->outputs()[0].dims == std::vector<std::int64_t>{-1, 4}));
  std::shared_ptr<OrtModel> none;
  CHECK(!OrtModel::load(runtime, content.data(), content.size(), {}, none).ok() && none == nullptr);
  CHECK(!OrtModel::load(runtime, "/nothing.onnx", {}, none).ok() && none == nullptr);
  OrtSettings wrong;
  wrong.graph_level = 55;
  CHECK(OrtModel::load(runtime, path, wrong, none).code() == ort::invalid_argument && none == nullptr);
}

void results(const OrtRuntime &runtime, const char *path) {
  std::shared_ptr<OrtModel> model = loaded(runtime, path);
  const Floats given({3, 4}, 2.5F);
  OrtRequest allocated, placed, misplaced;
  for (OrtRequest *request : {&allocated, &placed, &misplaced}) {
    request->inputs.push_back(given.input());
    request->outputs.resize(1);
  }
  Floats target({3, 4}, 0), small({2, 4}, 0);
  target.receive(placed.outputs[0]);
  small.receive(misplaced.outputs[0]);
  for (OrtRequest *request : {&allocated, &placed, &misplaced}) model->run(*request, nullptr);
  CHECK(placed.failure.ok() && !placed.outputs[0].made && target.data == given.data);
  CHECK(!misplaced.failure.ok() && misplaced.failure.of_shape() && small.data == std::vector<float>(8, 0.0F));
  CHECK(allocated.failure.ok() && allocated.outputs[0].made.held() && allocated.nanoseconds > 0);
  OrtTensor kept = std::move(allocated.outputs[0].made);
  CHECK(!allocated.outputs[0].made.held());
  model.reset();  // a result outlives its session
  void *data = nullptr;
  int type = 0;
  std::vector<std::int64_t> dims;
  CHECK(kept.look(data, type, dims).ok() && type == 1 && dims == given.dims);
  for (std::size_t i = 0; i < given.data.size(); ++i) CHECK(static_cast<float *>(data)[i] == 2.5F);
}

void failures(const OrtRuntime &runtime, const char *path) {
  const std::shared_ptr<OrtModel> model = loaded(runtime, path);
  for (const std::int64_t size : {3, 4, 3, 4}) {
    const Floats given({size}, 1);
    OrtRequest request;
    request.inputs.push_back(given.input());
    request.outputs.resize(1);
    model->run(request, nullptr);
    CHECK(request.failure.ok() == (size == 4));
    CHECK(request.failure.ok() || request.failure.text().find("Reshape") != std::string::npos);
    CHECK(!request.failure.of_shape());
  }
  OrtRequest nothing;
  nothing.outputs.resize(1);
  model->run(nothing, nullptr);
  CHECK(!nothing.failure.ok());
}

void stopping(const OrtRuntime &runtime, const char *path) {
  const std::shared_ptr<OrtModel> model = loaded(runtime, path);
  std::shared_ptr<OrtRunOptions> options;
  CHECK(model->run_options(options).ok());
  const std::int64_t times = 1'000'000'000;
  const Floats state({192, 192}, 1);
  OrtRequest request;
  request.inputs.push_back({0, &times, sizeof times, nullptr, 0});
  request.inputs.push_back(state.input(1));
  request.outputs.resize(1);
  std::thread other([&] { CHECK(options->terminate().ok()); });
  model->run(request, options.get());
  other.join();
  CHECK(!request.failure.ok() && request.failure.text().find("terminate") != std::string::npos);
}

void threads(const OrtRuntime &runtime, const char *path) {
  const std::shared_ptr<OrtModel> model = loaded(runtime, path);
  std::atomic<int> right{0};
  std::vector<std::thread> all;
  for (int number = 0; number < 4; ++number)
    all.emplace_back([&, number] {
      for (int step = 0; step < 100; ++step) {
        const Floats given({1 + step % 3, 4}, static_cast<float>(number * 1000 + step));
        Floats target(given.dims, 0);
        OrtRequest request;
        request.inputs.push_back(given.input());
        request.outputs.resize(1);
        if (step % 2 == 0) target.receive(request.outputs[0]);
        model->run(request, nullptr);
        void *data = target.data.data();
        int type = 0;
        std::vector<std::int64_t> dims;
        if (step % 2 != 0) CHECK(request.outputs[0].made.look(data, type, dims).ok());
        if (request.failure.ok() && static_cast<float *>(data)[3] == given.data[0]) ++right;
      }
    });
  for (std::thread &thread : all) thread.join();
  CHECK(right == 400);
}

void many_inputs(const OrtRuntime &runtime, const char *path) {
  // More than fit the stack's arrays, and none of them known: a failure with nothing lost.
  const std::shared_ptr<OrtModel> model = loaded(runtime, path);
  const Floats given({1, 4}, 1);
  OrtRequest request;
  for (int i = 0; i < 20; ++i) request.inputs.push_back(given.input());
  request.outputs.resize(1);
  model->run(request, nullptr);
  request.inputs.resize(1);
  model->run(request, nullptr);
  CHECK(request.failure.ok());
}

void shape_rules() {
  const Floats given({3, 4}, 0);
  OrtRequest request;
  request.inputs.push_back(given.input(2));
  std::int64_t dims[OrtShapeRule::most_dims];
  std::size_t bytes = 0;
  OrtShapeRule rule;
  CHECK(!rule.known() && !rule.predict(request, 4, dims, bytes));
  rule.set({{-1, 2, 0}, {7, 0, 0}, {-1, 2, 1}});
  CHECK(rule.predict(request, 4, dims, bytes) && dims[0] == 3 && dims[1] == 7 && dims[2] == 4 && bytes == 3 * 7 * 4 * 4);
  rule.set({{-1, 1, 0}});
  CHECK(!rule.predict(request, 4, dims, bytes));  // an input that was left out
  rule.set({{-1, 2, 2}});
  CHECK(!rule.predict(request, 4, dims, bytes));  // an axis that it does not have
  const std::int64_t half = std::int64_t{1} << 32;
  rule.set({{half, 0, 0}, {half, 0, 0}});
  CHECK(!rule.predict(request, 4, dims, bytes));
  rule.set({});
  CHECK(rule.predict(request, 4, dims, bytes) && bytes == 4 && rule.rank() == 0);
  rule.forget();
  CHECK(!rule.predict(request, 4, dims, bytes));
  rule.set(std::vector<OrtDimRule>(OrtShapeRule::most_dims + 1));
  CHECK(!rule.known());
}

void paces() {
  const Floats two({2, 4}, 0), three({3, 4}, 0);
  OrtRequest a, b;
  a.inputs.push_back(two.input());
  b.inputs.push_back(three.input());
  const std::uint64_t key = OrtPace::key(a);
  CHECK(key != OrtPace::key(b) && key == OrtPace::key(a));
  OrtPace pace;
  CHECK(!pace.quick(key));
  pace.note(key, 1000);
  CHECK(pace.quick(key) && !pace.quick(OrtPace::key(b)));
  pace.note(key, 1'000'000'000);
  CHECK(!pace.quick(key));
  int runs = 0;
  for (; !pace.quick(key); ++runs) pace.note(key, 1000);
  CHECK(runs > 0 && runs < 10);
  pace.note(OrtPace::key(b), OrtPace::quick_nanoseconds);
  CHECK(!pace.quick(OrtPace::key(b)));
}

}  // namespace

int main(int count, char **names) {
  CHECK(count == 5);
  const OrtRuntime *runtime = nullptr;
  libraries(names[1], runtime);
  loading(*runtime, names[2]);
  results(*runtime, names[2]);
  failures(*runtime, names[3]);
  stopping(*runtime, names[4]);
  threads(*runtime, names[2]);
  many_inputs(*runtime, names[2]);
  shape_rules();
  paces();
  std::puts("passed");
}
