"""Finds hooks by name, both Bough's and the user's, and loads them.

A hook is a Python file that defines a class `Hook`, created for each answer and called with each `Step`, or a function
`hook(step)`. The file runs only when a request names it, with all rights of the worker's process, which has no network
and can't write files unless a hook asks for it (`NEEDS`). When an answer forks, its `Hook` is copied with its state; a
function is shared.
"""

from __future__ import annotations

import importlib.resources
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from worker.answers.hook_chain import SLOW_S, Hook, HookChain, Watch, hook_failure, watched
from worker.answers.hook_listing import listed_file, listed_given, needs_of, source_of
from worker.errors import BadRequestError, HookFailedError
from worker.protocol import ListedHook, RequestId
from worker.sentence import Sentence
from worker.values import NEEDS, Confinement

_SHIPPED = Path(str(importlib.resources.files("worker.hooks")))


class HookFolder:
    """All hooks that can be named in a request."""

    def __init__(
        self,
        own: Path | None = None,
        watch: Watch | None = None,
        given: Mapping[str, Callable[..., Hook]] | None = None,
        slow_s: float = SLOW_S,
        confinement: Confinement = Confinement(),  # noqa: B008 (a frozen value)
    ) -> None:
        """`own` is the user's folder, which need not exist; a hook there replaces one of Bough's with the same name.

        `given` maps names to functions that create hooks without a file. A call longer than `slow_s` seconds is slow.
        `confinement` says what this process gave up.
        """
        self._confinement = confinement
        self._slow_s = slow_s
        self._given = given or {}
        self._folders = [folder for folder in (own, _SHIPPED) if folder is not None]
        self._watch = watch

    def names(self) -> list[str]:
        """Return the names of all hooks."""
        return sorted({*self._given, *(_name(file) for folder in self._folders for file in folder.glob("[!_]*.py"))})

    def listed(self) -> list[ListedHook]:
        """Return the descriptions of all hooks, sorted by name. Runs no file."""
        found = {name: listed_given(name, make) for name, make in self._given.items()}
        for folder in self._folders:
            for file in sorted(folder.glob("[!_]*.py")):
                if _name(file) not in found:
                    found[_name(file)] = listed_file(_name(file), file, is_own=folder != _SHIPPED)
        return [found[name] for name in sorted(found)]

    def new(
        self, names: Sequence[str], options: Mapping[str, Mapping[str, Any]], request_id: RequestId = 0
    ) -> HookChain:
        """Return the hooks for one answer of a request. Raises `BadRequestError` or `HookFailedError`.

        `options` maps a hook's name to the keyword arguments of its class.
        """
        for name in options:
            if name not in names:
                raise BadRequestError(
                    Sentence("`hook_options` names “{name}”, but the `hooks` of this request don't.", name=name)
                )
        hooks: list[tuple[str, Hook]] = []
        for name in names:
            with watched(self._watch, request_id, name):
                hooks.append((name, self._made(name, options.get(name, {}))))
        return HookChain(hooks, request_id, self._watch, self._slow_s)

    def _made(self, name: str, options: Mapping[str, Any]) -> Hook:
        try:
            if name in self._given:
                return self._given[name](**options)
        except BaseException as error:
            raise hook_failure(name, error) from error
        file = self._file(name)
        self._refuse_if_needy(name, file)
        try:
            module = ModuleType(f"hook {name}")
            module.__file__ = str(file)
            # Data classes look up their fields' types here.
            sys.modules[module.__name__] = module
            # Compile the bytes, because the file may declare another encoding than UTF-8.
            exec(compile(source_of(file), file, "exec", dont_inherit=True), module.__dict__)  # noqa: S102
            make = getattr(module, "Hook", None)
            hook = getattr(module, "hook", None) if make is None else make(**options)
        except BaseException as error:
            raise hook_failure(name, error) from error
        if not callable(hook):
            why = Sentence("{file} defines neither a class `Hook` nor a function `hook`.", file=file.name)
            raise HookFailedError(name, why)
        if make is None and options:
            raise BadRequestError(
                Sentence("`hook_options`: the hook “{name}” is a function and has no options.", name=name)
            )
        return cast("Hook", hook)

    def _refuse_if_needy(self, name: str, file: Path) -> None:
        """Raise `BadRequestError` if a hook needs the network or files, and this process has already given them up."""
        given_up = {need for need in NEEDS if getattr(self._confinement, need)}
        for need in sorted(needs_of(file) & given_up):
            what = Sentence("the network") if need == "network" else Sentence("to write files")
            raise BadRequestError(
                Sentence(
                    "The hook “{name}” needs {what}, which the model's process gave up when it started. "
                    "Start Bough again, then ask again.",
                    name=name,
                    what=what,
                )
            )

    def _file(self, name: str) -> Path:
        for folder in self._folders:
            for file in folder.glob("[!_]*.py"):
                if name in {_name(file), file.stem}:
                    return file
        raise BadRequestError(
            Sentence(
                "`hooks`: there is no hook “{name}”. The hooks are: {names}. "
                "Put Python files with your own hooks into the hooks folder.",
                name=name,
                names=", ".join(self.names()),
            )
        )


def _name(file: Path) -> str:
    return file.stem.replace("_", " ")
