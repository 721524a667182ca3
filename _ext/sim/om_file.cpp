#include "om_file.hpp"

#include "codes.hpp"

namespace aclsim {
namespace {

constexpr std::size_t header_size = 256;
constexpr std::uint32_t magic = 0x444F4D49, version_2 = 0x20000000;
constexpr std::uint32_t most_partitions = 4096;

// Reads a table and its partitions; they follow each other without gaps, whatever the offsets say.
bool read_table(std::string_view bytes, std::size_t& at, bool wide, std::vector<Partition>& out, std::string& reason) {
  const std::size_t head = wide ? 8 : 4, entry = wide ? 24 : 12;
  if (at + head > bytes.size()) {
    reason = "the file ends before the partition table";
    return false;
  }
  const auto count = number_at<std::uint32_t>(bytes, at);
  if (count == 0 || count > most_partitions || at + head + std::size_t{count} * entry > bytes.size()) {
    reason = "the partition table has " + std::to_string(count) + " entries, which the file has no room for";
    return false;
  }
  std::size_t content = at + head + count * entry;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::size_t row = at + head + i * entry;
    const auto type = number_at<std::uint32_t>(bytes, row);
    const std::uint64_t size =
        wide ? number_at<std::uint64_t>(bytes, row + 16) : number_at<std::uint32_t>(bytes, row + 8);
    if (size > bytes.size() - content) {
      reason = "partition " + std::to_string(type) + " of " + std::to_string(size) + " bytes passes the file's end";
      return false;
    }
    out.push_back({type, bytes.substr(content, static_cast<std::size_t>(size))});
    content += static_cast<std::size_t>(size);
  }
  at = content;
  return true;
}

}  // namespace

std::string_view OmFile::find(std::uint32_t type) const {
  for (const Partition& partition : partitions)
    if (partition.type == type) return partition.bytes;
  return {};
}

int read_om(std::string_view bytes, OmFile& out, std::string& reason) {
  if (bytes.substr(0, 4) == std::string_view("PK\3\4", 4)) {
    reason = "this is an OM2 package, which the simulator does not read";
    return ge_load_model;
  }
  if (bytes.substr(0, 24) == "version https://git-lfs.") {
    reason = "this is a Git LFS pointer, not the model: fetch it with git lfs pull";
    return ge_model_size_invalid;
  }
  if (bytes.size() < header_size || number_at<std::uint32_t>(bytes, 0) != magic) {
    reason = "Invalid om file: " + std::to_string(bytes.size()) + " bytes that do not begin with an IMOD header";
    return ge_model_size_invalid;
  }
  out.version = number_at<std::uint32_t>(bytes, 8);
  out.model_type = number_at<std::uint8_t>(bytes, 0x52);
  const std::string_view name = bytes.substr(0x54, 32), mark = bytes.substr(0x78, 32);
  out.name = std::string(name.substr(0, name.find('\0')));
  const std::string_view label = mark.substr(0, mark.find('\0'));
  out.simulator_model = label == "ascend_infer sim 1";
  if (!out.simulator_model && label.substr(0, 16) == "ascend_infer sim") {
    reason = "a simulator model of another version (" + std::string(label) + "); this simulator reads version 1";
    return ge_model_partition;
  }
  const bool second = out.version >= version_2;
  const std::uint64_t length32 = number_at<std::uint32_t>(bytes, 0x4C);
  const std::uint64_t length64 = second ? number_at<std::uint64_t>(bytes, 0xB8) : 0;
  out.unknown_shape =
      second && (number_at<std::uint8_t>(bytes, 0xC1) == 1 || number_at<std::uint32_t>(bytes, 0x9C) > 1);
  const bool bundle = out.model_type == 5;
  if (!out.simulator_model && !bundle && (length64 != 0 ? length64 : length32) != bytes.size() - header_size) {
    reason = "Invalid om file: the header speaks of " + std::to_string(length64 != 0 ? length64 : length32) +
             " bytes, " + std::to_string(bytes.size() - header_size) + " follow it";
    return ge_model_size_invalid;
  }
  std::size_t at = header_size;
  const bool wide = second && (length64 != 0 || out.model_type == 3 || bundle);
  if (!read_table(bytes, at, wide, out.partitions, reason)) return ge_model_size_invalid;
  if (out.simulator_model && !read_table(bytes, at, false, out.partitions, reason)) return ge_model_size_invalid;
  return 0;
}

}  // namespace aclsim
