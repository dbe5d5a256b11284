"""Declarations of the configuration: keys of the profile, options of sources and of models.

A dataclass declares each option once, as a field made by `option`: its parser, its default and its
meaning. `read_options` checks the user's values against the declarations, and
docs/configuration.md is generated from them. A new option is one new field.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any

Parser = Callable[[Any], Any]
"""Converts a value of the user's YAML to the value that the adapter uses.

Raises ValueError with a text that follows the option's name: "must be …, not …".
"""

_OPTION = "option"


@dataclass(frozen=True)
class Option:
    """One key of the configuration."""

    name: str
    meaning: str
    shown_default: str
    """The default in Markdown, or `required`; empty if the meaning describes it."""

    unit: str = ""
    required: bool = False
    secret: bool = False
    parse: Parser = field(default=str, compare=False)


@dataclass(frozen=True)
class OptionsRead:
    """The parsed values of the options that a user has given, and all problems in them."""

    values: Mapping[str, Any]
    problems: tuple[str, ...]


def option(
    meaning: str,
    parse: Parser,
    *,
    default: Any = MISSING,
    factory: Any = MISSING,
    unit: str = "",
    shown_default: str | None = None,
    secret: bool = False,
) -> Any:
    """Declare an option as a field of a dataclass. Without a default it is required.

    Args:
        parse: not called for a missing option, nor for `null`, which means the same.
        shown_default: the default as the reference describes it; None for the value itself.
        secret: whether the value may hold a password, which `dbt debug` must not show.
    """
    required = default is MISSING and factory is MISSING
    if shown_default is None:
        shown_default = "required" if required else _in_markdown(default)
    declared = Option("", meaning, shown_default, unit, required, secret, parse)
    return field(
        default=default, default_factory=factory, repr=not secret, metadata={_OPTION: declared}
    )


def declared_options(owner: type[Any]) -> tuple[Option, ...]:
    """Return the options that a dataclass declares, in the order of their declarations."""
    return tuple(
        replace(f.metadata[_OPTION], name=f.name) for f in fields(owner) if _OPTION in f.metadata
    )


def read_options(
    owner: type[Any], given: Mapping[str, Any], *, also_allowed: Collection[str] | None = ()
) -> OptionsRead:
    """Parse the options that a user has given for a dataclass; report every problem at once.

    Args:
        also_allowed: keys that other code reads; None to ignore all unknown keys.
    """
    options = declared_options(owner)
    values, problems = {}, []
    if also_allowed is not None:
        allowed = {*also_allowed, *(declared.name for declared in options)}
        problems = [f"`{key}` is not a key of this adapter" for key in given if key not in allowed]
    for declared in options:
        value = given.get(declared.name)
        if value is None:
            if declared.required:
                problems.append(f"`{declared.name}` is missing: {declared.meaning}")
            continue
        try:
            values[declared.name] = declared.parse(value)
        except ValueError as error:
            problems.append(f"`{declared.name}` {error}")
    return OptionsRead(values, tuple(problems))


def list_problems(problems: Iterable[str]) -> str:
    """Return an indented line for each problem, as an error shows them below its first line."""
    return "".join(f"\n  - {problem}" for problem in problems)


def parse_text(value: Any) -> str:
    """Parse a name or an address. YAML reads some names as numbers."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError(f"must be a text, not {value!r}")
    return str(value)


def parse_bool(value: Any) -> bool:
    """Parse true or false."""
    if not isinstance(value, bool):
        raise ValueError(f"must be true or false, not {value!r}")
    return value


def parse_flag(value: Any) -> bool:
    """Parse true or false, also as text from an environment variable."""
    words = {"true": True, "false": False}
    return parse_bool(words.get(value.lower(), value) if isinstance(value, str) else value)


def parse_secret(value: Any) -> str:
    """Parse a text that no message may show."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError("must be a text in quotes")
    return str(value)


def parse_seconds(value: Any) -> float:
    """Parse a duration in seconds, also as text from an environment variable."""
    return _parse_amount(value, "seconds")


def parse_megabytes(value: Any) -> float:
    """Parse a size in megabytes, also as text from an environment variable."""
    return _parse_amount(value, "megabytes")


def _parse_amount(value: Any, unit: str) -> float:
    try:
        amount = -1.0 if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        amount = -1.0
    if not amount >= 0:
        raise ValueError(f"must be a number of {unit}, 0 or more, not {value!r}")
    return amount


def positive_seconds(reason: str) -> Parser:
    """Make a parser of durations in seconds that refuses 0 with this reason."""

    def parse(value: Any) -> float:
        seconds = parse_seconds(value)
        if seconds == 0:
            raise ValueError(f"must be more than 0 seconds: {reason}")
        return seconds

    return parse


def parse_count(value: Any) -> int:
    """Parse a whole number, at least 1."""
    if type(value) is not int or value < 1:
        raise ValueError(f"must be a whole number from 1 up, not {value!r}")
    return value


def one_of(*allowed: str) -> Parser:
    """Make a parser that accepts only the given words."""

    def parse(value: Any) -> str:
        if value not in allowed:
            raise ValueError(f"must be one of {', '.join(allowed)}, not {value!r}")
        return str(value)

    return parse


def _in_markdown(default: Any) -> str:
    if default is MISSING or default is None:
        return ""
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f"`{default:g}`" if isinstance(default, float) else f"`{default}`"
