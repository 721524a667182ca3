"""The options of a session, checked and in a form that can be pickled."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from ascend_infer.errors import CopyError
from ascend_infer.input_array import Casting
from ascend_infer.memory_pool import MemoryPool
from ascend_infer.refusal import wrong_option
from ascend_infer.scheduling.batching import Batching
from ascend_infer.scheduling.limits import MOST_INSTANCES

__all__ = ["SessionOptions", "checked_casting"]

#: Name of each graph optimisation and its number in Triton's ``optimization.graph.level``.
GRAPH_LEVELS = {"all": 0, "extended": 1, "basic": -1, "off": 2}


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """What ``Session`` was asked for; see there."""

    path: str
    version: int | str | None
    device: str
    instances: int | None
    threads: int | None
    max_batch_size: int | None
    providers: tuple[Any, ...] | None
    graph_optimization: str | None
    cast: Casting
    allow_paths: tuple[str, ...]
    slots: int | None = None
    pool_bytes: int | None = None
    pinned_pool_bytes: int | None = None
    memory_pool: tuple[MemoryPool, ...] = ()
    batching: Batching | bool | None = None

    @classmethod
    def checked(
        cls,
        *,
        path: str | os.PathLike[str],
        version: int | str | None,
        device: str,
        instances: int | None,
        threads: int | None,
        max_batch_size: int | None,
        providers: Sequence[Any] | None,
        graph_optimization: str | None,
        cast: Casting,
        allow_paths: Sequence[str | os.PathLike[str]],
        slots: int | None = None,
        pool_bytes: int | None = None,
        pinned_pool_bytes: int | None = None,
        memory_pool: MemoryPool | Sequence[MemoryPool] | None = None,
        batching: Batching | bool | None = None,
    ) -> SessionOptions:
        """Check each option by itself.

        Raises
        ------
        InvalidOptionError
        """
        try:
            text = os.fspath(path)
        except TypeError:
            raise wrong_option("path", path, "the path of a model directory or model file") from None
        if not isinstance(text, str) or not text or "\0" in text:
            raise wrong_option("path", path, "the path of a model directory or model file, as text")
        if version in ("", "-1") or _is_number(version, -1):
            version = None  # as in Triton
        if version is not None and not _version(version):
            raise wrong_option(
                "version",
                version,
                "the number of a version, 0 or more, or None or -1 for the highest that is allowed",
            )
        for option, value, least, most in (
            ("instances", instances, 1, MOST_INSTANCES),
            ("threads", threads, 1, MOST_INSTANCES),
            ("max_batch_size", max_batch_size, 0, 2**31 - 1),
            ("slots", slots, 1, MOST_INSTANCES),
            ("pool_bytes", pool_bytes, 1, 2**62 - 1),
            ("pinned_pool_bytes", pinned_pool_bytes, 1, 2**62 - 1),
        ):
            if value is not None and (not _whole(value) or not least <= value <= most):
                raise wrong_option(option, value, f"a whole number from {least} to {most}")
        checked_casting(cast)
        if graph_optimization is not None and graph_optimization not in GRAPH_LEVELS:
            raise wrong_option("graph_optimization", graph_optimization, " or ".join(map(repr, GRAPH_LEVELS)))
        if providers is not None and (
            isinstance(providers, str)
            or not isinstance(providers, Iterable)
            or not all(map(_provider, providers))
        ):
            raise wrong_option("providers", providers, 'a list of "Name" or ("Name", {option: value})')
        if batching is not None and not isinstance(batching, bool | Batching):
            raise wrong_option("batching", batching, "True, False or a Batching")
        if isinstance(allow_paths, str | os.PathLike):
            allow_paths = (allow_paths,)
        if not isinstance(allow_paths, Iterable) or not all(
            isinstance(item, str | os.PathLike) for item in allow_paths
        ):
            raise wrong_option("allow_paths", allow_paths, "a list of folders")
        return cls(
            path=os.path.abspath(text),
            version=version,
            device=device,
            instances=instances,
            threads=threads,
            max_batch_size=max_batch_size,
            providers=None if providers is None else tuple(providers),
            graph_optimization=graph_optimization,
            cast=cast,
            allow_paths=tuple(os.path.abspath(item) for item in allow_paths),
            slots=slots,
            pool_bytes=pool_bytes,
            pinned_pool_bytes=pinned_pool_bytes,
            memory_pool=_pools(memory_pool, pool_bytes, pinned_pool_bytes),
            batching=batching,
        )

    @property
    def graph_level(self) -> int | None:
        """``graph_optimization`` as Triton's number."""
        return None if self.graph_optimization is None else GRAPH_LEVELS[self.graph_optimization]

    def refuse_live_objects(self) -> None:
        """Refuse to be pickled where an option is an object of this process.

        Raises
        ------
        CopyError
        """
        if self.memory_pool:
            raise CopyError(
                "this session cannot be pickled: its memory_pool lives in this process only; give pool_bytes"
            )
        for item in self.providers or ():
            values = {} if isinstance(item, str) else item[1]
            for key, value in values.items():
                if not isinstance(value, str | int | float | bool | None):
                    raise CopyError(
                        f"this session cannot be pickled: option {key!r} of execution provider {item[0]!r} is a "
                        f"{type(value).__name__}, which lives in this process only; give plain values"
                    )


def checked_casting(cast: object) -> Casting:
    """Return a casting rule, or raise InvalidOptionError."""
    if cast not in ("no", "safe", "same_kind", "unsafe"):
        raise wrong_option("cast", cast, " or ".join(map(repr, get_args(Casting))))
    return cast


def _pools(given: object, *sizes: int | None) -> tuple[MemoryPool, ...]:
    if given is None:
        return ()
    pools = (given,) if isinstance(given, MemoryPool) else given
    if not isinstance(pools, list | tuple) or not all(isinstance(item, MemoryPool) for item in pools):
        raise wrong_option("memory_pool", given, "a MemoryPool, or a list of them with one for each device")
    if any(size is not None for size in sizes):
        raise wrong_option(
            "memory_pool", given, "no pool_bytes or pinned_pool_bytes beside it: a pool has its size"
        )
    return tuple(pools)


def checked_priority(priority: Any) -> int:
    """Return a priority, or raise InvalidOptionError. Any number is one: what is no level means the default."""
    if _whole(priority) and 0 <= priority < 2**63:
        return int(priority)
    raise wrong_option("priority", priority, f"a whole number from 0, the default, to {2**63 - 1}")


def checked_window(window: Any) -> int | None:
    """Return how many requests may be under way, or raise InvalidOptionError."""
    if window is None or (_whole(window) and 1 <= window < 2**31):
        return None if window is None else int(window)
    raise wrong_option("window", window, f"a whole number from 1 to {2**31 - 1}")


def checked_batched(batched: Any) -> bool:
    """Return whether inputs have their batch dimension, or raise InvalidOptionError."""
    if isinstance(batched, bool | np.bool_):
        return bool(batched)
    raise wrong_option("batched", batched, "True, or False for one sample without the batch dimension")


def checked_request_id(request_id: Any) -> str:
    """Return the name of a request, or raise InvalidOptionError."""
    if isinstance(request_id, str):
        return request_id
    raise wrong_option("request_id", request_id, "a text")


def checked_iterable(iterable: Any) -> Iterable[Any]:
    """Return what gives inputs one by one, or raise InvalidOptionError."""
    if isinstance(iterable, Iterable) or hasattr(iterable, "__getitem__"):
        found: Iterable[Any] = iterable
        return found
    raise wrong_option("iterable", iterable, "a list, a generator or another iterable of inputs")


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object, number: int) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) == number


def _version(value: object) -> bool:
    # A word that is none is for the model to refuse, which says what versions there are.
    if isinstance(value, str):
        return bool(value.strip()) and not value.strip().startswith("-")
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and 0 <= int(value) < 2**63


def _provider(item: object) -> bool:
    if isinstance(item, str):
        return True
    return (
        isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str) and isinstance(item[1], dict)
    )
