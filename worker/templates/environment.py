"""Chat templates as transformers runs them. This module runs in a trial process, so it imports only jinja2.

transformers' own module is not used, because importing it takes a second and 60 MB. Tests compare the two.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, NoReturn, cast

from jinja2 import TemplateError, nodes
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.runtime import Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace
from typing_extensions import override


def rendered(source: str, variables: Mapping[str, Any]) -> str:
    """Render a template. Raises the template's errors, and `UnicodeEncodeError` for lone surrogates."""
    text = _compiled(source).render(variables)
    text.encode()  # lone surrogates can't be tokenized
    return text


@lru_cache(maxsize=4)
def _compiled(source: str) -> Any:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols]
    )
    environment.filters["tojson"] = _to_json
    own = {
        "raise_exception": _raise_exception,
        "strftime_now": _strftime_now,
        "dict": _Dict(),
        "namespace": _Namespace,
    }
    cast("dict[str, Any]", environment.globals).update(own)
    return environment.from_string(source)


class _Generation(Extension):
    """The block `generation`, which marks answers for training. Here it has no effect on its content."""

    tags = {"generation"}  # noqa: RUF012 (as jinja2 declares it)

    @override
    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_content"), [], [], body).set_lineno(line)

    def _content(self, caller: Macro) -> str:
        return caller()


class _Dict:
    """`dict` without its attributes."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict(*args, **kwargs)

    def fromkeys(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict.fromkeys(*args, **kwargs)


class _Namespace(Namespace):
    """A namespace without names that begin with an underscore."""

    def __init__(*args: Any, **kwargs: Any) -> None:
        self, *others = args
        attributes = dict(*others, **kwargs)
        for name in attributes:
            _check_name(name)
        Namespace.__init__(self, attributes)

    @override
    def __setitem__(self, name: str, value: Any) -> None:
        _check_name(name)
        super().__setitem__(name, value)


def _check_name(name: object) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(
            f"Chat templates cannot store underscore-prefixed attributes on a namespace, but got {name!r}. "
            "Please rename the attribute."
        )


def _raise_exception(message: str) -> NoReturn:
    raise TemplateError(message)


def _to_json(
    x: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _strftime_now(format: str) -> str:  # noqa: A002 (templates may name it)
    return datetime.now().strftime(format)  # noqa: DTZ005 (templates expect the local time)
