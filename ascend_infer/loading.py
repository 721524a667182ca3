"""From a path to a model in memory, ready for requests; nothing stays behind when a step fails."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ascend_infer import om, onnx_file
from ascend_infer.accounts import Accounts
from ascend_infer.backends import create
from ascend_infer.backends.base import BackendOptions, DeviceTarget, LoadedModel, LoadRequest
from ascend_infer.backends.placed import load_placed
from ascend_infer.compiled import compile_for_device
from ascend_infer.config import Completed, ModelConfig, complete
from ascend_infer.config.batch_size import batching_of
from ascend_infer.config.tensor_config import ModelInput
from ascend_infer.content_files import content_files
from ascend_infer.device import DeviceChoice
from ascend_infer.errors import ModelLoadError, ModelNotFoundError
from ascend_infer.file_stamps import FileStamps
from ascend_infer.memory_pool import in_use
from ascend_infer.model_source import ModelSource, find_source
from ascend_infer.options import SessionOptions
from ascend_infer.request import RequestMaker, output_shapes
from ascend_infer.result import InferResult, ResultOrigin
from ascend_infer.scheduling.batching import Batching
from ascend_infer.scheduling.placement import Placement, asks_for_cpu, place
from ascend_infer.scheduling.ragged import BatchAssembly
from ascend_infer.scheduling.scheduler import Scheduler
from ascend_infer.signature import InputRule, OutputRule, Signature
from ascend_infer.types import DataType, ModelSpec, TensorSpec
from ascend_infer.warmup import warm_up

__all__ = ["Loaded", "load", "settle"]

logger = logging.getLogger("ascend_infer")


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model in memory and all that a request needs of it."""

    config: ModelConfig
    signature: Signature
    scheduler: Scheduler
    requests: RequestMaker
    accounts: Accounts
    model: LoadedModel
    origin: ResultOrigin
    details: Mapping[str, str]
    files: FileStamps


def load(options: SessionOptions, device: DeviceChoice) -> Loaded:
    """Find, read, complete, compile if need be, load; blocks.

    Raises
    ------
    ModelNotFoundError, ConfigError, ModelLoadError, DeviceNotFoundError, MissingDependencyError
    AclError, LibraryError, DeviceOutOfMemoryError
    """
    began = time.perf_counter()
    source, device, placement = settle(options, device)
    stamps = _stamps(options, source)  # before they are read: a change that falls in between is one
    if options.max_batch_size is not None:
        # Before completion: whether the first dimension of what the file states is the batch depends on it.
        source = replace(source, config=replace(source.config, max_batch_size=options.max_batch_size))
    described = _described(source)
    completed = _complete(source, described, options)
    config = completed.config
    if source.to_compile:
        source = replace(source, file=compile_for_device(source.file, config, device, options))
        described = _described(source)
        completed = _complete(replace(source, config=config), described, options)
    compiled = described.format == "om"
    open_inputs = frozenset(
        completed.input_names[name] for name in completed.relaxed if name in completed.input_names
    )
    backend_options = _backend_options(config, options, frozenset() if compiled else open_inputs)
    backend = create("acl" if compiled else "onnx")
    requests = [
        LoadRequest(
            source.name, source.file, replace(backend_options, instances=share.instances), share.device
        )
        for share in placement.shares
    ]
    with in_use(options.memory_pool, [share.device for share in placement.shares]):
        model = load_placed(backend, requests)
    scheduler = accounts = None
    try:
        guessed = source.batch_size_open and options.max_batch_size is None
        hint = _limit_hint(config, described) if guessed else ""
        signature = _signature(source, config, completed, described, model.device, hint)
        executables = model.executables()
        assembly = BatchAssembly.of(source.name, completed, signature.model_inputs)
        warm_up(config, signature, executables, source.warmup_file, assembly)
        origin = ResultOrigin(source.name, source.version, model.device, source.labels, config.max_batch_size)
        accounts = Accounts(source, config, model, time.perf_counter() - began)
        scheduler = Scheduler(
            source.name,
            executables,
            signature.model_inputs,
            batching=_batching(config, options),
            max_batch_size=config.max_batch_size,
            costs=getattr(model, "chooser", None),
            counters=accounts.counters,
            assembly=assembly,
            outputs=output_shapes(
                signature,
                # A .om with gears may say of its outputs what they are in the largest.
                unsure=any(gear.kind != "batch" for gear in described.gears),
                guessed=guessed,
                scattered=() if assembly is None else assembly.scattered,
            ),
        )
        accounts.watch(scheduler)
        maker = request_maker(config, signature, origin, scheduler)
        details = {**model.details, "instances": str(placement), "chosen": device.reason}
    except BaseException:
        if scheduler is not None:
            scheduler.close()
        if accounts is not None:
            accounts.close()
        model.close()
        raise
    _tell(source, completed, details, model, described, placement)
    return Loaded(config, signature, scheduler, maker, accounts, model, origin, details, stamps)


def settle(options: SessionOptions, device: DeviceChoice) -> tuple[ModelSource, DeviceChoice, Placement]:
    """Find the model and the devices that it goes to; loads nothing.

    Returns
    -------
    source : ModelSource
    device : DeviceChoice
        With the first of the devices; the CPU where ``"auto"`` found an NPU and the model asks for the CPU.
    placement : Placement

    Raises
    ------
    ModelNotFoundError, ConfigError, ModelLoadError, DeviceNotFoundError
    """
    source = find_source(options, on_cpu=device.target.kind == "cpu")
    if device.requested == "auto" and device.target.kind != "cpu" and asks_for_cpu(source.config):
        with suppress(ModelNotFoundError, ModelLoadError):  # nothing that the CPU could run
            source = find_source(options, on_cpu=True)
            device = DeviceChoice("auto", DeviceTarget(), "its instance_group says KIND_CPU")
    placement = place(
        source.config,
        device.target,
        named=device.named,
        count_devices=device.count,
        instances=options.instances,
    )
    return source, replace(device, target=placement.shares[0].device), placement


def _stamps(options: SessionOptions, source: ModelSource) -> FileStamps:
    labels = [output.label_filename for output in source.config.output]
    try:
        files = content_files(Path(options.path), source.version, labels)
    except OSError:
        files = {}  # whoever reads them says so
    return FileStamps([str(source.file), *map(str, files.values())], inodes=True)


def _described(source: ModelSource) -> ModelSpec:
    if source.file.suffix == ".om":
        return om.read(source.file).spec()
    return _with_stated_defaults(onnx_file.read(source.file), source.config)


def _complete(source: ModelSource, described: ModelSpec, options: SessionOptions) -> Completed:
    # Requests are held to the file's own types, and not to a rank that it does not state.
    known = replace(
        described,
        inputs=tuple(map(_nameable, described.inputs)),
        outputs=tuple(map(_nameable, described.outputs)),
    )
    config = source.config
    if known.inputs != described.inputs and not config.input and not config.output:
        # Whether the first of unknown dims is a batch is not for completion to guess.
        config = replace(config, input=tuple(ModelInput(name=tensor.name) for tensor in known.inputs))
    # A size given to the Session is as good as one in config.pbtxt, 0 too: no default takes its place.
    return complete(config, known, parsed=source.parsed, keep_batch_size=options.max_batch_size is not None)


def _with_stated_defaults(file: onnx_file.OnnxFile, config: ModelConfig) -> ModelSpec:
    """Add the inputs that the model has values of its own for and the configuration names all the same."""
    named = {tensor.name for tensor in config.input}
    return replace(
        file.spec, inputs=(*file.spec.inputs, *(item for item in file.defaults if item.name in named))
    )


def _nameable(tensor: TensorSpec) -> TensorSpec:
    """Put a tensor into a configuration's words: one open dim for an unknown rank, bytes for FP8 and the like."""
    dtype = tensor.dtype if tensor.dtype.config_name else DataType.UINT8
    return replace(tensor, shape=(-1,) if tensor.shape == (-2,) else tensor.shape, dtype=dtype)


def _signature(
    source: ModelSource,
    config: ModelConfig,
    completed: Completed,
    described: ModelSpec,
    device: str,
    limit_hint: str,
) -> Signature:
    flat = {completed.input_names.get(tensor.name) for tensor in config.input if tensor.allow_ragged_batch}
    any_rank = {
        tensor.name for tensor in (*described.inputs, *described.outputs) if tensor.shape == (-2,)
    } - flat
    sources = {name for made in config.batch_input for name in made.source_input}
    sources |= {name for cut in config.batch_output for name in cut.source_input}
    model_inputs = {tensor.name: tensor for tensor in described.inputs}

    def dims(name: str, stated: tuple[int, ...]) -> tuple[int, ...]:
        return (-2,) if name in any_rank else stated

    def reshape(name: str, stated: object) -> tuple[int, ...] | None:
        shape: tuple[int, ...] | None = getattr(stated, "shape", None)
        return None if name in any_rank else shape

    inputs = [
        InputRule(
            tensor.name,
            model_name := completed.input_names[tensor.name],
            model_inputs[model_name].dtype,
            dims(model_name, tensor.dims),
            reshape(model_name, tensor.reshape),
            tensor.optional and model_inputs[model_name].optional and tensor.name not in sources,
        )
        for tensor in config.input
        if tensor.name in completed.input_names
    ]
    model_outputs = {tensor.name: tensor for tensor in described.outputs}
    outputs = [
        OutputRule(
            tensor.name,
            model_name := completed.output_names[tensor.name],
            model_outputs[model_name].dtype,
            dims(model_name, tensor.dims),
            reshape(model_name, tensor.reshape),
        )
        for tensor in config.output
        if tensor.name in completed.output_names
    ]
    return Signature(
        source.name, inputs, outputs, config.max_batch_size, limit_hint, described.not_tensors, device
    )


def _limit_hint(config: ModelConfig, described: ModelSpec) -> str:
    """Say where the limit that nobody stated comes from, and how to state another."""
    if not config.max_batch_size:
        return ""
    gears = batching_of(described).gears
    if gears and config.max_batch_size == gears[-1]:
        return (
            f"; config.pbtxt states no max_batch_size, and the model's largest gear is {gears[-1]}: with a larger "
            "one there, or Session(..., max_batch_size=N), larger batches are split"
        )
    return (
        "; config.pbtxt states no max_batch_size, and Triton's default is "
        f"{config.max_batch_size}: state a larger one there, or open Session(..., max_batch_size=N)"
    )


def _backend_options(
    config: ModelConfig, options: SessionOptions, open_inputs: frozenset[str]
) -> BackendOptions:
    optimization = config.optimization
    graph = optimization.graph.level if optimization is not None and optimization.graph is not None else None
    accelerators = optimization.execution_accelerators if optimization is not None else None
    return BackendOptions(
        threads=options.threads,
        parameters={key: value.string_value for key, value in config.parameters.items()},
        graph_level=options.graph_level if options.graph_level is not None else graph,
        accelerators=tuple(
            (item.name, item.parameters)
            for item in (accelerators.cpu_execution_accelerator if accelerators is not None else ())
        ),
        providers=options.providers,
        relaxed=open_inputs,
        slots=options.slots or 2,
        batched=True if config.has_rows else None,
        pool_bytes=None if options.memory_pool else options.pool_bytes or _pool_bytes(config),
        pinned_pool_bytes=options.pinned_pool_bytes,
    )


def _batching(config: ModelConfig, options: SessionOptions) -> Batching | None:
    """Return how requests are put together: as the caller says, else as the configuration does."""
    if options.batching is None:
        return Batching.from_config(config)
    if options.batching is True:
        return Batching.from_config(config) or Batching()
    return options.batching or None


def request_maker(
    config: ModelConfig, signature: Signature, origin: ResultOrigin, scheduler: Scheduler
) -> RequestMaker:
    """Return what makes requests and results of a model."""
    stated = {tensor.name: tensor for tensor in config.input}
    ragged = {name for name, tensor in stated.items() if tensor.allow_ragged_batch}
    valued = {name for name, tensor in stated.items() if tensor.is_shape_tensor}
    keyed = [
        name
        for name, rule in signature.rules.items()
        if name not in ragged and (-1 in rule.dims or rule.dims == (-2,) or -1 in (rule.reshape or ()))
    ]
    names = {name: rule.model_name for name, rule in signature.rules.items()}
    return RequestMaker(
        signature,
        origin,
        scheduler.front(signature, origin, InferResult, keyed, plain=not valued),
        scheduler.queue,
        signature.model_inputs,
        tuple(names[name] for name in keyed),
        tuple(names[name] for name in signature.rules if name in valued),
    )


def _pool_bytes(config: ModelConfig) -> int | None:
    stated = config.parameters.get("memory_pool_bytes")
    if stated is None or not stated.string_value:
        return None
    text = stated.string_value.replace("_", "")
    if not text.isdecimal() or not 0 < int(text) < 2**62:
        raise ModelLoadError(
            f"model {config.name!r}: parameters {{ key: 'memory_pool_bytes' }}: got {stated.string_value!r}, expected "
            "bytes as a whole number"
        )
    return int(text)


def _tell(
    source: ModelSource,
    completed: Completed,
    details: Mapping[str, str],
    model: LoadedModel,
    described: ModelSpec,
    placement: Placement,
) -> None:
    for finding in (*source.warnings, *completed.diagnostics):
        logger.warning("%s", finding)
    for name, kind in described.not_tensors.items():
        logger.warning("model %r: output %r is a %s and cannot be had", source.name, name, kind)
    how = [details[key] for key in ("runtime", "providers", "shapes") if key in details]
    if "threads" in details:
        how.append(f"{details['threads']} threads")
    logger.info(
        "model %r%s on %s (%s): %s",
        source.name,
        "" if source.version is None else f" version {source.version}",
        model.device,
        details["chosen"],
        ", ".join(how),
    )
    for note in placement.notes:
        logger.info("model %r: %s", source.name, note)
