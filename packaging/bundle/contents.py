"""The contents of a bundle: which modules, Qt plugins and files go into it, on each platform. `bough.spec` asks."""

from __future__ import annotations

import fnmatch
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

SOURCES_TOO = ("mlx_lm", "transformers", "worker.hooks")
"""Packages that are also there as source files.

Bough lists the modules of mlx_lm to find out which models it supports, users read the hooks that come with Bough and
begin theirs with a copy, and transformers searches its sources for what they export.
"""

WHOLE_PACKAGES = (
    "app",
    "worker",
    "resources",
    "mlx",
    "mlx_lm",
    "llguidance",
    "tokenizers",
    "keyring",
    "pygments",
    "ijson",
    "uvicorn",
)
"""Packages of which modules are imported by names that only the running program forms."""

UNUSED_MODULES = (
    # Programs and libraries that are not installed with Bough, or whose use is optional for a dependency.
    *("torch", "tensorflow", "jax", "flax", "PIL", "IPython", "matplotlib", "pandas", "scipy", "sklearn", "pytest"),
    *("setuptools", "pip", "pkg_resources", "hatchling", "PyInstaller", "numpy.f2py"),
    # Parts of the standard library that are programs of their own.
    *("tkinter", "_tkinter", "turtle", "turtledemo", "idlelib", "ensurepip", "lib2to3", "test", "pydoc_data"),
    # They need libraries of terminals, one of which is under the GPL.
    *("readline", "curses", "_curses", "_curses_panel"),
    # They need Kerberos. Bough's connections are Python's, and Yellow Pages are gone.
    *("PySide6.QtNetwork", "nis"),
)

_TRANSFORMERS_UNUSED = (
    # Bough uses the tokenizers of transformers, and the configurations that choose them. Models run in mlx_lm.
    "modeling_*",
    "modular_*",
    "convert_*",
    "image_processing_*",
    "video_processing_*",
    "feature_extraction_*",
    "processing_*",
    "generation_*",
    "loss_*",
)
_TRANSFORMERS_UNUSED_PACKAGES = (
    *("cli", "data", "distributed", "exporters", "generation", "integrations", "loss", "pipelines", "quantizers"),
    *("trainer*", "training_args*", "testing_utils", "model_debugging_utils", "optimization"),
)
_TRANSFORMERS_USED = (
    *("models.auto.*", "generation", "generation.configuration_utils"),
    *("integrations", "integrations.mistral*", "integrations.heterogeneity*"),
)

UNUSED_PLUGINS = (
    # GTK's look and its file dialogs would bring GTK. The desktop portal has the same dialogs.
    "platformthemes/*gtk3*",
    # Screens without a desktop, other machines' screens, and keyboards on the screen, which bring Qt Quick.
    *("platforms/*eglfs*", "platforms/*linuxfb*", "platforms/*vkkhrdisplay*", "platforms/*vnc*"),
    *("platforms/*minimal*", "platforminputcontexts/*virtualkeyboard*"),
    *("egldeviceintegrations/*", "generic/*"),
    # Bough shows no PDF files, and Qt opens no connection.
    *("imageformats/*qpdf*", "imageformats/*qtga*", "imageformats/*qwbmp*", "imageformats/*qicns*"),
    *("networkinformation/*", "tls/*"),
    *("sqldrivers/*", "qmltooling/*", "designer/*", "qmllint/*", "vectorimageformats/*"),
    "wayland-graphics-integration-server/*",
)
"""Patterns of Qt plugins, each `kind/file`. Their libraries stay out, too."""

_UNUSED_FILES = (
    # Headers and libraries for compilers, tests, and files for developers.
    *("mlx/include/*", "mlx/share/*", "mlx/lib/cmake/*", "*/cmake/*", "*.pyi", "*.hpp", "*.h", "*.cu", "*.pxd"),
    *("*/tests/*", "*/__pycache__/*.pyc", "*/py.typed", "resources/pictures/*", "resources/translations/*.ts"),
    # `build.py` puts in what programs ask for. The rest, as the list of installed files, differs from build to build.
    "*.dist-info/*",
    # Bough has its own German words, also for Qt's dialogs.
    "PySide6/Qt/translations/*",
    "PySide6/translations/*",
    "PySide6/Qt/resources/*",
)


SYSTEM_LIBRARIES = (
    *(r"libfontconfig\.so.*", r"libfreetype\.so.*", r"libX11(-xcb)?\.so.*", r"libwayland-.*\.so.*"),
    *(r"libdbus-1\.so.*", r"libcups\.so.*"),
    # An optional part of some library that Bough does not use.
    r"libcudart\.so.*",
)
"""Regular expressions of libraries that belong to the system: to its fonts, its screen, its messages and its printers.

Every desktop has them, and another version may not fit.
"""


STRIPPED = (
    # Python itself, as who builds the bundle has compiled it.
    *("libpython3*.so*", "python3*/lib-dynload/*.so"),
    *("cryptography/**/*.so", "hf_xet/*.so", "python_calamine/*.so", "regex/*.so", "safetensors/*.so"),
    *("tokenizers/*.so", "yaml/*.so"),
)
"""Patterns of libraries, below the folder of all libraries, that lose their symbols for debuggers, 40 MB in all.

Libraries that bring others in a folder `.libs` are not here: the tool that put them there changed them in such a way
that they can't be stripped. Qt's stay as they were published, so that everybody can compare and replace them.
"""


def keeps_plugin(kind: str, file: str) -> bool:
    """Return whether the bundle has a Qt plugin: its folder below `plugins`, and its file's name."""
    return not _matches(f"{kind}/{file}", UNUSED_PLUGINS)


def keeps_file(place: str) -> bool:
    """Return whether a file goes into the bundle. `place`: its path there, with slashes."""
    return not _matches(place, _UNUSED_FILES)


def keeps_transformers_module(name: str) -> bool:
    """Return whether the bundle has a module of transformers. `name`: without `transformers.`"""
    if _matches(name, _TRANSFORMERS_USED):
        return True
    parts = name.split(".")
    if _matches(parts[0], _TRANSFORMERS_UNUSED_PACKAGES):
        return False
    return len(parts) < 3 or parts[0] != "models" or not _matches(parts[-1], _TRANSFORMERS_UNUSED)


def unused_transformers_modules(package: Path) -> list[str]:
    """Return the full names of the modules of transformers to leave out. `package`: its folder."""
    return [f"transformers.{name}" for name in _modules(package) if not keeps_transformers_module(name)]


def used_transformers_models(package: Path) -> list[str]:
    """Return the full names of the modules of its models, which it imports by name. `package`: its folder."""
    names = [name for name in _modules(package) if name.startswith("models.")]
    return [f"transformers.{name}" for name in names if keeps_transformers_module(name)]


def _modules(package: Path) -> list[str]:
    files = [file.relative_to(package).with_suffix("") for file in sorted(package.rglob("*.py"))]
    return [".".join(file.parts).removesuffix(".__init__") for file in files if file.parts != ("__init__",)]


def standard_modules() -> list[str]:
    """Return the modules of Python's standard library that hooks may import: all but `UNUSED_MODULES`."""
    return sorted(set(sys.stdlib_module_names).difference(UNUSED_MODULES, {"antigravity", "this"}))


def needed_libraries(
    binaries: Iterable[tuple[str, str]], is_of_system: Callable[[str], bool], needs: Callable[[str], Iterable[str]]
) -> set[str]:
    """Return the places of the binaries that the bundle needs: all but libraries that only the system's ones use.

    `binaries`: places in the bundle, and files. `is_of_system` says this of a file. `needs` returns the names of the
    libraries that a file is linked with.
    """
    places = {place.rpartition("/")[2]: (place, file) for place, file in binaries if is_of_system(file)}
    kept = {place: file for place, file in binaries if not is_of_system(file)}
    waiting = list(kept.values())
    while waiting:
        for name in needs(waiting.pop()):
            place, file = places.pop(name, ("", ""))
            if place:
                kept[place] = file
                waiting.append(file)
    return set(kept)


def linked_libraries(file: str) -> list[str]:
    """Return the names of the libraries that a Linux binary is linked with."""
    done = subprocess.run(["objdump", "-p", file], capture_output=True, text=True, check=False)
    return re.findall(r"^  NEEDED +(\S+)$", done.stdout, re.MULTILINE)


def _matches(text: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch.fnmatchcase(text, pattern) for pattern in patterns)
