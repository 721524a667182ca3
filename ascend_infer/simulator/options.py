"""What can be set about the simulated machine."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

__all__ = ["SimulatorOptions", "TimeModel"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeModel:
    """How long the card's work takes, beyond what computing it here takes.

    All zero, work takes the time that it really takes. Copies of one direction, and computations, queue for one
    engine each, as on a card.

    Attributes
    ----------
    h2d_fixed_us, d2h_fixed_us, d2d_fixed_us : float
        Microseconds for each copy from host to device, back, and on the device.
    h2d_gbps, d2h_gbps, d2d_gbps : float
        Gigabytes a second; 0 for no limit.
    compute_fixed_us, compute_item_us, compute_byte_ns : float
        For each run of a model: fixed, per item (first dimension of the first input), per byte of input.
    set_device_ms, load_ms : float
        The first use of a device; each load of a model.
    """

    h2d_fixed_us: float = 0.0
    d2h_fixed_us: float = 0.0
    d2d_fixed_us: float = 0.0
    h2d_gbps: float = 0.0
    d2h_gbps: float = 0.0
    d2d_gbps: float = 0.0
    compute_fixed_us: float = 0.0
    compute_item_us: float = 0.0
    compute_byte_ns: float = 0.0
    set_device_ms: float = 0.0
    load_ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatorOptions:
    """The simulated machine.

    Attributes
    ----------
    devices : int
        How many cards it has, at most 64; 0 for a machine without.
    soc : str
        What ``aclrtGetSocName`` answers, ``"Ascend..."``; decides the limits of streams and events too.
    hbm_bytes : int
        Memory of each card: 2 MiB to 1 TiB.
    stream_limit, event_limit : int
        For each card; 0 takes the SoC's own.
    run_mode : int
        1 host (a card in a server), 0 device.
    cann : str
        The release that the version functions report.
    require_init : bool
        Before ``aclInit`` no device can be set and no context made (100001), and no model loaded (145001).
    virtual_time : bool
        Waiting takes no time: an hour of simulated work passes in the time that computing it takes.
    time : TimeModel
    lateness_us : int
        An asynchronous task begins that late unless something waits for it, so that a program which forgets to
        wait is seen to do so.
    threads : int
        Of onnxruntime, for each model; 0 takes one a core, at most 4.
    onnxruntime : str
        Its library; empty for that of the installed package.
    fp16 : bool
        Round float inputs and outputs of models through float16, as models converted for a card do.
    faults : str
        The fault plan: ``"aclrtMalloc@3=207001; device:1@lost after 2s; aclmdlExecuteAsync@*=slow:50ms"``.
    call_log : bool
        Keep the last 65536 calls.
    log_path : str
        A file to which the report and the call log are written when the process ends.
    """

    devices: int = 1
    soc: str = "Ascend310P3"
    hbm_bytes: int = 16 << 30
    stream_limit: int = 0
    event_limit: int = 0
    run_mode: int = 1
    cann: str = "9.1.0"
    require_init: bool = True
    virtual_time: bool = False
    time: TimeModel = field(default_factory=TimeModel)
    lateness_us: int = 50
    threads: int = 0
    onnxruntime: str = ""
    fp16: bool = False
    faults: str = ""
    call_log: bool = False
    log_path: str = ""

    def to_json(self) -> str:
        """Return the library's own form: one JSON object, as ``ACLSIM_CONFIG`` takes it too."""
        values = asdict(self)
        values.update(values.pop("time"))
        return json.dumps(values)
