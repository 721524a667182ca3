// Replays an allocation history on the memory pool and on malloc alone. pool_replay.py builds and runs it.
//
// A history is a text: "+ ID BYTES" allocates, "- ID" frees, one a line. What it leaves allocated is freed at its end.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/counting_upstream.hpp"
#include "core/malloc_upstream.hpp"
#include "core/pool.hpp"

using namespace ascend_infer;

namespace {

struct Step {
  std::size_t block;  // index
  std::size_t bytes;  // 0: free
};

struct History {
  std::vector<Step> steps;
  std::size_t blocks = 0;
  std::size_t pairs = 0;
};

[[noreturn]] void fail(const char *what) {
  std::fprintf(stderr, "pool_replay: %s\n", what);
  std::exit(1);
}

History read_history(const char *path) {
  std::FILE *file = std::fopen(path, "r");
  if (file == nullptr) fail("the history cannot be opened");
  History history;
  std::unordered_map<unsigned long long, std::size_t> live;
  char line[256];
  for (unsigned long number = 1; std::fgets(line, sizeof line, file) != nullptr; ++number) {
    unsigned long long id = 0, bytes = 0;
    if (std::sscanf(line, "+ %llu %llu", &id, &bytes) == 2 && bytes != 0) {
      if (!live.emplace(id, history.blocks).second) fail("an id is allocated twice");
      history.steps.push_back({history.blocks++, bytes});
    } else if (std::sscanf(line, "- %llu", &id) == 1) {
      const auto found = live.find(id);
      if (found == live.end()) fail("an id is freed that is not allocated");
      history.steps.push_back({found->second, 0});
      live.erase(found);
    } else {
      std::fprintf(stderr, "pool_replay: line %lu is no step: %s", number, line);
      std::exit(1);
    }
  }
  std::fclose(file);
  for (const auto &[id, block] : live) history.steps.push_back({block, 0});
  history.pairs = history.blocks;
  if (history.pairs == 0) fail("the history is empty");
  return history;
}

template <typename Allocate, typename Free>
double seconds(const History &history, Allocate allocate, Free release) {
  const auto begin = std::chrono::steady_clock::now();
  for (const Step &step : history.steps) {
    if (step.bytes != 0)
      allocate(step);
    else
      release(step);
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

template <typename U>
double replay(const History &history, Pool<U> &pool, OwnerId owner, std::vector<Allocation> &blocks) {
  return seconds(
      history,
      [&](const Step &step) {
        if (!pool.allocate(step.bytes, owner, blocks[step.block]).ok()) fail("the pool refused");
      },
      [&](const Step &step) {
        if (!pool.free(blocks[step.block]).ok()) fail("the pool did not take a block back");
      });
}

// The least that a fixed pool needs for the history, to a step: found on a pool without memory.
std::size_t least_pool(const History &history, std::size_t low, std::size_t high, std::size_t step) {
  std::vector<Allocation> blocks(history.blocks);
  while (low < high) {
    const std::size_t middle = round_down(low + (high - low) / 2, step);
    PoolOptions options;
    options.pool_bytes = std::max(middle, step);
    options.growable = false;
    std::unique_ptr<Pool<CountingUpstream>> pool;
    OwnerId owner = 0;
    if (!Pool<CountingUpstream>::open(options, pool, std::size_t{1} << 50).ok() || !pool->acquire_owner("all", owner).ok())
      fail("no pool");
    bool fits = true;
    for (const Step &each : history.steps) {
      if (each.bytes != 0) {
        fits = pool->allocate(each.bytes, owner, blocks[each.block]).ok();
      } else {
        (void)pool->free(blocks[each.block]);
      }
      if (!fits) break;
    }
    if (fits)
      high = middle;
    else
      low = middle + step;
  }
  return high;
}

}  // namespace

int main(int count, char **arguments) {
  if (count != 3) fail("usage: pool_replay HISTORY ROUNDS");
  const History history = read_history(arguments[1]);
  const int rounds = std::max(1, std::atoi(arguments[2]));

  std::unique_ptr<Pool<MallocUpstream>> pool;
  OwnerId owner = 0;
  if (!Pool<MallocUpstream>::open(PoolOptions{}, pool).ok() || !pool->acquire_owner("all", owner).ok()) fail("no pool");
  std::vector<Allocation> blocks(history.blocks);
  std::vector<void *> pointers(history.blocks);
  MallocUpstream upstream;

  // Where the pool gets to in its first pass, with its worst fragmentation on the way.
  double fragmentation = 0;
  std::size_t until_next = 0;
  seconds(
      history,
      [&](const Step &step) {
        if (!pool->allocate(step.bytes, owner, blocks[step.block]).ok()) fail("the pool refused");
      },
      [&](const Step &step) {
        (void)pool->free(blocks[step.block]);
        if (until_next-- == 0) {
          until_next = 16;
          fragmentation = std::max(fragmentation, pool->stats().fragmentation());
        }
      });
  replay(history, *pool, owner, blocks);
  const PoolStats first = pool->stats();

  std::vector<double> ours, theirs;
  for (int round = 0; round < rounds; ++round) {
    ours.push_back(replay(history, *pool, owner, blocks));
    theirs.push_back(seconds(
        history,
        [&](const Step &step) {
          if (!upstream.allocate(step.bytes, &pointers[step.block]).ok()) fail("malloc refused");
        },
        [&](const Step &step) { upstream.free(pointers[step.block]); }));
  }
  const PoolStats last = pool->stats();
  const double pairs = static_cast<double>(history.pairs);
  std::printf("pairs %zu\n", history.pairs);
  std::printf("pool_ns %.1f\n", median(ours) / pairs * 1e9);
  std::printf("malloc_ns %.1f\n", median(theirs) / pairs * 1e9);
  std::printf("upstream_calls_first %llu\n", static_cast<unsigned long long>(first.upstream_allocations));
  std::printf("upstream_calls_steady %llu\n",
              static_cast<unsigned long long>(last.upstream_allocations - first.upstream_allocations +
                                              last.upstream_frees - first.upstream_frees));
  std::printf("peak_active_bytes %zu\n", last.peak_active_bytes);
  std::printf("reserved_bytes %zu\n", last.reserved_bytes);
  std::printf("worst_fragmentation %.4f\n", fragmentation);
  const std::size_t step = PoolLayout().step;
  std::printf("least_pool_bytes %zu\n", least_pool(history, round_up(last.peak_active_bytes, step),
                                                   round_up(4 * last.reserved_bytes, step), step));
}
