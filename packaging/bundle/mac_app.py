"""The part of the bundle that is for macOS alone: what `bough.spec` needs for Bough.app, and its disk image.

`mac_app.py APP WORK DIST` finishes an app that PyInstaller has made: it is signed, checked and put into a disk image.
It runs in the environment of the build, which has Bough's wheel. This was written without a Mac; the workflow
`.github/workflows/build.yml` runs it on one.

BOUGH_SIGN_IDENTITY names a certificate ("Developer ID Application: …"). Without it the signature is ad hoc: it is
nobody's, and macOS lets people open the app only after a question. BOUGH_NOTARY_PROFILE names what `xcrun notarytool
store-credentials` has kept; with it Apple checks the app and the image ("notarizes" them).
"""

from __future__ import annotations

import json
import os
import plistlib
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

IDENTIFIER = "io.github.bough.bough"
"""The app's name for macOS. A change would make macOS take it for another program."""
_CONVERSATIONS, _GGUF = f"{IDENTIFIER}.conversations", "org.ggml.gguf"
_GERMAN = {
    "Conversations of Bough": "Unterhaltungen von Bough",
    "Language model (GGUF)": "Sprachmodell (GGUF)",
    "NSLocalNetworkUsageDescription": "Bough erreicht so die Server in Ihrem Netz, die Sie hinzugefügt haben.",
}
_ARM64 = 0x0100000C  # CPU_TYPE_ARM64 of <mach/machine.h>
_MACH_O_BEGINNINGS = {bytes.fromhex(text) for text in ("cffaedfe", "cafebabe", "cafebabf")}
_SYSTEM = ("/System/Library/", "/usr/lib/", "@rpath/", "@loader_path/", "@executable_path/")
_COMPILES = b"_pthread_jit_write_protect_np"
"""The function that code on Apple silicon calls when it makes code. PCRE2, in some builds of Qt, crashes in it."""
_ICON_SIZES = (16, 32, 128, 256, 512)
_ICON_PART = 824 / 1024
"""The part of its width that an icon fills, by Apple's template."""


_NUM_TRIES, _PAUSE_S = 5, 3


class AppError(Exception):
    """Bough.app would not work on each Mac that it says it works on; the text says why."""


# --- what the spec asks ---------------------------------------------------------------------------------------------


def identity() -> str:
    """Return the name of the certificate that signs; "-" for an ad hoc signature."""
    return os.environ.get("BOUGH_SIGN_IDENTITY") or "-"


def entitlements(folder: Path) -> str | None:
    """Return the path of the entitlements, which is made in `folder`; None if the app needs none.

    Signed by a certificate it needs none of the exceptions of the hardened runtime. Metal compiles in a process of the
    system; MLX compiles nothing on the CPU, because Bough switches that off; Python uses the system's `libffi`, which
    has ready-made trampolines; Qt's regular expressions are built without a compiler, as `check` makes sure;
    PyInstaller signs each library with the same certificate. So a hook can't load compiled modules of other people.

    An ad hoc signature belongs to no team, so the app could not load its own libraries. It gets that one exception. All
    other limits are the same, so that a test of an unsigned build tests them.
    """
    if identity() != "-":
        return None
    file = folder / "ad_hoc.entitlements"
    file.write_bytes(plistlib.dumps({"com.apple.security.cs.disable-library-validation": True}))
    return str(file)


def info_plist(program_version: str, minimum_system: str) -> dict[str, Any]:
    """Return Info.plist. `minimum_system`: the oldest version of macOS that all libraries inside can run on."""
    # macOS takes three numbers and nothing else. `bough --version` says all.
    numbers = re.match(r"\d+\.\d+\.\d+", program_version)
    if numbers is None:
        raise AppError(f"The version {program_version} does not begin with three numbers.")
    return {
        "CFBundleIdentifier": IDENTIFIER,
        "CFBundleName": "Bough",
        "CFBundleDisplayName": "Bough",
        "CFBundleShortVersionString": numbers[0],
        "CFBundleVersion": numbers[0],
        "CFBundleDevelopmentRegion": "en",
        "CFBundleLocalizations": ["en", "de"],
        "LSApplicationCategoryType": "public.app-category.productivity",
        "LSMinimumSystemVersion": minimum_system,
        "LSArchitecturePriority": ["arm64"],
        "NSHighResolutionCapable": True,
        # Otherwise macOS could show the light theme while the user chose the dark one.
        "NSRequiresAquaSystemAppearance": False,
        "NSLocalNetworkUsageDescription": "Bough reaches the servers in your network that you have added.",
        "NSHumanReadableCopyright": "The Bough authors. MIT licence; the licences of all parts are in the app.",
        "CFBundleDocumentTypes": [
            {
                "CFBundleTypeName": "Conversations of Bough",
                "CFBundleTypeRole": "Viewer",
                "LSHandlerRank": "Owner",
                "LSItemContentTypes": [_CONVERSATIONS],
            },
            {
                "CFBundleTypeName": "Language model (GGUF)",
                "CFBundleTypeRole": "Viewer",
                # Other programs may open these files, too.
                "LSHandlerRank": "Alternate",
                "LSItemContentTypes": [_GGUF],
            },
        ],
        # Bough's own format. The Finder draws such files as pages with the app's icon.
        "UTExportedTypeDeclarations": [
            {
                "UTTypeIdentifier": _CONVERSATIONS,
                "UTTypeDescription": "Conversations of Bough",
                "UTTypeConformsTo": ["public.json"],
                "UTTypeTagSpecification": {
                    "public.filename-extension": ["bough"],
                    "public.mime-type": ["application/x-bough"],
                },
            }
        ],
        # The format of others, declared for Macs on which no program of theirs declares it.
        "UTImportedTypeDeclarations": [
            {
                "UTTypeIdentifier": _GGUF,
                "UTTypeDescription": "Language model (GGUF)",
                "UTTypeConformsTo": ["public.data"],
                "UTTypeTagSpecification": {"public.filename-extension": ["gguf"]},
            }
        ],
    }


def words(folder: Path) -> list[tuple[str, str, str]]:
    """Write the German words of Info.plist into `folder`. Return what PyInstaller adds to the app for them."""
    file = folder / "InfoPlist.strings"
    file.write_bytes(plistlib.dumps(_GERMAN))
    return [("de.lproj/InfoPlist.strings", str(file), "DATA")]


def metal_links(places: Iterable[str]) -> list[tuple[str, str, str]]:
    """Return links that let MLX find its Metal library, and its libraries each other. `places`: all files of the app.

    MLX looks for `mlx.metallib` in the folder of the path by which `libmlx.dylib` was loaded (`current_binary_dir` in
    its sources). PyInstaller puts a link to `libmlx.dylib` into the uppermost folder and lets programs load that one;
    there the Metal library was missing (stenolabs/stenoai#515). It also overlooks `libjaccl.dylib`, which the library
    for macOS 26 needs and does not say where to find. Now both folders have all of them.
    """
    there = set(places)
    folder = "mlx/lib/"
    if folder + "mlx.metallib" not in there:
        raise AppError("MLX's Metal library, mlx/lib/mlx.metallib, is not among the files. Is mlx-metal installed?")
    libraries = sorted(place for place in there if re.fullmatch(r"mlx/lib/\w+\.(dylib|metallib)", place))
    links = [(place.removeprefix(folder), place, "SYMLINK") for place in libraries]
    return [link for link in links if link[0] not in there]


def make_icon(picture: Path, folder: Path) -> str:
    """Make the app's icon of an SVG file, in `folder`. Return its path."""
    from PySide6.QtCore import QRectF, Qt
    from PySide6.QtGui import QImage, QPainter
    from PySide6.QtSvg import QSvgRenderer

    drawer = QSvgRenderer(str(picture))
    sizes = folder / "bough.iconset"
    shutil.rmtree(sizes, ignore_errors=True)
    sizes.mkdir(parents=True)
    for size in _ICON_SIZES:
        for scale, ending in ((1, ""), (2, "@2x")):
            pixels = size * scale
            image = QImage(pixels, pixels, QImage.Format.Format_ARGB32)
            image.fill(Qt.GlobalColor.transparent)
            margin = pixels * (1 - _ICON_PART) / 2
            painter = QPainter(image)
            drawer.render(painter, QRectF(margin, margin, pixels - 2 * margin, pixels - 2 * margin))
            painter.end()
            image.save(str(sizes / f"icon_{size}x{size}{ending}.png"))
    _run("iconutil", "--convert", "icns", "--output", str(folder / "bough.icns"), str(sizes))
    return str(folder / "bough.icns")


# --- libraries ------------------------------------------------------------------------------------------------------


def minimum_system(files: Iterable[Path]) -> str:
    """Return the oldest version of macOS that these libraries and programs were all made for, as "15.0".

    Wheels say less than they need: PySide6 6.11's say 13.0, its libraries 15.0. The version of the Mac that builds
    decides which of MLX's wheels pip takes.
    """
    libraries = filter(_is_mach_o, files)
    return ".".join(map(str, max(made_for for file in libraries for made_for, _ in _arm64_parts(file))))


def _arm64_parts(file: Path) -> Iterator[tuple[tuple[int, int], list[str]]]:
    """Yield the oldest macOS that a file's part for Apple silicon was made for, and the libraries that it needs."""
    from macholib.mach_o import LC_BUILD_VERSION, LC_LOAD_WEAK_DYLIB, LC_VERSION_MIN_MACOSX
    from macholib.MachO import MachO

    for part in MachO(str(file)).headers:
        if part.header.cputype != _ARM64:
            continue
        made_for = (0, 0)
        for load, command, _ in part.commands:
            if load.cmd in {LC_BUILD_VERSION, LC_VERSION_MIN_MACOSX}:
                packed = int(command.minos if load.cmd == LC_BUILD_VERSION else command.version)
                made_for = packed >> 16, packed >> 8 & 0xFF
        commands = [load.cmd for load, _, _ in part.commands]
        yield made_for, [name for at, _, name in part.walkRelocatables() if commands[at] != LC_LOAD_WEAK_DYLIB]


def _is_mach_o(file: Path) -> bool:
    if file.suffix == ".a":
        return False  # an archive for linkers begins in the same way
    with file.open("rb") as opened:
        return opened.read(4) in _MACH_O_BEGINNINGS


def check(app: Path) -> None:
    """Raise an `AppError` that names all faults by which the app would fail on other Macs than that of the build."""
    contents = app / "Contents"
    plist = plistlib.loads((contents / "Info.plist").read_bytes())
    stated = tuple(map(int, plist["LSMinimumSystemVersion"].split(".")))
    needed = (f"MacOS/{plist['CFBundleExecutable']}", f"Resources/{plist['CFBundleIconFile']}")
    faults = [f"{name} is missing" for name in needed if not (contents / name).is_file()]
    found_mlx = False
    for file in sorted(contents.rglob("*")):
        place = file.relative_to(contents)
        if file.is_symlink() and not file.exists():
            faults.append(f"{place} leads nowhere")
        if file.name == "libmlx.dylib":
            found_mlx = True
            if not (file.parent / "mlx.metallib").is_file():
                faults.append(f"MLX would not find its Metal library: {place.parent}/mlx.metallib is missing")
        if file.is_symlink() or not file.is_file() or not _is_mach_o(file):
            continue
        if _COMPILES in file.read_bytes():
            faults.append(f"{place} compiles at run time, so the hardened runtime would end it: allow-jit is missing")
        parts = list(_arm64_parts(file))
        if not parts:
            faults.append(f"{place} has nothing for Apple silicon")
        for made_for, loaded in parts:
            if made_for > stated:
                oldest = ".".join(map(str, made_for))
                faults.append(f"{place} needs macOS {oldest}; Info.plist says {plist['LSMinimumSystemVersion']}")
            foreign = [name for name in loaded if not name.startswith(_SYSTEM)]
            faults += [f"{place} loads {name}, which other Macs lack" for name in foreign]
            # PyInstaller lets all libraries look for others in this folder, by their names alone.
            own = [name.removeprefix("@rpath/") for name in loaded if name.startswith("@rpath/")]
            missing = [name for name in own if not (contents / "Frameworks" / name).exists()]
            faults += [f"{place} loads Frameworks/{name}, which is missing" for name in missing]
    if not found_mlx:
        faults.append("there is no libmlx.dylib")
    if faults:
        raise AppError("\n".join(["Bough.app would not work on other Macs:", *(f"- {fault}" for fault in faults)]))


# --- signing, and the disk image ------------------------------------------------------------------------------------


def finish(app: Path, work: Path, dist: Path, program_version: str) -> Path:
    """Sign and check an app, and make its disk image; return that. With a profile for it, Apple notarizes both."""
    profile = os.environ.get("BOUGH_NOTARY_PROFILE", "")
    is_signed = identity() != "-"
    if profile and not is_signed:
        raise AppError("BOUGH_NOTARY_PROFILE is set, but not BOUGH_SIGN_IDENTITY. Apple notarizes only what is signed.")
    # The same program; its name says that the worker is meant.
    worker = app / "Contents" / "MacOS" / "bough-worker"
    worker.unlink(missing_ok=True)
    worker.symlink_to("bough")
    # PyInstaller has signed each library. The app was changed, so its own signature is made again.
    rights = entitlements(work)
    _sign(app, *([] if rights is None else ["--entitlements", rights]), "--options", "runtime")
    _run("codesign", "--verify", "--deep", "--strict", "--verbose=2", str(app))
    check(app)
    if profile:
        packed = work / "Bough.zip"
        _run("ditto", "-c", "-k", "--keepParent", str(app), str(packed))
        _notarize(packed, profile)
        # So the app starts without the network, too, after it was taken out of the image.
        _run("xcrun", "stapler", "staple", str(app))
    image = _make_image(app, work, dist, program_version)
    if is_signed:
        _sign(image)
    if profile:
        _notarize(image, profile)
        _run("xcrun", "stapler", "staple", str(image))
        # macOS makes the same check before it opens a download.
        _run("spctl", "--assess", "--type", "execute", "--verbose=2", str(app))
        _run("spctl", "--assess", "--type", "open", "--context", "context:primary-signature", "--verbose=2", str(image))
    elif is_signed:
        print("Signed, but not notarized: BOUGH_NOTARY_PROFILE is not set. macOS warns before the first start.")
    else:
        print(
            "Signed by nobody: BOUGH_SIGN_IDENTITY is not set. macOS opens it only when Privacy & Security allows it."
        )
    return image


def _make_image(app: Path, work: Path, dist: Path, program_version: str) -> Path:
    """Make the disk image: the app, and a link to the folder that it is dragged to."""
    inside = work / "image"
    shutil.rmtree(inside, ignore_errors=True)
    inside.mkdir(parents=True)
    # ditto keeps links and signatures.
    _run("ditto", str(app), str(inside / app.name))
    (inside / "Applications").symlink_to("/Applications")
    system = plistlib.loads((app / "Contents" / "Info.plist").read_bytes())["LSMinimumSystemVersion"]
    image = dist / f"bough-{program_version}-macos{system.partition('.')[0]}-arm64.dmg"
    # ULFO: compressed by LZFSE, for macOS 10.11 and newer.
    command = ["hdiutil", "create", "-volname", "Bough", "-srcfolder", str(inside), "-fs", "HFS+", "-format", "ULFO"]
    for num_tries_left in reversed(range(_NUM_TRIES)):
        image.unlink(missing_ok=True)
        done = subprocess.run([*command, str(image)], check=False)
        if done.returncode == 0:
            break
        # While macOS looks for malware in it, the image is "busy" (actions/runner-images#7522).
        if not num_tries_left:
            raise AppError(
                f"hdiutil could not make {image.name} in {_NUM_TRIES} tries; its last exit code is {done.returncode}."
            )
        time.sleep(_PAUSE_S)
    _run("hdiutil", "verify", str(image))
    return image


def _sign(path: Path, *options: str) -> None:
    # Apple's clock confirms the time of a real signature, and notarizing asks for that.
    time = ["--timestamp"] if identity() != "-" else []
    _run("codesign", "--force", "--sign", identity(), *time, *options, str(path))


def _notarize(path: Path, profile: str) -> None:
    command = ["xcrun", "notarytool", "submit", str(path), "--keychain-profile", profile, "--wait", "--timeout", "30m"]
    done = subprocess.run([*command, "--output-format", "json"], stdout=subprocess.PIPE, text=True, check=False)
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        answer = {}
    # It exits with 0 also for what Apple refuses.
    if done.returncode or answer.get("status") != "Accepted":
        if "id" in answer:
            subprocess.run(["xcrun", "notarytool", "log", answer["id"], "--keychain-profile", profile], check=False)
        raise AppError(f"Apple did not accept {path.name}: {answer.get('status', f'exit code {done.returncode}')}.")


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


if __name__ == "__main__":
    made_app, work_folder, dist_folder = map(Path, sys.argv[1:])
    try:
        print(finish(made_app, work_folder, dist_folder, version("bough")))
    except (AppError, OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"The disk image is not made: {error}")
