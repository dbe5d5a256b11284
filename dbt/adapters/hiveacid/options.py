"""Declarations of what users configure: keys of the profile, options of sources and of models.

A dataclass declares each option once, as a field made by `option`: its parser, its default and its
meaning. `read_options` checks what a user has written against the declarations, and
docs/configuration.md is generated from them. A new option is one new field.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

Parser = Callable[[Any], Any]
"""Return what the adapter works with for a value of the user's YAML.

A parser raises ValueError with a text that follows the option's name: "must be …, not …".
"""

_OPTION = "option"


@dataclass(frozen=True)
class Option:
    """One thing that users may configure."""

    name: str
    meaning: str
    shown_default: str
    """The default in Markdown, or `required`; empty where the meaning tells it."""

    unit: str = ""
    required: bool = False
    secret: bool = False


@dataclass(frozen=True)
class _Declaration:
    """What the field of an option holds besides its default."""

    meaning: str
    parse: Parser
    unit: str
    shown_default: str | None
    secret: bool


@dataclass(frozen=True)
class OptionsRead:
    """The parsed values of the options that a user has given, and everything that is wrong."""

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
        shown_default: how the reference describes the default, if the value does not say it.
        secret: whether the value may hold a password, so that `dbt debug` must not show it.
    """
    declaration = _Declaration(meaning, parse, unit, shown_default, secret)
    return field(default=default, default_factory=factory, metadata={_OPTION: declaration})


def declared_options(owner: type[Any]) -> tuple[Option, ...]:
    """Return the options that a dataclass declares, in the order of their declarations."""
    return tuple(
        Option(
            f.name,
            declaration.meaning,
            _describe_default(f, declaration),
            declaration.unit,
            _is_required(f),
            declaration.secret,
        )
        for f, declaration in _declarations(owner)
    )


def read_options(
    owner: type[Any], given: Mapping[str, Any], *, also_allowed: Collection[str] | None = ()
) -> OptionsRead:
    """Parse the options that a user has given for a dataclass; report every problem at once.

    Args:
        also_allowed: keys that somebody else reads; None if every key may be somebody else's.
    """
    declarations = {f.name: (f, declaration) for f, declaration in _declarations(owner)}
    values, problems = {}, []
    if also_allowed is not None:
        problems = [
            f"`{key}` is not a key of this adapter"
            for key in given
            if key not in declarations and key not in also_allowed
        ]
    for name, (f, declaration) in declarations.items():
        value = given.get(name)
        if value is None:
            if _is_required(f):
                problems.append(f"`{name}` is missing: {declaration.meaning}")
            continue
        try:
            values[name] = declaration.parse(value)
        except ValueError as error:
            problems.append(f"`{name}` {error}")
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


def parse_seconds(value: Any) -> float:
    """Parse a duration. Environment variables give it as a text."""
    try:
        seconds = -1.0 if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        seconds = -1.0
    if not seconds >= 0:
        raise ValueError(f"must be a number of seconds, 0 or more, not {value!r}")
    return seconds


def positive_seconds(reason: str) -> Parser:
    """Make a parser of durations that refuses 0, with the reason why."""

    def parse(value: Any) -> float:
        seconds = parse_seconds(value)
        if seconds == 0:
            raise ValueError(f"must be more than 0 seconds: {reason}")
        return seconds

    return parse


def parse_count(value: Any) -> int:
    """Parse a whole number of things, at least one."""
    if type(value) is not int or value < 1:
        raise ValueError(f"must be a whole number from 1 up, not {value!r}")
    return value


def one_of(*allowed: str) -> Parser:
    """Make a parser that takes one of some words."""

    def parse(value: Any) -> str:
        if value not in allowed:
            raise ValueError(f"must be one of {', '.join(allowed)}, not {value!r}")
        return str(value)

    return parse


def _declarations(owner: type[Any]) -> list[tuple[Any, _Declaration]]:
    return [(f, f.metadata[_OPTION]) for f in fields(owner) if _OPTION in f.metadata]


def _is_required(f: Any) -> bool:
    return f.default is MISSING and f.default_factory is MISSING


def _describe_default(f: Any, declaration: _Declaration) -> str:
    if declaration.shown_default is not None:
        return declaration.shown_default
    if _is_required(f):
        return "required"
    if f.default is MISSING or f.default is None:
        return ""
    if isinstance(f.default, bool):
        return f"`{str(f.default).lower()}`"
    return f"`{f.default:g}`" if isinstance(f.default, float) else f"`{f.default}`"
