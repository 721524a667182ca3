"""Batching and QueuePolicy: checked like Triton's configuration, and turned into the scheduler's rules."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from batch_replay import Replay
from reference_queue import QueuedRequest, ReferenceQueue

from ascend_infer import Batching, QueuePolicy
from ascend_infer.config import parse_config
from ascend_infer.config.json_form import from_json
from ascend_infer.errors import InvalidOptionError
from ascend_infer.scheduling.policy import BatchRules, GearCost, LevelRules

DELAYS = QueuePolicy("DELAY", default_timeout_microseconds=10)


@pytest.mark.parametrize(
    ("fields", "option"),
    [
        ({"preferred_batch_size": [0]}, "preferred_batch_size"),
        ({"preferred_batch_size": [4, True]}, "preferred_batch_size"),
        ({"preferred_batch_size": [4.0]}, "preferred_batch_size"),
        ({"preferred_batch_size": 4}, "preferred_batch_size"),
        ({"preferred_batch_size": "48"}, "preferred_batch_size"),
        ({"max_queue_delay_microseconds": -1}, "max_queue_delay_microseconds"),
        ({"max_queue_delay_microseconds": 0.5}, "max_queue_delay_microseconds"),
        ({"max_queue_delay_microseconds": 2**64}, "max_queue_delay_microseconds"),
        ({"preserve_ordering": 1}, "preserve_ordering"),
        ({"priority_levels": 65_537}, "priority_levels"),
        ({"priority_levels": 3}, "default_priority_level"),
        ({"priority_levels": 3, "default_priority_level": 4}, "default_priority_level"),
        ({"default_queue_policy": None}, "default_queue_policy"),
        ({"priority_queue_policy": [QueuePolicy()]}, "priority_queue_policy"),
        ({"priority_queue_policy": {1: "REJECT"}}, "priority_queue_policy[1]"),
        (
            {"priority_levels": 2, "default_priority_level": 1, "priority_queue_policy": {3: QueuePolicy()}},
            "priority_queue_policy",
        ),
        (
            {"priority_levels": 2, "default_priority_level": 1, "preserve_ordering": True},
            "priority_levels",
        ),
        ({"preserve_ordering": True, "default_queue_policy": DELAYS}, "timeout_action"),
        ({"preserve_ordering": True, "priority_queue_policy": {1: DELAYS}}, "timeout_action"),
    ],
)
def test_wrong_options(fields: dict[str, Any], option: str) -> None:
    with pytest.raises(InvalidOptionError, match=r": got .*, expected ") as caught:
        Batching(**fields)
    assert caught.value.option == option
    assert str(caught.value).startswith(option)


def test_what_is_too_large_is_told_the_most() -> None:
    with pytest.raises(
        InvalidOptionError, match=f"got {2**64}, expected a whole number from 0 to {2**64 - 1}$"
    ):
        Batching(max_queue_delay_microseconds=2**64)
    with pytest.raises(
        InvalidOptionError, match=f"got {2**64}, expected a whole number from 0 to {2**64 - 1}$"
    ):
        QueuePolicy(default_timeout_microseconds=2**64)
    with pytest.raises(
        InvalidOptionError, match=f"got {2**32}, expected a whole number from 0 to {2**32 - 1}$"
    ):
        QueuePolicy(max_queue_size=2**32)
    with pytest.raises(InvalidOptionError, match=rf"got {'9' * 197}\.\.\., expected a whole number"):
        QueuePolicy(max_queue_size=int("9" * 1000))


@pytest.mark.parametrize(
    ("fields", "option"),
    [
        ({"timeout_action": "delay"}, "timeout_action"),
        ({"default_timeout_microseconds": -1}, "default_timeout_microseconds"),
        ({"allow_timeout_override": None}, "allow_timeout_override"),
        ({"max_queue_size": 2**32}, "max_queue_size"),
    ],
)
def test_wrong_policies(fields: dict[str, Any], option: str) -> None:
    with pytest.raises(InvalidOptionError) as caught:
        QueuePolicy(**fields)
    assert caught.value.option == option


def test_what_is_fine_is_fine() -> None:
    Batching(preserve_ordering=True, priority_levels=1, default_priority_level=1)
    Batching(
        preserve_ordering=True, default_queue_policy=QueuePolicy("DELAY")
    )  # without a timeout: no effect
    Batching(priority_queue_policy={7: QueuePolicy()})  # without levels: no effect


def test_it_is_a_value() -> None:
    batching = Batching(
        [8, 4], 100, priority_levels=2, default_priority_level=2, priority_queue_policy={1: DELAYS}
    )
    assert batching.preferred_batch_size == (8, 4)
    again = pickle.loads(pickle.dumps(batching))
    assert again == batching
    assert hash(again) == hash(batching)
    policies = {1: QueuePolicy()}
    batching = Batching(priority_queue_policy=policies)
    policies[1] = DELAYS
    assert batching.priority_queue_policy == {1: QueuePolicy()}


def test_a_config_means_the_same() -> None:
    text = """
        name: "m" backend: "onnxruntime" max_batch_size: 8
        dynamic_batching {
          preferred_batch_size: [ 4, 8 ] max_queue_delay_microseconds: 100
          priority_levels: 3 default_priority_level: 2
          default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 5 max_queue_size: 7 }
          priority_queue_policy { key: 1 value { allow_timeout_override: true } }
        }
    """
    batching = Batching.from_config(parse_config(text).config)
    assert batching == Batching(
        preferred_batch_size=(4, 8),
        max_queue_delay_microseconds=100,
        priority_levels=3,
        default_priority_level=2,
        default_queue_policy=QueuePolicy("DELAY", 5, max_queue_size=7),
        priority_queue_policy={1: QueuePolicy(allow_timeout_override=True)},
    )
    assert batching.rules(8) == BatchRules(8, (4, 8), 100_000)
    delayed = LevelRules(5_000, True, 7)
    assert batching.levels() == (LevelRules(), delayed, delayed)
    assert [batching.level_of(priority) for priority in (0, 1, 2, 3, 4, -1)] == [1, 0, 1, 2, 1, 1]


def test_without_dynamic_batching_there_is_none() -> None:
    assert (
        Batching.from_config(from_json({"name": "m", "backend": "onnxruntime", "max_batch_size": 8})) is None
    )


def test_the_default_is_the_models_largest_batch_and_one_level() -> None:
    batching = Batching()
    assert batching.rules(8) == BatchRules(8, (8,), 0)
    assert batching.levels() == (LevelRules(),)
    assert batching.level_of(5) == 0


def test_a_preferred_size_above_the_models_batch_is_refused() -> None:
    with pytest.raises(InvalidOptionError, match="got 16, expected at most the model's max_batch_size, 8"):
        Batching([4, 16]).rules(8)
    with pytest.raises(InvalidOptionError, match="expected none: the model's max_batch_size is 0"):
        Batching([1]).rules(0)


def test_durations_beyond_64_bits_of_nanoseconds_stay_within() -> None:
    batching = Batching(max_queue_delay_microseconds=2**64 - 1)
    assert batching.rules(8).delay == 2**62
    assert QueuePolicy(default_timeout_microseconds=2**64 - 1).rules.timeout == 2**62


def test_gears_come_with_their_costs() -> None:
    rules = Batching().rules(8, [(8, 0.002), (2, None), (4, 1e-12)])
    assert rules.gears == (GearCost(2, 0), GearCost(4, 1), GearCost(8, 2_000_000))


@pytest.mark.parametrize("max_batch_size", [0, 1])
def test_a_model_without_batches_waits_for_no_company(max_batch_size: int) -> None:
    rules = Batching(max_queue_delay_microseconds=1_000).rules(max_batch_size)
    requests = [QueuedRequest(f"r{number}", arrived=10 + number) for number in range(3)]
    seen = Replay(ReferenceQueue(rules, [LevelRules()]), rules, lambda _: 5).run(requests)
    assert [(batch.at, batch.names) for batch in seen.batches] == [(10, ["r0"]), (15, ["r1"]), (20, ["r2"])]


def test_a_full_level_takes_no_more_and_others_do() -> None:
    batching = Batching(
        priority_levels=2,
        default_priority_level=2,
        priority_queue_policy={2: QueuePolicy(max_queue_size=2)},
    )
    rules = batching.rules(1)
    requests = [
        QueuedRequest(f"r{number}", arrived=10 + number, level=batching.level_of(priority))
        for number, priority in enumerate([0, 0, 0, 0, 1])
    ]
    seen = Replay(ReferenceQueue(rules, batching.levels()), rules, lambda _: 50).run(requests)
    assert [request.name for request in seen.turned_away] == ["r3"]
    assert [batch.names for batch in seen.batches] == [["r0"], ["r4"], ["r1"], ["r2"]]
