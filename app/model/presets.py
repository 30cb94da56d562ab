"""Ways of asking that have a name: a few that come with Bough, and those that a person saved; values alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated

from msgspec import Meta, Struct, structs

from app.model.asking import Asking
from app.model.message import Sampling


class Preset(Struct, frozen=True, kw_only=True):
    """A way of asking under a name. One that a person saved says all of it, ours only how tokens are drawn."""

    name: Annotated[str, Meta(min_length=1)]
    asking: Asking
    is_ours: bool = False

    def onto(self, asking: Asking) -> Asking:
        """Return how is asked once this preset was chosen, where it was asked as `asking` before."""
        if not self.is_ours:
            return structs.replace(self.asking, preset=self.name)
        before = asking.sampling
        sampling = structs.replace(
            self.asking.sampling, max_tokens=before.max_tokens, stop=before.stop, seed=before.seed
        )
        return structs.replace(asking, sampling=sampling, preset=self.name)


def _ours(name: str, sampling: Sampling) -> Preset:
    return Preset(name=name, asking=Asking(sampling=sampling), is_ours=True)


OURS: tuple[Preset, ...] = (
    _ours("Precise", Sampling(temperature=0.0)),
    _ours("Balanced", Sampling()),
    _ours("Creative", Sampling(temperature=1.0, min_p=0.05)),
    _ours("Wild", Sampling(temperature=1.5, min_p=0.1, repetition_penalty=1.1)),
)


def named(presets: Iterable[Preset], name: str) -> Preset | None:
    """Return the preset of that name, if there is one."""
    return next((preset for preset in presets if preset.name == name), None)


def current(presets: Iterable[Preset], asking: Asking) -> tuple[str, bool]:
    """Return the name of the preset that is in use (empty: none), and whether something else is set since."""
    preset = named(presets, asking.preset)
    if preset is not None:
        return preset.name, preset.onto(asking) != asking
    return next((ours.name for ours in OURS if _is_so(ours, asking)), ""), False


def saved(presets: Sequence[Preset], name: str, asking: Asking) -> tuple[Preset, ...]:
    """Return a person's presets with another one under that name, or with that one as it is now."""
    preset = Preset(name=name, asking=structs.replace(asking, preset=""))
    if named(presets, name) is None:
        return (*presets, preset)
    return tuple(preset if other.name == name else other for other in presets)


def deleted(presets: Sequence[Preset], name: str) -> tuple[Preset, ...]:
    return tuple(preset for preset in presets if preset.name != name)


def _is_so(preset: Preset, asking: Asking) -> bool:
    return structs.replace(preset.onto(asking), preset=asking.preset) == asking
