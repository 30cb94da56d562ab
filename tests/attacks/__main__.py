"""Random attacks from the command line: `python -m tests.attacks AREA ROUNDS`; a fault names its seed and number."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from worker.blas import preload

preload()

from tests.attacks.file_fuzz import fuzz_imports, fuzz_stores
from tests.attacks.folder_fuzz import fuzz_folders
from tests.attacks.gguf_fuzz import fuzz_gguf
from tests.attacks.protocol_fuzz import fuzz_protocol, write_small_model
from tests.attacks.start_fuzz import fuzz_settings, fuzz_starts
from tests.attacks.victim import LIMIT_S
from tests.end_to_end.kills import kill_often

_AREAS = ("protocol", "folders", "stores", "settings", "starts", "imports", "gguf", "kills")


def main() -> int:
    """Run the attacks and print their figures. Return 1 if there was a fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.attacks", description="Attack Bough at random.")
    parser.add_argument(
        "area", choices=("protocol", "folders", "stores", "settings", "starts", "imports", "gguf", "kills")
    )
    parser.add_argument("rounds", type=int, help="how many lines, folders, stores, files, starts or kills")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first batch, folder, store or file")
    parser.add_argument("--limit-s", type=float, default=LIMIT_S, help="how long a step of a folder may take")
    chosen = parser.parse_args()
    rounds, seed, first = chosen.rounds, chosen.seed, chosen.first
    match chosen.area:
        case "protocol":
            with tempfile.TemporaryDirectory() as place:
                figures = fuzz_protocol(write_small_model(Path(place, "model")), rounds, seed, first=first)
        case "folders":
            figures = fuzz_folders(rounds, seed, limit_s=chosen.limit_s, first=first)
        case "stores":
            figures = fuzz_stores(rounds, seed, first=first)
        case "kills":
            with tempfile.TemporaryDirectory() as place:
                print(kill_often(Path(place), rounds, seed))
            return 0
        case "settings":
            figures = fuzz_settings(rounds, seed, first=first)
        case "starts":
            figures = fuzz_starts(rounds, seed, first=first)
        case "gguf":
            figures = fuzz_gguf(rounds, seed, first=first)
        case _:
            figures = fuzz_imports(rounds, seed, first=first)
    print(figures)
    return 1 if figures.faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
