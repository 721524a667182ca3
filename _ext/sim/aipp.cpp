#include "aipp.hpp"

#include <algorithm>
#include <cstring>

#include "../acl_types.h"

namespace aclsim {
namespace {

struct Pixel {
  int channel[4];
};

// The pixel of a picture in one of the fed layouts; channel 3 is X or A.
Pixel read_pixel(int format, const unsigned char* p, std::int64_t w, std::int64_t h, std::int64_t x, std::int64_t y) {
  const std::int64_t at = y * w + x, area = w * h;
  switch (format) {
    case ACL_YUV420SP_U8: {
      const std::int64_t uv = area + (y / 2) * w + x / 2 * 2;
      return {{p[at], p[uv], p[uv + 1], 0}};
    }
    case ACL_YUV422SP_U8: {
      const std::int64_t uv = area + y * w + x / 2 * 2;
      return {{p[at], p[uv], p[uv + 1], 0}};
    }
    case ACL_YUYV_U8: {
      const std::int64_t pair = (y * w + x / 2 * 2) * 2;
      return {{p[at * 2], p[pair + 1], p[pair + 3], 0}};
    }
    case ACL_YUV400_U8:
      return {{p[at], 0, 0, 0}};
    case ACL_RGB888_U8:
      return {{p[at * 3], p[at * 3 + 1], p[at * 3 + 2], 0}};
    default:
      return {{p[at * 4], p[at * 4 + 1], p[at * 4 + 2], p[at * 4 + 3]}};  // four channels in memory order
  }
}

bool is_yuv(int format) {
  return format == ACL_YUV420SP_U8 || format == ACL_YUV422SP_U8 || format == ACL_YUYV_U8 || format == ACL_YUV400_U8 ||
         format == ACL_AYUV444_U8;
}

// Formats whose neighbours share a colour need an even size: half a pair would be read past the picture's end.
bool whole_pairs(int format, std::int64_t w, std::int64_t h) {
  if (format == ACL_YUV420SP_U8) return w % 2 == 0 && h % 2 == 0;
  return (format != ACL_YUV422SP_U8 && format != ACL_YUYV_U8) || w % 2 == 0;
}

int clip(int value) { return std::clamp(value, 0, 255); }

Pixel convert(const AippInfo& aipp, Pixel in) {
  // The leading X or A of a four-channel format goes to the end; for the network it is no colour.
  if (aipp.format == ACL_XRGB8888_U8 || aipp.format == ACL_ARGB8888_U8 || aipp.format == ACL_AYUV444_U8) {
    if (aipp.swap_ax) in = {{in.channel[1], in.channel[2], in.channel[3], in.channel[0]}};
  }
  if (aipp.swap_rb) {
    if (is_yuv(aipp.format))
      std::swap(in.channel[1], in.channel[2]);
    else
      std::swap(in.channel[0], in.channel[2]);
  }
  if (!aipp.csc) return in;
  Pixel out{{0, 0, 0, in.channel[3]}};
  const bool from_yuv = is_yuv(aipp.format);
  for (int r = 0; r < 3; ++r) {
    int sum = 0;
    for (int c = 0; c < 3; ++c) sum += aipp.matrix[r][c] * (in.channel[c] - (from_yuv ? aipp.input_bias[c] : 0));
    out.channel[r] = clip((sum >> 8) + (from_yuv ? 0 : aipp.output_bias[r]));
  }
  return out;
}

}  // namespace

std::size_t aipp_source_bytes(int format, std::int64_t width, std::int64_t height) {
  const auto area = static_cast<std::size_t>(width * height);
  switch (format) {
    case ACL_YUV420SP_U8:
      return area * 3 / 2;
    case ACL_YUV422SP_U8:
    case ACL_YUYV_U8:
      return area * 2;
    case ACL_YUV400_U8:
      return area;
    case ACL_RGB888_U8:
      return area * 3;
    case ACL_XRGB8888_U8:
    case ACL_ARGB8888_U8:
    case ACL_AYUV444_U8:
      return area * 4;
    default:
      return 0;
  }
}

bool apply_aipp(const AippInfo& aipp, const unsigned char* source, std::size_t source_bytes, const Dims& dims,
                bool as_bytes, std::vector<unsigned char>& out, std::string& reason) {
  if (dims.size() != 4 || elements(dims) == 0) {
    reason = "AIPP needs a network input of four dimensions";
    return false;
  }
  const std::int64_t batch = dims[0], channels = aipp.nhwc ? dims[3] : dims[1];
  const std::int64_t height = aipp.nhwc ? dims[1] : dims[2], width = aipp.nhwc ? dims[2] : dims[3];
  const std::int64_t inner_w = width - aipp.pad_left - aipp.pad_right;
  const std::int64_t inner_h = height - aipp.pad_top - aipp.pad_bottom;
  std::int64_t src_w = aipp.src_w, src_h = aipp.src_h;
  if (src_w == 0 || src_h == 0) {
    src_w = inner_w;
    src_h = inner_h;
  }
  const std::int64_t from_x = aipp.crop ? aipp.crop_x : 0, from_y = aipp.crop ? aipp.crop_y : 0;
  const std::int64_t used_w = aipp.crop ? aipp.crop_w : src_w, used_h = aipp.crop ? aipp.crop_h : src_h;
  if (used_w != inner_w || used_h != inner_h || from_x < 0 || from_y < 0 || from_x + used_w > src_w ||
      from_y + used_h > src_h) {
    reason = "AIPP takes " + std::to_string(used_w) + "x" + std::to_string(used_h) + " of a picture of " +
             std::to_string(src_w) + "x" + std::to_string(src_h) + ", the network wants " + std::to_string(inner_w) +
             "x" + std::to_string(inner_h);
    return false;
  }
  if (src_w < 0 || src_h < 0 || !whole_pairs(aipp.format, src_w, src_h)) {
    reason = "AIPP input format " + std::to_string(aipp.format) + " has one colour for two pixels, a picture of " +
             std::to_string(src_w) + "x" + std::to_string(src_h) + " does not come out even";
    return false;
  }
  const std::size_t one = aipp_source_bytes(aipp.format, src_w, src_h);
  if (one == 0 || channels < 1 || channels > 4) {
    reason = "AIPP input format " + std::to_string(aipp.format) + " with " + std::to_string(channels) +
             " channels is not modelled";
    return false;
  }
  if (one * static_cast<std::size_t>(batch) > source_bytes) {
    reason = "AIPP needs " + std::to_string(one * static_cast<std::size_t>(batch)) + " bytes, the buffer has " +
             std::to_string(source_bytes);
    return false;
  }
  const std::size_t count = elements(dims);
  out.resize(count * (as_bytes ? 1 : sizeof(float)));
  const auto put = [&](std::size_t index, float value) {
    if (as_bytes)
      out[index] = static_cast<unsigned char>(clip(static_cast<int>(value)));
    else
      std::memcpy(out.data() + index * sizeof(float), &value, sizeof value);
  };
  for (std::int64_t n = 0; n < batch; ++n) {
    const unsigned char* picture = source + static_cast<std::size_t>(n) * one;
    for (std::int64_t y = 0; y < height; ++y) {
      for (std::int64_t x = 0; x < width; ++x) {
        const std::int64_t ix = x - aipp.pad_left, iy = y - aipp.pad_top;
        const bool inside = ix >= 0 && iy >= 0 && ix < inner_w && iy < inner_h;
        Pixel pixel{{0, 0, 0, 0}};
        if (inside) pixel = convert(aipp, read_pixel(aipp.format, picture, src_w, src_h, from_x + ix, from_y + iy));
        for (std::int64_t c = 0; c < channels; ++c) {
          const std::int64_t index =
              aipp.nhwc ? ((n * height + y) * width + x) * channels + c : ((n * channels + c) * height + y) * width + x;
          const float value =
              inside ? (static_cast<float>(pixel.channel[c]) - aipp.mean[c] - aipp.min[c]) * aipp.var_reci[c]
                     : aipp.pad_value;
          put(static_cast<std::size_t>(index), value);
        }
      }
    }
  }
  return true;
}

}  // namespace aclsim
