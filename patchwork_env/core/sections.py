"""Sections of settings: typed, strict and frozen. Needs pydantic.

The docstring of a field describes it, for example in ``train --explain``.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from patchwork_env.core.documents import one_line
from patchwork_env.core.names import short_repr

WHOLE = BeforeValidator(
    lambda value: int(value) if isinstance(value, float) and value.is_integer() else value
)
"""Accepts floats that are whole numbers for a type of integers, such as ``2e4`` in YAML."""

_Value = TypeVar("_Value")
_Section = TypeVar("_Section", bound="Section")
_FIXED = "fixed for a whole run"
Fixed = Annotated[_Value, _FIXED]
"""The type of a key that the stored state of a run depends on: a resumed run must have the same value."""


class Section(BaseModel):
    """Keys with types and defaults. Unknown keys, wrong types and numbers that are not finite are errors."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, use_attribute_docstrings=True
    )

    def fixed_values(self, prefix: str = "") -> dict[str, Any]:
        """Return the JSON values of the keys of type :data:`Fixed`, also in sections, by full key."""
        dumped = self.model_dump(mode="json")
        fixed: dict[str, Any] = {}
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            if isinstance(value, Section):
                fixed |= value.fixed_values(f"{prefix}{name}.")
            elif _FIXED in field.metadata:
                fixed[prefix + name] = dumped[name]
        return fixed


def read_section(kind: type[_Section], values: Any, name: str, source: str) -> _Section:
    """Return the section with ``values``, a dict from a file that must have every key.

    A ValueError of one line calls the section ``name`` and the file ``source``.
    """
    keys = list(kind.model_fields)
    if not isinstance(values, dict) or set(values) != set(keys):
        raise ValueError(f"{source}: {name} is {short_repr(values)}; it must give {', '.join(keys)}")
    try:
        return kind(**values)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        reason = one_line(problem["msg"].removeprefix("Value error, "))
        key = ".".join(map(str, (name, *problem["loc"])))
        given = f"{key} is {short_repr(problem['input'])}: " if problem["loc"] else ""
        raise ValueError(f"{source}: {given}{reason}") from None
