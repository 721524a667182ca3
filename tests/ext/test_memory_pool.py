"""Memory pools from Python: blocks, views, lifetimes, errors."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ascend_infer._native import Block, MemoryPool, counting_pool, host_pool
from ascend_infer.errors import (
    ClosedError,
    CopyError,
    DeviceOutOfMemoryError,
    HostOutOfMemoryError,
    InvalidOptionError,
    MemoryBlockError,
    PoolLimitError,
)

MIB = 1 << 20


def test_a_block_has_an_address_a_size_and_an_owner() -> None:
    pool = counting_pool(64 * MIB)
    block = pool.allocate(1000, "weights of resnet50")
    assert (block.nbytes, len(block), block.owner, block.pool) == (1000, 1000, "weights of resnet50", pool)
    assert block.address % 64 == 0
    assert pool.allocate(1).address == block.address + pool.stride(1000)
    assert pool.stride(1000) == 1536


def test_freeing_is_explicit_at_the_end_of_with_or_by_dropping() -> None:
    pool = counting_pool(64 * MIB)
    first = pool.allocate(100)
    where = first.address
    first.free()
    first.free()
    assert pool.stats().active_blocks == 0
    with pool.allocate(100) as second:
        assert second.address == where
    assert second.freed
    third: Block | None = pool.allocate(100)
    assert third is not None
    assert third.address == where
    third = None
    gc.collect()
    assert pool.stats().active_blocks == 0
    assert pool.stats().frees == 3
    with pytest.raises(ClosedError):
        _ = first.address


def test_numbers_and_owners() -> None:
    pool = counting_pool(64 * MIB, limit_bytes=32 * MIB)
    weights = pool.allocate(5 * MIB, "weights of a")
    slots = [pool.allocate(1000, "slots of a") for _ in range(3)]
    stats = pool.stats()
    assert stats.active_bytes + stats.held_bytes == stats.reserved_bytes == 6 * MIB
    assert stats.requested_bytes == 5 * MIB + 3000
    assert (stats.active_blocks, stats.held_blocks, stats.regions, stats.upstream_allocations) == (4, 1, 1, 1)
    assert stats.limit_bytes == 32 * MIB
    assert stats.fragmentation == 0
    assert [(o.name, o.active_blocks, o.active_bytes) for o in pool.owners()] == [
        ("weights of a", 1, pool.stride(5 * MIB)),
        ("slots of a", 3, 3 * 1536),
    ]
    slots[0].free()
    assert 0 < pool.stats().fragmentation < 0.01
    weights.free()
    assert [o.name for o in pool.owners()] == ["slots of a"]
    assert pool.stats().peak_active_bytes == stats.active_bytes
    assert counting_pool(1).stats().limit_bytes is None


def test_trim_gives_idle_regions_back() -> None:
    pool = counting_pool(64 * MIB, pool_bytes=2 * MIB)
    blocks = [pool.allocate(3 * MIB) for _ in range(3)]
    blocks[1].free()
    assert pool.trim() == 4 * MIB
    assert pool.trim() == 0
    assert pool.stats().regions == 3
    assert pool.stats().upstream_frees == 1


def test_steady_state_needs_no_upstream() -> None:
    pool = counting_pool(64 * MIB)
    sizes = [1000, 300_000, 70, 1 * MIB, 8000]
    for block in [pool.allocate(size) for size in sizes]:
        block.free()
    calls = pool.stats().upstream_allocations
    for _ in range(50):
        blocks = [pool.allocate(size) for size in reversed(sizes)]
        del blocks
    assert pool.stats().upstream_allocations == calls
    assert pool.stats().upstream_frees == 0


def test_a_recorded_history_names_what_began_in_it() -> None:
    pool = counting_pool(64 * MIB)
    early = pool.allocate(1)
    assert pool.stop_recording() == ""
    pool.start_recording()
    first, second = pool.allocate(1000), pool.allocate(77)
    early.free()
    first.free()
    with pytest.raises(DeviceOutOfMemoryError):
        pool.allocate(65 * MIB)
    assert pool.stop_recording() == "+ 1 1000\n+ 2 77\n- 1\n"
    second.free()
    assert pool.stop_recording() == ""
    pool.start_recording(2)
    for _ in range(5):
        pool.allocate(5).free()
    assert pool.stop_recording() == "+ 1 5\n- 1\n"
    with pytest.raises(InvalidOptionError, match="most_events"):
        pool.start_recording(-1)
    with pytest.raises(InvalidOptionError):
        pool.start_recording(2**62)


def test_out_of_memory_says_who_has_it() -> None:
    pool = counting_pool(8 * MIB)
    kept = pool.allocate(5 * MIB, "weights of a")
    with pytest.raises(
        DeviceOutOfMemoryError, match=r"no room for 4\.0 MiB.*weights of a 5\.0 MiB"
    ) as caught:
        pool.allocate(4 * MIB)
    error = caught.value
    assert isinstance(error, MemoryError)
    assert (error.needed, error.free, error.total) == (4 * MIB, 2 * MIB, 8 * MIB)
    assert error.holders == (("weights of a", pool.stride(5 * MIB)),)
    again = pickle.loads(pickle.dumps(error))
    assert (again.needed, again.holders) == (error.needed, error.holders)
    assert pool.stats().failures == 1
    kept.free()
    pool.allocate(4 * MIB).free()


def test_a_pool_that_does_not_fit_says_what_it_would_take() -> None:
    with pytest.raises(
        DeviceOutOfMemoryError, match=r"no room for 64\.0 MiB, which take 66\.0 MiB: whole pages"
    ):
        counting_pool(64 << 20, pool_bytes=64 << 20, growable=False, upstream_extra=32)
    with counting_pool(64 << 20, pool_bytes=(64 << 20) - 512, growable=False, upstream_extra=32) as pool:
        assert pool.stats().reserved_bytes == (64 << 20) - 512


def test_a_limit_is_told_apart_from_an_empty_upstream() -> None:
    pool = counting_pool(64 * MIB, pool_bytes=2 * MIB, growable=False)
    kept = pool.allocate(1 * MIB, "slots")
    with pytest.raises(PoolLimitError, match="raise pool_bytes") as caught:
        pool.allocate(2 * MIB)
    error = caught.value
    assert (error.requested, error.active, error.limit) == (2 * MIB, pool.stride(1 * MIB), 2 * MIB)
    assert error.held == 2 * MIB - error.active
    assert error.holders == (("slots", error.active),)
    kept.free()


def test_a_failing_upstream_call_harms_one_request_only() -> None:
    pool = counting_pool(64 * MIB, failing_calls=[2, 3])
    kept = pool.allocate(1 * MIB)
    with pytest.raises(DeviceOutOfMemoryError):
        pool.allocate(3 * MIB)
    pool.allocate(3 * MIB).free()
    assert pool.stats().upstream_allocations == 4
    assert not kept.freed


@pytest.mark.parametrize("value", [0, -1, 2**62 + 1, pytest.param(10**5000, id="huge"), "8", 1.0, None, b"8"])
def test_sizes_that_are_none(value: Any) -> None:
    pool = counting_pool(64 * MIB)
    with pytest.raises(InvalidOptionError, match="nbytes") as caught:
        pool.allocate(value)
    assert caught.value.option == "nbytes"
    with pytest.raises(InvalidOptionError):
        pool.stride(value)
    assert pool.stats().allocations == 0


def test_sizes_may_be_numpy_integers() -> None:
    assert counting_pool(np.int64(8 * MIB)).allocate(np.uint16(77)).nbytes == 77


@pytest.mark.parametrize("owner", ["", None, 3, b"weights"])
def test_owners_that_are_none(owner: Any) -> None:
    with pytest.raises(InvalidOptionError, match="owner"):
        counting_pool(64 * MIB).allocate(1, owner)


def test_owners_of_any_script_and_length() -> None:
    pool = counting_pool(64 * MIB)
    names = ["权重", "x" * 5000, "a\0b", "\udc80"]
    blocks = [pool.allocate(1, name) for name in names]
    assert {owner.name for owner in pool.owners()} == {*names[:3], "?"}
    assert [block.owner for block in blocks] == names


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: counting_pool(64 * MIB, growable=False), "pool_bytes"),
        (lambda: counting_pool(64 * MIB, pool_bytes=4 * MIB, limit_bytes=2 * MIB), "limit_bytes"),
        (lambda: counting_pool(64 * MIB, limit_bytes=0), "limit_bytes"),
        (lambda: counting_pool(64 * MIB, limit_bytes=10), "limit_bytes"),
        (lambda: counting_pool(-1), "capacity_bytes"),
        (lambda: counting_pool(1, failing_calls=[0]), "failing_calls"),
        (lambda: host_pool(pool_bytes="much"), "pool_bytes"),  # type: ignore[arg-type]
    ],
)
def test_options_that_cannot_be(make: Callable[[], MemoryPool], says: str) -> None:
    with pytest.raises(InvalidOptionError, match=says):
        make()


def test_preallocation_that_does_not_fit() -> None:
    with pytest.raises(DeviceOutOfMemoryError) as caught:
        counting_pool(4 * MIB, pool_bytes=8 * MIB)
    assert (caught.value.needed, caught.value.free) == (8 * MIB, 4 * MIB)
    with pytest.raises(HostOutOfMemoryError):
        host_pool(pool_bytes=2**61)


def test_pools_and_blocks_come_from_their_makers_and_are_not_copied() -> None:
    pool = counting_pool(64 * MIB)
    block = pool.allocate(1)
    for cls in (MemoryPool, Block):
        with pytest.raises(TypeError, match="come from"):
            cls()
        with pytest.raises(TypeError):
            type("Sub", (cls,), {})
    for thing in (pool, block):
        with pytest.raises(CopyError):
            pickle.dumps(thing)
        with pytest.raises(CopyError):
            copy.copy(thing)
        assert thing.__class__.__name__ in repr(thing)


def test_a_view_shows_host_memory() -> None:
    pool = host_pool()
    block = pool.allocate(24)
    view = memoryview(block)
    assert (view.nbytes, view.format, view.ndim, view.shape, view.strides, view.readonly) == (
        *(24, "B", 1, (24,), (1,)),
        False,
    )
    array = np.frombuffer(block, np.float64)
    array[:] = [1, 2, 3]
    assert np.frombuffer(view, np.float64).tolist() == [1, 2, 3]
    assert array.__array_interface__["data"][0] == block.address
    assert bytes(block)[:8] == array[:1].tobytes()
    assert block.views == 2
    view.release()
    del array
    assert block.views == 0


def test_memory_is_not_used_again_while_a_view_lives() -> None:
    pool = host_pool()
    with pool.allocate(4096) as block:
        where = block.address
        array = np.frombuffer(block, np.uint8)[10:20]
        array[:] = 7
    assert block.freed
    assert "views" in repr(block)
    assert pool.stats().active_blocks == 1
    other = pool.allocate(4096)
    assert other.address != where
    np.frombuffer(other, np.uint8)[:] = 9
    assert array.tolist() == [7] * 10
    with pytest.raises(ClosedError):
        memoryview(block)
    del array
    assert pool.stats().active_blocks == 1
    assert pool.allocate(4096).address == where


def test_arrays_keep_block_and_pool_alive() -> None:
    pool = host_pool()
    array = np.frombuffer(pool.allocate(1 * MIB), np.uint8)
    array[:] = 3
    count = sys.getrefcount(pool)
    pool.close()
    del pool
    gc.collect()
    assert count >= 3
    assert int(array.sum()) == 3 * MIB


def test_device_memory_is_not_shown() -> None:
    block = counting_pool(64 * MIB).allocate(10)
    with pytest.raises(MemoryBlockError, match="no memory of the host") as caught:
        memoryview(block)
    assert caught.value.reason == "no_host_memory"
    assert isinstance(caught.value, BufferError)


def test_a_closed_pool_allocates_no_more_and_lets_blocks_finish() -> None:
    with host_pool() as pool:
        block = pool.allocate(1000)
    assert pool.closed
    pool.close()
    with pytest.raises(ClosedError):
        pool.allocate(1)
    np.frombuffer(block, np.uint8)[:] = 1
    assert pool.stats().reserved_bytes == 2 * MIB
    block.free()
    assert pool.stats().reserved_bytes == 0
    assert pool.trim() == 0


def poke(block: Block, address: int, offset: int) -> None:
    """Write where nobody may: past a block's end or through an address that was kept too long."""
    import ctypes

    assert block.pool.host_accessible
    ctypes.memset(address + offset, 0, 1)


def test_guards_find_writes_past_the_end() -> None:
    pool = host_pool(guard=True)
    block = pool.allocate(100, "slots of net")
    poke(block, block.address, 100)
    with pytest.raises(MemoryBlockError, match="byte 100 of a block of 100 bytes .*slots of net") as caught:
        block.free()
    assert caught.value.reason == "overrun"
    assert pool.stats().active_blocks == 0
    pool.allocate(100).free()


def test_guards_find_writes_into_freed_blocks() -> None:
    pool = host_pool(guard=True)
    block = pool.allocate(100)
    where = block.address
    block.free()
    poke(block, where, 99)
    with pytest.raises(MemoryBlockError, match="free memory was written") as caught:
        pool.allocate(100)
    assert caught.value.reason == "written_after_free"
    pool.allocate(100).free()


def test_an_overrun_found_while_dropping_is_reported_and_not_lost() -> None:
    pool = host_pool(guard=True)
    seen: list[BaseException | None] = []
    before = sys.unraisablehook
    sys.unraisablehook = lambda report: seen.append(report.exc_value)
    try:
        block = pool.allocate(8)
        poke(block, block.address, 8)
        del block
    finally:
        sys.unraisablehook = before
    assert [type(error) for error in seen] == [MemoryBlockError]
    assert pool.stats().active_blocks == 0


def test_nothing_grows_over_many_pools_and_blocks() -> None:
    gc.collect()
    before = sys.getrefcount(MemoryPool), sys.getrefcount(Block)
    for _ in range(300):
        pool = host_pool(guard=True)
        array = np.frombuffer(pool.allocate(1000, "a name of its own"), np.uint8)
        block = pool.allocate(10)
        del pool, block
        array[:] = 1
        del array
    assert (sys.getrefcount(MemoryPool), sys.getrefcount(Block)) == before
