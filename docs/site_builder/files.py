"""Reference of the files a person writes, read from the models that check them."""

import inspect
import re
import types
import typing

from pydantic import BaseModel

from riderless.experiments.campaigns import file as campaign_file
from riderless.experiments.campaigns.protocols import PROTOCOLS
from riderless.experiments.recordings.foreign import mapping
from riderless.firmware_interface.devices.registry import device, device_names
from riderless.hil.loop.limits import MACHINE_LIMITS, RANGES, Limits
from riderless.hil.rig import file as rig_file
from riderless.models.parameter_table import PARAMETERS
from site_builder.markdown import code, table

HEAD = """# Files

The files that you write, all in TOML. Each table is read from the program that checks the file: an unknown key, a wrong
type or a value outside its range is refused with its line. The unit stands at the end of a key: `rate_Hz`,
`drive_lag_s`. `riderless init FOLDER` writes a first one of each kind.
"""


def page() -> str:
    """Write the sections of all files."""
    return "\n".join([HEAD, _bicycle(), _rig(), _campaign(), _mapping(), _gains()])


def _bicycle() -> str:
    rows = [(code(name), unit, meaning) for name, (unit, meaning) in PARAMETERS.items()]
    keys = "`name` and a table `[parameters]` are wanted. `[std]` has standard deviations under the same names."
    return f"""## Bicycle

{keys} [A bicycle in a file](../bicycle-file.md) tells which units a name may carry, and what is refused.

{table(("parameter", "unit", "meaning"), rows)}"""


def _rig() -> str:
    parts = ["## Rig\n", "Keys at the top of the file:\n", _keys(rig_file._RigFile, plain=True)]
    for title, model in (
        ("[[port]]", rig_file._Port),
        ("[loop]", rig_file._Loop),
        ("[drive]", rig_file._Drive),
        ("[imu]", rig_file._Imu),
        ("[std]", rig_file._Std),
    ):
        parts.append(f"### {title}\n\n{_keys(model)}")
    settings = [
        (code(name), code(key), one.unit, "" if one.default is None else code(f"{one.default:g}"), one.meaning)
        for name in device_names()
        for key, one in device(name).settings.items()
    ]
    parts.append("### settings of a device\n\nIn `[port.settings]`. Without a default the rig file must say it.\n")
    parts.append(table(("device", "key", "unit", "default", "meaning"), settings))
    parts.append("### [limits.NAME]\n\nEach has `value` and `reason`. A rig must state those marked *each rig*.\n")
    usual = Limits()
    rows = []
    for name, (low, high, why) in RANGES.items():
        one = getattr(usual, name)
        rows.append(
            (
                code(name),
                one.unit,
                f"{one.value:g}",
                f"{low:g} to {high:g}",
                "each rig" * (name in MACHINE_LIMITS),
                one.reason,
                why,
            )
        )
    parts.append(table(("limit", "unit", "default", "taken", "", "reason of the default", "reason of the range"), rows))
    return "\n".join(parts)


def _campaign() -> str:
    parts = ["## Campaign\n", _keys(campaign_file._File)]
    parts.append(f"### [[controller]]\n\n{_keys(campaign_file._Controller)}")
    for name, module in PROTOCOLS.items():
        first = (inspect.getdoc(module) or "").split("\n\n")[0]
        parts.append(f'### [[protocol]] kind = "{name}"\n\n{first}\n\n{_keys(module.Settings)}')
    return "\n".join(parts)


def _mapping() -> str:
    wanted = mapping.REQUIRED_QUANTITIES
    rows = [
        (code(f"[{name}]"), "yes" if name in wanted else "", ", ".join(units))
        for name, units in mapping.QUANTITY_UNITS.items()
    ]
    others = [(code(f"[{name}]"), ", ".join(map(code, keys))) for name, keys in mapping.OTHER_KEYS.items()]
    return f"""## Mapping

Says which column of somebody's log is what. [Somebody else's logs](../foreign-logs.md) has an example of every key.
Keys at the top: {", ".join(map(code, mapping.PLAIN_KEYS))}.
Keys of a quantity:
{", ".join(map(code, mapping.COLUMN_KEYS))}.

{table(("quantity", "required", "units"), rows)}
{table(("other table", "keys"), others)}"""


def _gains() -> str:
    from riderless.hil.design.schedule import GainSchedule

    return f"""## Gains

Written by `riderless design -o gains.toml`, and read by every command that takes `--controller`.
You need not write one.

```{{eval-rst}}
.. automethod:: {GainSchedule.__module__}.GainSchedule.to_toml
```
"""


def _keys(model: type[BaseModel], plain: bool = False) -> str:
    """Table of a model's keys; ``plain`` leaves out those that are tables of their own."""
    said = _comments(model)
    rows = []
    for name, field in model.model_fields.items():
        if plain and "_" in str(field.annotation) and "file._" in str(field.annotation):
            continue
        default = "required" if field.is_required() else _shown(field.get_default(call_default_factory=True))
        rows.append((code(name), _kind(field.annotation), default, _bounds(field.metadata), said.get(name, "")))
    return table(("key", "type", "default", "range", "meaning"), rows)


def _comments(model: type[BaseModel]) -> dict[str, str]:
    """Read what the source says behind each key, of the model and of those it extends."""
    found: dict[str, str] = {}
    for one in reversed(model.__mro__):
        if issubclass(one, BaseModel) and one is not BaseModel:
            found |= dict(re.findall(r"^    (\w+): .*?  # (.+)$", inspect.getsource(one), re.MULTILINE))
    return found


def _kind(annotation: object) -> str:
    """Type of a key in the words of TOML."""
    words = {str: "text", float: "number", int: "whole number", bool: "true or false", type(None): "", dict: "table"}
    if annotation in words:
        return words[annotation]
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return " or ".join(f'`"{one}"`' if isinstance(one, str) else f"`{one}`" for one in inner)
    if origin is typing.Annotated:
        return _kind(inner[0])
    if origin in (typing.Union, types.UnionType):
        return " or ".join(filter(None, map(_kind, inner)))
    if origin in (tuple, list):
        return f"list of {_kind(inner[0])}"
    return "table" if origin is dict or (inspect.isclass(annotation) and issubclass(annotation, BaseModel)) else "any"


def _shown(value: object) -> str:
    if value is None or value == "" or isinstance(value, BaseModel) or value == {}:
        return ""
    if isinstance(value, tuple):
        return ", ".join(filter(None, map(_shown, value)))
    return code(str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else value)


def _bounds(metadata: list) -> str:
    signs = (("gt", "above"), ("ge", "from"), ("lt", "below"), ("le", "to"), ("min_length", "at least"))
    return " ".join(
        f"{word} {getattr(one, key):g}"
        for one in metadata
        for key, word in signs
        if getattr(one, key, None) is not None
    )
