// Builds model files byte by byte: the simulator's container, real-looking .om files, bundles.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

struct TestTensor {
  std::string name;
  int type = 0, format = 2;
  std::uint64_t size = 0;
  std::vector<std::int64_t> dims, dims_v2;
  std::vector<std::int64_t> range;  // low, high, low, high
};

struct TestModel {
  std::string program = "aclsim:scale 2 offset 1";
  std::vector<TestTensor> inputs, outputs;
  std::vector<std::vector<std::int64_t>> gears;
  int gear_block = 0;  // 2 batch, 3 hw, 4 dims
  std::vector<std::string> output_shapes, order;
  std::string parameters;  // the JSON's members beside the sizes
  std::uint64_t work = 4096, weight = 1024;
  bool dynamic = false;
  bool real = false;  // as ATC writes it: true lengths, no private table

  std::string bytes() const;
};

template <typename T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

inline std::string tensor_block(const std::vector<TestTensor>& tensors) {
  std::string out;
  put<std::uint32_t>(out, static_cast<std::uint32_t>(tensors.size()));
  for (const TestTensor& t : tensors) {
    const auto& v2 = t.dims_v2.empty() ? t.dims : t.dims_v2;
    put<std::uint64_t>(out, t.size);
    put<std::int32_t>(out, t.format);
    put<std::int32_t>(out, t.type);
    put<std::uint32_t>(out, static_cast<std::uint32_t>(t.name.size()));
    put<std::uint32_t>(out, static_cast<std::uint32_t>(t.dims.size() * 8));
    put<std::uint32_t>(out, static_cast<std::uint32_t>(v2.size() * 8));
    put<std::uint32_t>(out, static_cast<std::uint32_t>(t.range.size() * 8));
    out += t.name;
    for (const auto d : t.dims) put<std::int64_t>(out, d);
    for (const auto d : v2) put<std::int64_t>(out, d);
    for (const auto d : t.range) put<std::int64_t>(out, d);
  }
  return out;
}

inline void add_block(std::string& out, std::uint32_t type, const std::string& value) {
  put<std::uint32_t>(out, type);
  put<std::uint32_t>(out, static_cast<std::uint32_t>(value.size()));
  out += value;
}

inline std::string string_block(const std::vector<std::string>& texts) {
  std::string out;
  put<std::uint32_t>(out, static_cast<std::uint32_t>(texts.size()));
  for (const auto& t : texts) put<std::uint32_t>(out, static_cast<std::uint32_t>(t.size()));
  for (const auto& t : texts) out += t;
  return out;
}

inline std::string header(std::uint32_t length, std::uint8_t type, const std::string& mark, bool dynamic) {
  std::string out(256, '\0');
  const auto at = [&](std::size_t offset, const void* from, std::size_t size) {
    std::memcpy(&out[offset], from, size);
  };
  const std::uint32_t size = 256, version = 0x20000000, one = 1;
  at(0, "IMOD", 4);
  at(4, &size, 4);
  at(8, &version, 4);
  at(0x4C, &length, 4);
  out[0x52] = static_cast<char>(type);
  at(0x54, "test", 4);
  at(0x78, mark.data(), mark.size());
  at(0x9C, &one, 4);
  out[0xC1] = dynamic ? 1 : 0;
  return out;
}

struct TestPart {
  std::uint32_t type;
  std::string bytes;
};

inline std::string partitions(const std::vector<TestPart>& parts) {
  std::string out, content;
  put<std::uint32_t>(out, static_cast<std::uint32_t>(parts.size()));
  for (const TestPart& part : parts) {
    put<std::uint32_t>(out, part.type);
    put<std::uint32_t>(out, static_cast<std::uint32_t>(content.size()));
    put<std::uint32_t>(out, static_cast<std::uint32_t>(part.bytes.size()));
    content += part.bytes;
  }
  return out + content;
}

inline std::string TestModel::bytes() const {
  std::string inout;
  add_block(inout, 0, tensor_block(inputs));
  add_block(inout, 1, tensor_block(outputs));
  if (gear_block == 2) {
    std::string value;
    put<std::uint32_t>(value, static_cast<std::uint32_t>(gears.size()));
    for (const auto& g : gears) put<std::int64_t>(value, g[0]);
    add_block(inout, 2, value);
  } else if (gear_block != 0) {
    std::string value;
    put<std::uint32_t>(value, static_cast<std::uint32_t>(gears.size()));
    for (const auto& g : gears) put<std::uint32_t>(value, static_cast<std::uint32_t>(g.size()));
    for (const auto& g : gears)
      for (const auto v : g) put<std::int64_t>(value, v);
    add_block(inout, static_cast<std::uint32_t>(gear_block), value);
  }
  if (!output_shapes.empty()) add_block(inout, 5, string_block(output_shapes));
  if (!order.empty()) add_block(inout, 6, string_block(order));
  if (real) {
    std::string task;  // field 11, varint: memory_size
    task += static_cast<char>(11 << 3);
    for (std::uint64_t v = work;; v >>= 7) {
      task += static_cast<char>(v >= 0x80 ? (v & 0x7F) | 0x80 : v);
      if (v < 0x80) break;
    }
    const std::string body = partitions({{8, inout}, {0, "model"}, {1, std::string(weight, 'w')}, {2, task}});
    return header(static_cast<std::uint32_t>(body.size()), 0, "", dynamic) + body;
  }
  std::string json = "{\"version\":1,\"name\":\"test\",\"soc\":\"\",\"work_size\":" + std::to_string(work) +
                     ",\"weight_size\":" + std::to_string(weight);
  json += (parameters.empty() ? "" : "," + parameters) + "}";
  return header(0, 0, "ascend_infer sim 1", dynamic) + partitions({{8, inout}, {0, "model"}}) +
         partitions({{0x53494D4A, json}, {0x53494D31, program}});
}

// Models of a bundle: a 64-bit table, whole files inside.
inline std::string bundle(const std::vector<std::string>& models) {
  std::string table, content;
  std::vector<TestPart> parts{{25, std::string(8, '\0')}};
  for (const auto& m : models) parts.push_back({24, m});
  put<std::uint32_t>(table, static_cast<std::uint32_t>(parts.size()));
  put<std::uint32_t>(table, 0);
  for (const TestPart& part : parts) {
    put<std::uint32_t>(table, part.type);
    put<std::uint32_t>(table, 0);
    put<std::uint64_t>(table, content.size());
    put<std::uint64_t>(table, part.bytes.size());
    content += part.bytes;
  }
  return header(0, 5, "", false) + table + content;
}

// One float input and one float output of four elements: out = 2 * in + 1.
inline TestModel plain_model() {
  TestModel model;
  model.inputs = {{"x", 0, 2, 16, {1, 4}, {}, {}}};
  model.outputs = {{"node:0:y", 0, 2, 16, {1, 4}, {}, {}}};
  return model;
}

// The same with a batch of 1, 2 or 4 and the hidden input.
inline TestModel batch_model() {
  TestModel model;
  model.inputs = {{"x", 0, 2, 64, {-1, 4}, {}, {}}, {"ascend_mbatch_shape_data", 3, 2, 4, {1}, {}, {}}};
  model.outputs = {{"node:0:y", 0, 2, 64, {4, 4}, {}, {}}};
  model.gear_block = 2;
  model.gears = {{1}, {2}, {4}};
  model.output_shapes = {"0,0,1,4", "1,0,2,4", "2,0,4,4"};
  return model;
}
