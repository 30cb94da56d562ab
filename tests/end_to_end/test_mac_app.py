"""The macOS part of the bundle, as far as it can be tried without a Mac: the plist, libraries' headers, the order of
signing. The programs of macOS are stand-ins; the workflow runs the real ones.
"""

from __future__ import annotations

import os
import plistlib
import runpy
import struct
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import mac_app
import pytest

from app.model.imports import SUFFIXES
from tests.driver import ROOT

_ARM64, _X86 = 0x0100000C, 0x01000007
_LOAD_DYLIB, _BUILD_VERSION = 0xC, 0x32
_SYSTEM_LIBRARY = "/usr/lib/libSystem.B.dylib"


def _library(made_for: tuple[int, int] = (15, 0), loads: str = _SYSTEM_LIBRARY, processor: int = _ARM64) -> bytes:
    """Return a library's header, as <mach-o/loader.h> describes it."""
    packed = made_for[0] << 16 | made_for[1] << 8
    commands = struct.pack("<IIIIII", _BUILD_VERSION, 24, 1, packed, packed, 0)
    name = loads.encode() + b"\0"
    name += b"\0" * (-len(name) % 8)
    commands += struct.pack("<IIIIII", _LOAD_DYLIB, 24 + len(name), 24, 0, 0, 0) + name
    return struct.pack("<IIIIIIII", 0xFEEDFACF, processor, 0, 6, 2, len(commands), 0, 0) + commands


def _universal(*parts: tuple[int, bytes]) -> bytes:
    """Return a file with one part for each processor."""
    head, body, begin = struct.pack(">II", 0xCAFEBABE, len(parts)), b"", 4096
    for processor, part in parts:
        head += struct.pack(">IIIII", processor, 0, begin + len(body), len(part), 12)
        body += part + b"\0" * (-len(part) % 4096)
    return head + b"\0" * (begin - len(head)) + body


def _app(folder: Path) -> Path:
    """Make an app as PyInstaller lays it out: code in Frameworks, data in Resources, and links between them."""
    contents = folder / "Bough.app" / "Contents"
    for name in ("MacOS", "Frameworks/mlx/lib", "Resources/mlx/lib"):
        (contents / name).mkdir(parents=True)
    plist = mac_app.info_plist("1.2.3", "15.0")
    plist.update(CFBundleExecutable="bough", CFBundleIconFile="bough.icns")
    (contents / "Info.plist").write_bytes(plistlib.dumps(plist))
    (contents / "Resources" / "bough.icns").touch()
    (contents / "MacOS" / "bough").write_bytes(_library((11, 0)))
    frameworks = contents / "Frameworks"
    (frameworks / "mlx" / "lib" / "libmlx.dylib").write_bytes(_library())
    (contents / "Resources" / "mlx" / "lib" / "mlx.metallib").write_bytes(b"MTLB")
    (frameworks / "mlx" / "lib" / "mlx.metallib").symlink_to("../../../Resources/mlx/lib/mlx.metallib")
    (frameworks / "libmlx.dylib").symlink_to("mlx/lib/libmlx.dylib")
    (frameworks / "mlx" / "core.so").write_bytes(_library(loads="@rpath/libmlx.dylib"))
    (frameworks / "mlx.metallib").symlink_to("mlx/lib/mlx.metallib")
    return contents.parent


# --- Info.plist -----------------------------------------------------------------------------------------------------


def test_the_types_of_files_are_declared_and_bough_opens_them() -> None:
    plist = plistlib.loads(plistlib.dumps(mac_app.info_plist("0.1.0.dev3+g1234", "15.0")))
    assert plist["CFBundleShortVersionString"] == plist["CFBundleVersion"] == "0.1.0"
    ours, others = plist["UTExportedTypeDeclarations"], plist["UTImportedTypeDeclarations"]
    endings = {one["UTTypeIdentifier"]: one["UTTypeTagSpecification"]["public.filename-extension"] for one in ours}
    assert list(endings.values()) == [["bough"]]
    for one in others:
        endings[one["UTTypeIdentifier"]] = one["UTTypeTagSpecification"]["public.filename-extension"]
    opened = [name for one in plist["CFBundleDocumentTypes"] for name in one["LSItemContentTypes"]]
    assert sorted(opened) == sorted(endings)
    assert all(f".{ending}" in {*SUFFIXES, ".gguf"} for found in endings.values() for ending in found)


def test_each_visible_word_of_the_plist_has_german(tmp_path: Path) -> None:
    plist = mac_app.info_plist("1.2.3", "15.0")
    ((place, file, _),) = mac_app.words(tmp_path)
    assert place == "de.lproj/InfoPlist.strings"
    german = plistlib.loads(Path(file).read_bytes())
    named = {one["CFBundleTypeName"] for one in plist["CFBundleDocumentTypes"]}
    asked = {key for key in plist if key.endswith("UsageDescription")}
    assert set(german) == named | asked


def test_a_version_without_three_numbers_is_refused() -> None:
    with pytest.raises(mac_app.AppError, match="three numbers"):
        mac_app.info_plist("1.2", "15.0")


# --- libraries ------------------------------------------------------------------------------------------------------


def test_the_oldest_system_is_that_of_the_newest_library_for_apple_silicon(tmp_path: Path) -> None:
    files = {
        "old.so": _library((11, 0)),
        "both.dylib": _universal((_X86, _library((26, 0), processor=_X86)), (_ARM64, _library((15, 2)))),
        "intel.dylib": _library((26, 1), processor=_X86),
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    assert mac_app.minimum_system(tmp_path / name for name in files) == "15.2"


def test_mlx_finds_its_metal_library_beside_each_path_of_its_own() -> None:
    # PyInstaller itself links the library that the module `mlx.core` loads.
    files = ["mlx/lib/libmlx.dylib", "mlx/lib/libjaccl.dylib", "mlx/lib/mlx.metallib", "libmlx.dylib", "mlx/core.so"]
    assert mac_app.metal_links(files) == [
        ("libjaccl.dylib", "mlx/lib/libjaccl.dylib", "SYMLINK"),
        ("mlx.metallib", "mlx/lib/mlx.metallib", "SYMLINK"),
    ]
    with pytest.raises(mac_app.AppError, match="Metal library"):
        mac_app.metal_links(["mlx/lib/libmlx.dylib"])


def test_a_whole_app_has_no_faults(tmp_path: Path) -> None:
    mac_app.check(_app(tmp_path))


@pytest.mark.parametrize(
    ("place", "data", "fault"),
    [
        ("Frameworks/mlx.metallib", None, "would not find its Metal library: Frameworks/mlx.metallib"),
        ("Resources/mlx/lib/mlx.metallib", None, "Frameworks/mlx/lib/mlx.metallib leads nowhere"),
        ("Resources/bough.icns", None, "Resources/bough.icns is missing"),
        ("MacOS/bough", None, "MacOS/bough is missing"),
        ("Frameworks/new.so", _library((26, 2)), r"new.so needs macOS 26\.2; Info.plist says 15\.0"),
        ("Frameworks/intel.so", _library(processor=_X86), "intel.so has nothing for Apple silicon"),
        ("Frameworks/jit.so", _library() + b"\0_pthread_jit_write_protect_np\0", "jit.so compiles at run time"),
        (
            "Frameworks/lone.so",
            _library(loads="@rpath/libjaccl.dylib"),
            "lone.so loads Frameworks/libjaccl",
        ),
        ("Frameworks/brewed.so", _library(loads="/opt/homebrew/lib/libz.dylib"), "loads /opt/homebrew/lib/libz.dylib"),
    ],
)
def test_faults_that_appear_on_other_macs_are_named(tmp_path: Path, place: str, data: bytes | None, fault: str) -> None:
    app = _app(tmp_path)
    file = app / "Contents" / place
    if data is None:
        file.unlink()
    else:
        file.write_bytes(data)
    with pytest.raises(mac_app.AppError, match=fault):
        mac_app.check(app)


# --- the spec -------------------------------------------------------------------------------------------------------


def test_the_spec_makes_an_app_whose_metal_library_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyInstaller is a stand-in that records what it is asked for, so this finds wrong names in what is for macOS."""
    (tmp_path / "inputs").mkdir()
    (tmp_path / "libmlx.dylib").write_bytes(_library((15, 0)))
    (tmp_path / "iconutil").write_text("#!/bin/sh\n")
    (tmp_path / "iconutil").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("BOUGH_BUNDLE_INPUTS", str(tmp_path / "inputs"))
    monkeypatch.delenv("BOUGH_SIGN_IDENTITY", raising=False)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "platform", "darwin")
    for name in ("PyInstaller", "PyInstaller.depend", "PyInstaller.utils", "PyInstaller.utils.hooks.qt"):
        monkeypatch.setitem(sys.modules, name, MagicMock())
    hooks = MagicMock()
    hooks.collect_entry_point.return_value = ([], [])
    for found in (hooks.collect_data_files, hooks.collect_dynamic_libs, hooks.collect_submodules):
        found.return_value = []
    monkeypatch.setitem(sys.modules, "PyInstaller.utils.hooks", hooks)
    library, metal = "mlx/lib/libmlx.dylib", "mlx/lib/mlx.metallib"
    collected = SimpleNamespace(
        binaries=[(library, str(tmp_path / "libmlx.dylib"), "BINARY"), ("libmlx.dylib", library, "SYMLINK")],
        datas=[(metal, "any", "DATA")],
        scripts=[],
        pure=[],
    )
    made = {name: MagicMock() for name in ("PYZ", "EXE", "COLLECT", "BUNDLE")}
    folder = ROOT / "packaging" / "bundle"
    names = {**made, "Analysis": MagicMock(return_value=collected), "SPECPATH": str(folder)}
    runpy.run_path(str(folder / "bough.spec"), init_globals=names)
    assert ("mlx.metallib", metal, "SYMLINK") in made["COLLECT"].call_args.args[1]
    program, app = made["EXE"].call_args.kwargs, made["BUNDLE"].call_args.kwargs
    assert (program["console"], program["target_arch"], program["codesign_identity"]) == (False, "arm64", "-")
    assert Path(program["entitlements_file"]).is_file()
    assert app["name"] == "Bough.app"
    assert app["info_plist"]["LSMinimumSystemVersion"] == "15.0"
    assert app["icon"] == str(tmp_path / "bough.icns")
    assert len(list((tmp_path / "bough.iconset").iterdir())) == 10


# --- signing --------------------------------------------------------------------------------------------------------

_STAND_IN = """#!/bin/sh
echo "$(basename "$0") $*" >> "$CALLS"
case "$(basename "$0") $1 $2" in
  "ditto "*) for last; do :; done; [ "$1" = -c ] || cp -R "$1" "$last" ;;
  "hdiutil create "*)
    [ "$(grep -c 'hdiutil create' "$CALLS")" -gt "$BUSY" ] || exit 1
    for last; do :; done
    touch "$last" ;;
  "xcrun notarytool submit") echo "{\\"id\\": \\"7\\", \\"status\\": \\"$STATUS\\"}" ;;
esac
"""


_WITHOUT_PAUSES = f"""
import runpy, time
time.sleep = lambda seconds: None
runpy.run_path({str(ROOT / "packaging" / "bundle" / "mac_app.py")!r}, run_name="__main__")
"""


def _finish(folder: Path, **variables: str) -> tuple[subprocess.CompletedProcess[str], list[list[str]]]:
    """Finish an app with stand-ins for the programs of macOS. Return the result and the calls of those programs."""
    app = _app(folder)
    for name in ("programs", "work", "dist"):
        (folder / name).mkdir()
    (folder / "programs" / "mac_app.py").write_text(_WITHOUT_PAUSES)
    for name in ("codesign", "ditto", "hdiutil", "spctl", "xcrun"):
        program = folder / "programs" / name
        program.write_text(_STAND_IN)
        program.chmod(0o755)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("BOUGH_")},
        "PATH": f"{folder / 'programs'}:{os.environ['PATH']}",
        "CALLS": str(folder / "calls"),
        "STATUS": "Accepted",
        "BUSY": "0",
        **variables,
    }
    script = folder / "programs" / "mac_app.py"
    done = subprocess.run(
        [sys.executable, str(script), str(app), str(folder / "work"), str(folder / "dist")],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    calls = (folder / "calls").read_text().splitlines() if (folder / "calls").exists() else []
    return done, [call.split() for call in calls]


def test_without_a_certificate_the_signature_is_ad_hoc_with_one_exception_and_a_line_says_so(tmp_path: Path) -> None:
    done, calls = _finish(tmp_path)
    assert done.returncode == 0, done.stderr
    assert "BOUGH_SIGN_IDENTITY is not set" in done.stdout
    assert (tmp_path / "Bough.app" / "Contents" / "MacOS" / "bough-worker").readlink() == Path("bough")
    (image,) = (tmp_path / "dist").iterdir()
    assert image.name.endswith("-macos15-arm64.dmg")
    assert [call[0] for call in calls] == ["codesign", "codesign", "ditto", "hdiutil", "hdiutil"]
    assert calls[0][1:4] == ["--force", "--sign", "-"]
    assert "runtime" in calls[0]
    rights = plistlib.loads(Path(calls[0][calls[0].index("--entitlements") + 1]).read_bytes())
    assert rights == {"com.apple.security.cs.disable-library-validation": True}
    assert not any("notarytool" in call or "--timestamp" in call for call in calls)


def test_with_a_certificate_and_a_profile_app_and_image_are_signed_and_notarized(tmp_path: Path) -> None:
    done, calls = _finish(tmp_path, BOUGH_SIGN_IDENTITY="ID", BOUGH_NOTARY_PROFILE="profile")
    assert done.returncode == 0, done.stderr
    assert "not set" not in done.stdout
    steps = [" ".join(call[:3] if call[0] == "xcrun" else call[:2]) for call in calls]
    assert steps == [
        *("codesign --force", "codesign --verify", "ditto -c", "xcrun notarytool submit", "xcrun stapler staple"),
        *(f"ditto {tmp_path / 'Bough.app'}", "hdiutil create", "hdiutil verify", "codesign --force"),
        *("xcrun notarytool submit", "xcrun stapler staple", "spctl --assess", "spctl --assess"),
    ]
    signatures = [call for call in calls if call[:2] == ["codesign", "--force"]]
    assert all("--timestamp" in call and "--entitlements" not in call for call in signatures)
    assert "runtime" in signatures[0]


def test_an_app_that_apple_refuses_is_an_error_with_apples_reasons(tmp_path: Path) -> None:
    done, calls = _finish(tmp_path, BOUGH_SIGN_IDENTITY="ID", BOUGH_NOTARY_PROFILE="profile", STATUS="Invalid")
    assert done.returncode == 1
    assert "Apple did not accept Bough.zip: Invalid" in done.stderr
    assert calls[-1][:4] == ["xcrun", "notarytool", "log", "7"]
    assert list((tmp_path / "dist").iterdir()) == []


def test_a_profile_without_a_certificate_is_refused(tmp_path: Path) -> None:
    done, calls = _finish(tmp_path, BOUGH_NOTARY_PROFILE="profile")
    assert done.returncode == 1
    assert "BOUGH_SIGN_IDENTITY" in done.stderr
    assert calls == []


@pytest.mark.parametrize(("num_failures", "code"), [("2", 0), ("9", 1)])
def test_an_image_that_is_busy_is_tried_again(tmp_path: Path, num_failures: str, code: int) -> None:
    done, calls = _finish(tmp_path, BUSY=num_failures)
    assert done.returncode == code, done.stderr
    assert sum(call[:2] == ["hdiutil", "create"] for call in calls) == (3 if code == 0 else 5)
    assert code == 0 or "in 5 tries" in done.stderr
