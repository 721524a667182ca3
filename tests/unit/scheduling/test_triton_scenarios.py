"""Recorded runs of a real Triton, replayed on virtual time: the same batches have to come out.

The policy is the same each time; what waits is once in the compiled queue and once in the plain one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from batch_replay import Replay, SentBatch
from compiled_queue import CompiledQueue
from reference_queue import BatchQueue, QueuedRequest, ReferenceQueue

from ascend_infer import Batching, QueuePolicy
from ascend_infer.config import parse_config
from ascend_infer.config.json_form import from_json
from ascend_infer.scheduling.policy import BatchRules, LevelRules

MS = 1_000_000
DATA = json.loads((Path(__file__).parent / "triton_batches.json").read_text())
SCENARIOS: dict[str, dict[str, Any]] = DATA["scenarios"]

MakeQueue = Callable[[BatchRules, Sequence[LevelRules]], BatchQueue]


@pytest.fixture(params=[CompiledQueue, ReferenceQueue], ids=["compiled", "plain"])
def make_queue(request: pytest.FixtureRequest) -> MakeQueue:
    kind: MakeQueue = request.param
    return kind


def replay(make_queue: MakeQueue, scenario: dict[str, Any], *, look_always: bool = False) -> Replay:
    dynamic = scenario["dynamic_batching"]
    largest = scenario["max_batch_size"]
    if dynamic is None:
        # Without dynamic_batching every request runs by itself, whatever max_batch_size is.
        batching, rules, levels = None, BatchRules(max_rows=1), (LevelRules(),)
    else:
        config = from_json({"name": "m", "max_batch_size": largest, "dynamic_batching": dynamic})
        batching = Batching.from_config(config)
        assert batching is not None
        rules, levels = batching.rules(largest), batching.levels()
    busy_ms = scenario["busy_ms"]

    def busy(batch: SentBatch) -> int:
        return int(max(busy_ms.get(name, 1) for name in batch.names)) * MS

    arrivals = [
        QueuedRequest(
            name=arrival["name"],
            arrived=(1_000 + arrival["ms"]) * MS,
            rows=arrival.get("rows", 1),
            key=arrival.get("key"),
            level=0 if batching is None else batching.level_of(arrival.get("priority", 0)),
            asked=arrival["timeout_us"] * 1000 if "timeout_us" in arrival else None,
        )
        for arrival in scenario["arrivals"]
    ]
    queue = make_queue(rules, levels)
    return Replay(queue, rules, busy, scenario["instances"], look_always).run(arrivals)


@pytest.mark.parametrize("look_always", [False, True])
@pytest.mark.parametrize("name", SCENARIOS)
def test_the_batches_are_tritons(make_queue: MakeQueue, name: str, look_always: bool) -> None:
    scenario = SCENARIOS[name]
    seen = replay(make_queue, scenario, look_always=look_always)
    place = {arrival["name"]: index for index, arrival in enumerate(scenario["arrivals"])}
    batches = [batch.names for batch in seen.batches]
    if scenario["instances"] > 1:
        batches.sort(key=lambda names: place[names[0]])
    assert batches == scenario["batches"]
    assert [request.name for _, request in seen.refused] == scenario.get("refused", [])
    if "sent_ms" in scenario:
        assert [batch.at / MS - 1_000 for batch in seen.batches] == scenario["sent_ms"]


def test_two_instances_share_the_batches(make_queue: MakeQueue) -> None:
    seen = replay(make_queue, SCENARIOS["two_instances_delay_100ms_16"])
    assert [(batch.instance, batch.rows) for batch in seen.batches] == [(0, 8), (1, 8)]


def test_every_scenario_that_is_left_out_says_why() -> None:
    assert set(DATA["left_out"]).isdisjoint(SCENARIOS)
    assert all(
        reason.startswith(("Racy: ", "Different on purpose: ")) for reason in DATA["left_out"].values()
    )


def test_what_the_racy_one_gives_here(make_queue: MakeQueue) -> None:
    # preferred4_delay_400ms_occ_6 without filling executions ahead.
    arrivals = [{"ms": 0, "name": "occ", "rows": 4}]
    arrivals += [{"ms": 50 + 2 * number, "name": f"r{number}"} for number in range(6)]
    scenario = {
        "max_batch_size": 8,
        "instances": 1,
        "dynamic_batching": {"preferred_batch_size": [4], "max_queue_delay_microseconds": 400_000},
        "arrivals": arrivals,
        "busy_ms": {"occ": 250},
    }
    seen = replay(make_queue, scenario)
    assert [batch.names for batch in seen.batches] == [["occ"], ["r0", "r1", "r2", "r3"], ["r4", "r5"]]
    assert [batch.at / MS - 1_000 for batch in seen.batches] == [0, 250, 458]


def test_a_timeout_of_its_own_counts_where_triton_ignores_it(make_queue: MakeQueue) -> None:
    for policy in (
        QueuePolicy(),  # Triton: no default, so an override is ignored even where it is allowed
        QueuePolicy(allow_timeout_override=True),
        QueuePolicy(default_timeout_microseconds=2_000_000),
        QueuePolicy("DELAY", default_timeout_microseconds=2_000_000, allow_timeout_override=True),
    ):
        rules = Batching(default_queue_policy=policy).rules(1)
        queue = make_queue(rules, [policy.rules])
        arrivals = [
            QueuedRequest("occ", arrived=MS),
            QueuedRequest("t50ms", arrived=20 * MS, asked=50 * MS),
            QueuedRequest("other", arrived=30 * MS),
        ]
        seen = Replay(queue, rules, lambda batch: (250 if batch.names == ["occ"] else 1) * MS).run(arrivals)
        assert [(at, request.name) for at, request in seen.refused] == [(70 * MS, "t50ms")]
        assert [batch.names for batch in seen.batches] == [["occ"], ["other"]]


def test_a_delayed_request_is_served_after_the_fresh_ones_and_before_worse_levels(
    make_queue: MakeQueue,
) -> None:
    text = """
        name: "m" max_batch_size: 1 backend: "python"
        dynamic_batching {
          priority_levels: 2 default_priority_level: 1
          default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 100000 }
        }
    """
    batching = Batching.from_config(parse_config(text).config)
    assert batching is not None
    rules = batching.rules(1)
    arrivals = [
        QueuedRequest("occ", arrived=MS),
        QueuedRequest("worse", arrived=10 * MS, level=1),
        QueuedRequest("late1", arrived=20 * MS),
        QueuedRequest("late2", arrived=30 * MS),
        QueuedRequest("fresh", arrived=200 * MS),
    ]
    queue = make_queue(rules, batching.levels())
    seen = Replay(queue, rules, lambda batch: (250 if batch.names == ["occ"] else 1) * MS).run(arrivals)
    assert [batch.names for batch in seen.batches] == [["occ"], ["fresh"], ["late1"], ["late2"], ["worse"]]
    assert not seen.refused
