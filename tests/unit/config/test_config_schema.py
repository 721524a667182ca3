"""The table of messages, the classes that stand for them, and Triton's own descriptor where it is installed."""

import dataclasses
import gc
import subprocess
import sys
import typing
import weakref
from enum import StrEnum

import pytest

from ascend_infer.config.message_classes import ENUM_CLASSES, MESSAGE_CLASSES, attribute
from ascend_infer.config.schema import ENUMS, MESSAGES, FieldSpec, message_class
from ascend_infer.types import DataType

PYTHON_TYPES = {
    "string": str,
    "bool": bool,
    "float": float,
    "double": float,
    "int32": int,
    "int64": int,
    "uint32": int,
    "uint64": int,
}


def _expected_type(spec: FieldSpec):
    """Return the annotation that a field of the schema should have, and its default."""
    if spec.type == "DataType":
        value = DataType
    elif spec.type in MESSAGES:
        value = MESSAGE_CLASSES[spec.type]
    else:
        value = ENUM_CLASSES.get(spec.type) or PYTHON_TYPES[spec.type]
    if spec.label == "map":
        return typing.get_origin(typing.Mapping[str, str]), (PYTHON_TYPES[spec.key_type or ""], value), {}
    if spec.label == "many":
        return tuple, (value, ...), ()
    if spec.has_presence or spec.type == "DataType":
        return None, (value, type(None)), None
    default = next(iter(ENUM_CLASSES[spec.type])) if spec.type in ENUMS else value()
    return value, (), default


@pytest.mark.parametrize("name", MESSAGES)
def test_each_class_has_its_messages_fields(name):
    cls = MESSAGE_CLASSES[name]
    assert cls.__name__ == name.replace(".", "")
    assert dataclasses.is_dataclass(cls)
    assert hasattr(cls, "__slots__")
    hints = typing.get_type_hints(cls)
    specs = MESSAGES[name].fields
    assert [field.name for field in dataclasses.fields(cls)] == [attribute(each) for each in specs]
    empty = cls()
    for spec in specs.values():
        hint = hints[attribute(spec.name)]
        origin, arguments, default = _expected_type(spec)
        assert getattr(empty, attribute(spec.name)) == default, spec.name
        if origin is None:
            assert typing.get_args(hint) == arguments, spec.name
        elif arguments:
            assert typing.get_origin(hint) is origin, spec.name
            assert typing.get_args(hint) == arguments, spec.name
        else:
            assert hint is origin, spec.name


@pytest.mark.parametrize("name", ENUM_CLASSES)
def test_each_enum_has_its_values_in_order(name):
    cls = ENUM_CLASSES[name]
    assert issubclass(cls, StrEnum)
    assert [member.value for member in cls] == list(ENUMS[name])
    assert [member.name for member in cls] == list(ENUMS[name])


def test_data_types_are_the_librarys_table():
    named = {member.config_name: member.triton for member in DataType if member.config_name}
    assert named == {name: number for name, number in ENUMS["DataType"].items() if number}


def test_the_default_pool_knows_nothing_of_it():
    from google.protobuf import descriptor_pool

    message_class()
    with pytest.raises(KeyError):
        descriptor_pool.Default().FindMessageTypeByName("ascend_infer.nothing")
    pool = message_class().DESCRIPTOR.file.pool
    assert pool is not descriptor_pool.Default()


def _flat(file_descriptor):
    """Return every message and enum of a file by its full name, independent of order."""
    found = {}

    def walk(prefix, message):
        full = prefix + message.name
        fields = [
            (
                field.number,
                field.name,
                field.label,
                field.type,
                field.type_name,
                message.oneof_decl[field.oneof_index].name if field.HasField("oneof_index") else None,
            )
            for field in message.field
        ]
        found[full] = sorted(fields), message.options.map_entry
        for enum in message.enum_type:
            found[f"{full}.{enum.name}"] = [(value.name, value.number) for value in enum.value]
        for nested in message.nested_type:
            walk(f"{full}.", nested)

    for enum in file_descriptor.enum_type:
        found[enum.name] = [(value.name, value.number) for value in enum.value]
    for message in file_descriptor.message_type:
        walk("", message)
    return found


def test_the_schema_is_tritonclients():
    model_config_pb2 = pytest.importorskip(
        "tritonclient.grpc.model_config_pb2", reason="tritonclient[grpc] is not installed"
    )
    from google.protobuf import descriptor_pb2

    theirs, ours = descriptor_pb2.FileDescriptorProto(), descriptor_pb2.FileDescriptorProto()
    model_config_pb2.DESCRIPTOR.CopyToProto(theirs)
    message_class().DESCRIPTOR.file.CopyToProto(ours)
    assert _flat(ours) == _flat(theirs)


def test_the_same_names_may_be_registered_by_others_before_and_after():
    """What tritonclient does: register inference.ModelConfig in the default pool."""
    program = """
from google.protobuf import descriptor_pb2, descriptor_pool
def register():
    proto = descriptor_pb2.FileDescriptorProto(name="model_config.proto", package="inference", syntax="proto3")
    proto.message_type.add(name="ModelConfig").field.add(name="other", number=1, type=9, label=1)
    descriptor_pool.Default().AddSerializedFile(proto.SerializeToString())
    descriptor_pool.Default().FindMessageTypeByName("inference.ModelConfig")
from ascend_infer.config import parse_config
if BEFORE:
    register()
assert parse_config('max_batch_size: 3').config.max_batch_size == 3
if not BEFORE:
    register()
assert parse_config('max_batch_size: 3').config.max_batch_size == 3
"""
    for before in ("True", "False"):
        done = subprocess.run(
            [sys.executable, "-c", program.replace("BEFORE", before)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr


def test_classes_of_nested_messages_are_kept():
    # Made anew for each parse, they were garbage that a collection in one thread took from under another.
    classes = [
        weakref.ref(type(message_class()().input.add())),
        weakref.ref(type(message_class()().dynamic_batching.priority_queue_policy[1])),
    ]
    gc.collect()
    assert all(kept() is not None for kept in classes)


def test_importing_the_room_loads_nothing_heavy():
    program = (
        "import sys, ascend_infer.config, ascend_infer.model_directory, ascend_infer.lint\n"
        "print([name for name in ('onnxruntime', 'PIL', 'google.protobuf', 'onnx') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
