"""Structured dtypes as protobuf messages of constant length.

Protobuf writes a message as (tag, value) pairs. When every value is of a fixed width (double, fixed64,
fixed32, ...) and none is left out, all messages of one schema are equally long and every value lies at
the same place in each. Thousands of rows are then *one* numpy array whose columns alternate between
tags and values, written and read without a loop, while any protobuf reader decodes the same bytes.
"""

from functools import lru_cache
from typing import Any

import numpy as np
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from numpy.typing import NDArray

PACKAGE = "riderless"

# numpy's name of a type (kind and bytes) -> protobuf's, for the types of fixed width
_PROTOBUF = {
    "f8": FieldDescriptorProto.TYPE_DOUBLE,
    "f4": FieldDescriptorProto.TYPE_FLOAT,
    "u8": FieldDescriptorProto.TYPE_FIXED64,
    "u4": FieldDescriptorProto.TYPE_FIXED32,
    "i8": FieldDescriptorProto.TYPE_SFIXED64,
    "i4": FieldDescriptorProto.TYPE_SFIXED32,
}
_NUMPY = {protobuf: name for name, protobuf in _PROTOBUF.items()}
_WIRE_TYPE = {8: 1, 4: 5}  # bytes of the value -> I64, I32 of the protobuf encoding
_ROWS_PER_BLOCK = 2048  # rows copied at once: a megabyte, which stays in the cache while its columns are gone through
_MOST_COLUMNS = 1000  # ours have about sixty
_TAG = "tag of "  # columns of tags; no protobuf field can have a blank in its name


def schema(name: str, dtype: np.dtype) -> bytes:
    """Make the protobuf schema of `dtype`: a serialised FileDescriptorSet, as MCAP files embed it.

    Fields are numbered from 1 in the order of the columns.

    Raises
    ------
    TypeError
        A column is not a number of 4 or 8 bytes.
    """
    return message_schema(name, [(column, _protobuf_type(dtype[column])) for column in _columns(dtype)])


def message_schema(name: str, fields: list[tuple[str, Any]]) -> bytes:
    """Make a schema with one message of `fields` (name, FieldDescriptorProto.TYPE_*), numbered from 1."""
    file = FileDescriptorProto(name=f"{PACKAGE}/{name.lower()}.proto", package=PACKAGE, syntax="proto3")
    message = file.message_type.add(name=name)
    for number, (column, kind) in enumerate(fields, start=1):
        message.field.add(name=column, number=number, type=kind, label=FieldDescriptorProto.LABEL_OPTIONAL)
    return FileDescriptorSet(file=[file]).SerializeToString()


@lru_cache
def message_class(schema_bytes: bytes) -> Any:
    """Build the protobuf class of the one message in an embedded schema."""
    (file,) = FileDescriptorSet.FromString(schema_bytes).file
    pool = DescriptorPool()
    pool.Add(file)
    return GetMessageClass(pool.FindMessageTypeByName(f"{file.package}.{file.message_type[0].name}"))


def row_dtype(schema_bytes: bytes) -> np.dtype:
    """Recover the dtype that `schema` made a schema of: a log is read with the columns it was written with."""
    (file,) = FileDescriptorSet.FromString(schema_bytes).file
    fields = sorted(file.message_type[0].field, key=lambda field: field.number)
    if not 0 < len(fields) <= _MOST_COLUMNS:
        raise ValueError(f"{len(fields)} columns")
    return np.dtype([(field.name, _NUMPY[field.type]) for field in fields], align=True)


def wire_dtype(dtype: np.dtype) -> np.dtype:
    """One encoded message as a packed dtype: each column of `dtype` behind its tag."""
    return _template(dtype).dtype


def encode_rows(rows: NDArray) -> NDArray:
    """Encode rows (n,): an (n,) array of `wire_dtype`, each element the bytes of one message."""
    template = _template(rows.dtype)
    wire = np.full(rows.shape, template, template.dtype)
    for column in _columns(rows.dtype):
        wire[column] = rows[column]
    return wire


def decode_rows(wire: NDArray, dtype: np.dtype) -> NDArray:
    """Decode messages (n,) of `wire_dtype(dtype)` to rows (n,) of `dtype`."""
    rows = np.zeros(wire.shape, dtype)  # zeros, so that the padding of aligned rows is defined too
    for start in range(0, len(wire), _ROWS_PER_BLOCK):
        here = slice(start, start + _ROWS_PER_BLOCK)
        for column in _columns(dtype):
            rows[column][here] = wire[column][here]
    return rows


def _columns(dtype: np.dtype) -> tuple[str, ...]:
    if dtype.names is None:
        raise TypeError(f"wanted a structured dtype, found {dtype}")
    return dtype.names


def _protobuf_type(kind: np.dtype) -> Any:
    try:
        return _PROTOBUF[kind.str[1:]]
    except KeyError:
        raise TypeError(f"a log column is one of {', '.join(_PROTOBUF)}; found {kind}") from None


@lru_cache
def _template(dtype: np.dtype) -> NDArray:
    """One message () with its tags set and its values zero."""
    fields: list[tuple[str, str]] = []
    tags = {}
    for number, column in enumerate(_columns(dtype), start=1):
        tag = number << 3 | _WIRE_TYPE[dtype[column].itemsize]
        # a varint: 7 bits a byte, low ones first, the top bit says that another byte follows
        one_byte = tag < 0x80
        tags[_TAG + column] = tag if one_byte else (tag & 0x7F | 0x80) | tag >> 7 << 8
        fields.append((_TAG + column, "u1" if one_byte else "<u2"))
        fields.append((column, "<" + dtype[column].str[1:]))
    template = np.zeros((), np.dtype(fields))
    for column, tag in tags.items():
        template[column] = tag
    return template
