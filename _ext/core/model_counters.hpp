// What a loaded model counts of its requests and executions. Not synchronised: the GIL is held for every call.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <new>
#include <vector>

#include "batch_sizes.hpp"
#include "latency_histogram.hpp"

namespace ascend_infer {

// Durations of requests; each has a sum and a histogram.
enum class Phase : std::size_t { request, queue, input, infer, output };
constexpr std::size_t phase_count = 5;

enum class FailureReason : std::size_t { rejected, canceled, backend, other };
constexpr std::size_t failure_reason_count = 4;

using PhaseHistograms = std::array<LatencyHistogram, phase_count>;

// Nanoseconds of a clock that is read in a few nanoseconds and moves every few milliseconds.
inline std::int64_t coarse_now_ns(bool since_1970) noexcept {
#ifdef CLOCK_MONOTONIC_COARSE
  const clockid_t clock = since_1970 ? CLOCK_REALTIME_COARSE : CLOCK_MONOTONIC_COARSE;
#else
  const clockid_t clock = since_1970 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
#endif
  std::timespec now{};
  clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + std::int64_t{now.tv_nsec};
}

// The histograms as they stood some time ago, in steps of a fifth of the window, as Prometheus' own summaries keep them.
class LatencyWindow {
 public:
  static constexpr std::size_t parts = 5;

  bool open() const noexcept { return !ring_.empty(); }
  // Throws std::bad_alloc and has changed nothing then.
  void open(const PhaseHistograms &now, std::int64_t now_ns, std::int64_t window_ns) {
    ring_.assign(parts, now);
    step_ns_ = std::max<std::int64_t>(1, window_ns / std::int64_t{parts});
    next_ns_ = now_ns + step_ns_;
    oldest_ = 0;
  }
  void rotate(const PhaseHistograms &now, std::int64_t now_ns) noexcept {
    for (std::size_t part = 0; part < parts && now_ns >= next_ns_; ++part, next_ns_ += step_ns_) {
      ring_[oldest_] = now;
      oldest_ = (oldest_ + 1) % parts;
    }
    if (now_ns >= next_ns_) next_ns_ = now_ns + step_ns_;  // nothing happened for longer than the window
  }
  // What to take away from the histograms of now.
  const PhaseHistograms &before() const noexcept { return ring_[oldest_]; }

 private:
  std::vector<PhaseHistograms> ring_;
  std::size_t oldest_ = 0;
  std::int64_t step_ns_ = 0;
  std::int64_t next_ns_ = 0;
};

class ModelCounters {
 public:
  void batch_done(std::int64_t rows, std::int64_t padded_rows, std::int64_t input_ns, std::int64_t infer_ns,
                  std::int64_t output_ns) noexcept {
    ++executions;
    executed_rows += rows;
    padding_rows += padded_rows;
    last_inference_ns = coarse_now_ns(true);
    if (window.open()) window.rotate(histograms, coarse_now_ns(false));
    batches.add(rows, input_ns, infer_ns, output_ns);
  }
  // Of several requests that took the same times: `rows` are those of all.
  void request_done(std::int64_t rows, const std::array<std::int64_t, phase_count> &durations_ns,
                    std::int64_t requests = 1) noexcept {
    successes += requests;
    inferences += std::max(requests, rows);
    for (std::size_t phase = 0; phase < phase_count; ++phase) {
      sums_ns[phase] += requests * durations_ns[phase];
      histograms[phase].add(durations_ns[phase], requests);
    }
    std::size_t bucket = 0;
    while (bucket < response_bounds_ns.size() && durations_ns[0] > response_bounds_ns[bucket]) ++bucket;
    response_counts[bucket] += requests;
  }
  void request_failed(std::size_t reason, std::int64_t request_ns, std::int64_t requests = 1) noexcept {
    failures[std::min(reason, failure_reason_count - 1)] += requests;
    failed_ns += requests * request_ns;
  }

  std::int64_t counted(std::size_t phase, std::size_t bucket) const noexcept {
    return histograms[phase].count(bucket);
  }
  // What of that came within the window, which must be open.
  std::int64_t counted_lately(std::size_t phase, std::size_t bucket) const noexcept {
    return counted(phase, bucket) - window.before()[phase].count(bucket);
  }

  std::int64_t successes = 0;
  std::int64_t inferences = 0;  // rows of the requests that succeeded, 1 for each at least
  std::int64_t executions = 0;
  std::int64_t executed_rows = 0;  // rows that were asked for
  std::int64_t padding_rows = 0;   // rows that were computed on top of them
  std::int64_t failed_ns = 0;
  std::int64_t last_inference_ns = 0;  // since 1970
  std::array<std::int64_t, failure_reason_count> failures{};
  std::array<std::int64_t, phase_count> sums_ns{};
  PhaseHistograms histograms{};
  BatchSizes batches;
  // Upper bounds, rising; a request of exactly a bound is in its bucket. The last count is of what is above all of them.
  std::vector<std::int64_t> response_bounds_ns;
  std::vector<std::int64_t> response_counts;
  LatencyWindow window;
};

}  // namespace ascend_infer
