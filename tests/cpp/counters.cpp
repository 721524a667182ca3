// The counters alone: extremes of durations, windows, and host memory that runs out while a batch is counted.
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <new>

#include "core/model_counters.hpp"

static bool no_memory = false;

void *operator new(std::size_t bytes) {
  if (no_memory) throw std::bad_alloc();
  if (void *found = std::malloc(bytes)) return found;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }

#define CHECK(what)                                                          \
  do {                                                                       \
    if (!(what)) {                                                           \
      std::fprintf(stderr, "%s:%d: CHECK(%s)\n", __FILE__, __LINE__, #what); \
      std::exit(1);                                                          \
    }                                                                        \
  } while (false)

using namespace ascend_infer;

static void buckets_rise_with_the_value() {
  std::size_t last = 0;
  for (unsigned bit = 0; bit < 63; ++bit)
    for (const std::int64_t off : {-2, -1, 0, 1, 2}) {
      const std::int64_t value = (std::int64_t{1} << bit) + off;
      const std::size_t bucket = LatencyHistogram::bucket_of(value);
      CHECK(bucket < LatencyHistogram::size);
      if (off == -2 && bit > 2) CHECK(bucket >= last);
      last = bucket;
    }
  CHECK(LatencyHistogram::bucket_of(std::numeric_limits<std::int64_t>::min()) == 0);
  CHECK(LatencyHistogram::bucket_of(std::numeric_limits<std::int64_t>::max()) == LatencyHistogram::size - 1);
}

static void a_batch_without_memory_is_in_the_totals() {
  ModelCounters counters;
  counters.response_bounds_ns = {10};
  counters.response_counts = {0, 0};
  counters.batch_done(4, 0, 1, 2, 3);
  no_memory = true;
  counters.batch_done(8, 1, 1, 2, 3);  // a new size: no room for it
  counters.batch_done(4, 0, 1, 2, 3);  // a known one
  counters.request_done(8, {1, 2, 3, 4, 5});
  counters.request_failed(99, 7);
  no_memory = false;
  CHECK(counters.executions == 3 && counters.executed_rows == 16 && counters.padding_rows == 1);
  CHECK(counters.batches.all().size() == 1 && counters.batches.all()[4].count == 2);
  counters.batch_done(8, 0, 1, 2, 3);
  CHECK(counters.batches.all()[8].count == 1);
  CHECK(counters.successes == 1 && counters.inferences == 8 && counters.failures[3] == 1);
}

static void a_window_that_finds_no_memory_is_not_open() {
  ModelCounters counters;
  no_memory = true;
  bool thrown = false;
  try {
    counters.window.open(counters.histograms, 0, 100);
  } catch (const std::bad_alloc &) {
    thrown = true;
  }
  no_memory = false;
  CHECK(thrown && !counters.window.open());
}

static void a_window_moves_in_steps() {
  ModelCounters counters;
  counters.response_counts = {0};
  counters.window.open(counters.histograms, 1000, 500);
  counters.request_done(1, {5, 0, 0, 0, 0});
  const std::size_t bucket = LatencyHistogram::bucket_of(5);
  for (const std::int64_t now : {1000, 1099, 1100, 1250, 1499}) {
    counters.window.rotate(counters.histograms, now);
    CHECK(counters.counted_lately(0, bucket) == 1);
  }
  counters.window.rotate(counters.histograms, 1500);
  CHECK(counters.counted_lately(0, bucket) == 0 && counters.counted(0, bucket) == 1);
  counters.window.rotate(counters.histograms, std::numeric_limits<std::int64_t>::max() / 2);
  CHECK(counters.counted_lately(0, bucket) == 0);
}

int main() {
  buckets_rise_with_the_value();
  a_batch_without_memory_is_in_the_totals();
  a_window_that_finds_no_memory_is_not_open();
  a_window_moves_in_steps();
  std::puts("passed");
}
