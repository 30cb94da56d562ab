"""Reads a hook's description and options from its file, without running it.

The description is the docstring of the file or, without one, of its class or function. The options are the arguments
of its class `Hook`.
"""

from __future__ import annotations

import ast
import inspect
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from worker.protocol import HookOption, ListedHook
from worker.regular_file import read_regular
from worker.sentence import Sentence, verbatim
from worker.values import NEEDS, Need

_Kind: TypeAlias = Literal["bool", "int", "float", "str", "list", "any"]

_MAX_SOURCE_BYTES = 1 << 20

_KINDS: dict[str, _Kind] = {
    "bool": "bool",
    "int": "int",
    "float": "float",
    "str": "str",
    "list": "list",
    "tuple": "list",
    "set": "list",
    "frozenset": "list",
    "Sequence": "list",
    "Iterable": "list",
    "Collection": "list",
}


def listed_file(name: str, file: Path, *, is_own: bool) -> ListedHook:
    """Return the description of the hook in a file. If it can't be read, `problem` says why."""
    try:
        module = _module_in(file)
    except OSError as error:
        why = Sentence("{file} can't be read: {error}.", file=file.name, error=error.strerror or error)
    except SyntaxError as error:
        what = verbatim(error.msg)
        if error.lineno:
            what = Sentence("line {line}, {error}", line=error.lineno, error=error.msg)
        why = Sentence("{file} is not valid Python: {error}.", file=file.name, error=what)
    except (RecursionError, MemoryError):
        # Python's parser raises these without a text.
        why = Sentence("{file} is nested too deeply to be read.", file=file.name)
    except ValueError as error:
        why = Sentence("{file} is not valid Python: {error}.", file=file.name, error=error)
    else:
        hook = _hook_in(module)
        doc = ast.get_docstring(module) or (None if hook is None else ast.get_docstring(hook)) or ""
        options = list(_options(hook)) if isinstance(hook, ast.ClassDef) else []
        return _listed(name, doc, options, is_own=is_own)
    return ListedHook(name=name, is_own=is_own, problem=_clean(why), problem_parts=why.parts)


def needs_of_hooks(folder: Path | None) -> frozenset[Need]:
    """Return the needs of the user's hooks in a folder; none if there is no folder. Runs no hook."""
    files = () if folder is None else folder.glob("[!_]*.py")
    return frozenset(need for file in files for need in needs_of(file))


def needs_of(file: Path) -> frozenset[Need]:
    """Return the needs of a hook, from its line `NEEDS = ["network", "files"]`. Does not run the hook."""
    try:
        module = _module_in(file)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    needs: object = None
    for part in module.body:
        match part:
            case (
                ast.Assign(targets=[ast.Name(id="NEEDS")], value=value)
                | ast.AnnAssign(target=ast.Name(id="NEEDS"), value=ast.expr() as value)
            ):
                needs = _literal(value)
            case _:
                pass
    named = [needs] if isinstance(needs, str) else needs if isinstance(needs, list) else []
    return frozenset(need for need in NEEDS if need in named)


def listed_given(name: str, make: Callable[..., object]) -> ListedHook:
    """Return the description of a hook that has no file."""
    return _listed(name, inspect.getdoc(make) or "", [], is_own=True)


def _module_in(file: Path) -> ast.Module:
    source = source_of(file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)


def source_of(file: Path) -> bytes:
    """Return the bytes of a hook's file, which may declare its encoding. Raises `OSError`."""
    return read_regular(file, _MAX_SOURCE_BYTES)


def _listed(name: str, doc: str, options: list[HookOption], *, is_own: bool) -> ListedHook:
    description = _clean(doc.strip())
    summary = description.split("\n\n")[0].replace("\n", " ")
    return ListedHook(name=name, summary=summary, description=description, options=options, is_own=is_own)


def _hook_in(module: ast.Module) -> ast.ClassDef | ast.FunctionDef | None:
    """Return the class `Hook`, or else the function `hook`; the last definition counts, as when the file runs."""
    classes = [part for part in module.body if isinstance(part, ast.ClassDef) and part.name == "Hook"]
    functions = [part for part in module.body if isinstance(part, ast.FunctionDef) and part.name == "hook"]
    return next(reversed([*functions, *classes]), None)


def _options(hook: ast.ClassDef) -> Iterator[HookOption]:
    for part in hook.body:
        if isinstance(part, ast.FunctionDef) and part.name == "__init__":
            yield from _arguments(part.args)
            return
    if any("dataclass" in ast.unparse(decorator) for decorator in hook.decorator_list):
        for part in hook.body:
            if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                annotation = ast.unparse(part.annotation)
                if "ClassVar" not in annotation and not _is_field(part.value):
                    yield _option(part.target.id, part.annotation, part.value)


def _arguments(arguments: ast.arguments) -> Iterator[HookOption]:
    named = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(named) - len(arguments.defaults)) + list(arguments.defaults)
    first = len(arguments.posonlyargs) or 1
    for argument, default in [*list(zip(named, defaults, strict=True))[first:]]:
        yield _option(argument.arg, argument.annotation, default)
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield _option(argument.arg, argument.annotation, default)


def _is_field(value: ast.expr | None) -> bool:
    """Return whether a data class field is defined by `field(…)`, so that its default is unknown."""
    return isinstance(value, ast.Call) and ast.unparse(value.func).split(".")[-1] == "field"


def _option(name: str, annotation: ast.expr | None, default: ast.expr | None) -> HookOption:
    value = _literal(default)
    kind = "any" if annotation is None else _kind(annotation)
    if kind == "any":
        kind = _KINDS.get(type(value).__name__, "any")
    return HookOption(name=name, kind=kind, default=value, is_required=default is None)


def _kind(annotation: ast.expr) -> _Kind:
    match annotation:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return _KINDS.get(name, "any")
        case ast.Constant(value=str() as text):
            try:
                return _kind(ast.parse(text, mode="eval").body)
            except SyntaxError:
                return "any"
        case ast.BinOp(op=ast.BitOr(), left=left, right=ast.Constant(value=None)):
            return _kind(left)
        case ast.Subscript(value=ast.Name(id="Optional") | ast.Attribute(attr="Optional"), slice=of):
            return _kind(of)
        case ast.Subscript(value=of):
            return _kind(of)
        case _:
            return "any"


def _literal(expression: ast.expr | None) -> Any:
    """Return the value of a literal that the protocol can send; None for any other expression."""
    if expression is None:
        return None
    try:
        value = ast.literal_eval(expression)
        return msgspec.msgpack.decode(msgspec.msgpack.encode(value))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError, OverflowError):
        return None


def _clean(text: str) -> str:
    """Return a text that can be sent: lone surrogates are replaced."""
    return text.encode("utf-8", "replace").decode()
