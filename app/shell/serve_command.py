"""`bough serve`: serves the local API without a window."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

from app.catalog.facts import json_object
from app.catalog.on_disk import find_models
from app.catalog.places_of_models import usual_roots
from app.model.database import StoreError
from app.model.store import Store
from app.places import Places
from app.serving.drop_rules import DropRuleError, DropRules
from app.serving.headless import Awake, Gone, HeadlessOwner, Loaded, NotLoaded, Restarted, Silent
from app.serving.keys import VARIABLE, KeyProblemError, find_key
from app.serving.messages import Listening, NotListening, ServedModel, ServerSettings, digest
from app.serving.model_names import find, load_name, served_models
from app.serving.relay import Exchange
from app.shell.terminal import FailedError, print_error, print_line


def serve(chosen: argparse.Namespace, places: Places) -> int:
    """Serve until Ctrl+C or SIGTERM; return the exit code."""
    try:
        key = find_key(places.config / "api-key-is-kept")
    except KeyProblemError as error:
        raise FailedError(str(error.sentence)) from None
    try:
        DropRules(chosen.drop)
    except DropRuleError as error:
        raise FailedError(str(error.sentence)) from None
    settings = ServerSettings(
        key_digest=digest(key.text),
        host=chosen.host,
        port=chosen.port,
        allowed_hosts=tuple(chosen.allow_host),
        allowed_origins=tuple(chosen.allow_origin),
        aliases=tuple(chosen.alias),
        drop_rules=tuple(chosen.drop),
        turns=places.data / "served" / "turns.sqlite3",
    )

    def models() -> Sequence[ServedModel]:
        return _models(places)

    # Other programs may use the same conversations meanwhile, such as Bough's window.
    store = Store(places.store) if chosen.keep else None
    owner = HeadlessOwner(
        settings,
        _load_name(chosen.model or _chosen_in_window(places), models),
        models,
        allows_load=chosen.allow_load,
        cache_folder=places.cache / "prompt-cache",
    )
    try:
        return _run(owner, made_key=key.text if key.source == "made" else "", store=store)
    except KeyboardInterrupt:
        return 0
    finally:
        owner.stop()
        if store is not None:
            store.close()


def _run(owner: HeadlessOwner, made_key: str, store: Store | None) -> int:
    while True:
        match owner.news.get():
            case Listening(host=host, port=port):
                place = f"[{host}]" if ":" in host else host
                print_line(f"Bough listens at http://{place}:{port}/v1")
                if made_key:
                    print_line(f"The key of this start is {made_key}. To choose one, set {VARIABLE}.")
            case Loaded(model=model):
                print_line(f"The model “{model.id}” is ready.")
            case Exchange() as exchange:
                if store is not None:
                    _keep(exchange, store)
                print_line(exchange.line)
            case Awake():
                print_line("The server process responds again.")
            case NotLoaded(why=why) | Restarted(why=why) | Silent(why=why):
                print_error(why)
            case NotListening(why=why) | Gone(why=why):
                print_error(why)
                return 1
        sys.stdout.flush()


def _keep(exchange: Exchange, store: Store) -> None:
    """Store a request as a conversation, or print why it can't be stored."""
    # Most starts keep nothing.
    from app.serving.keeping import kept_request

    request = kept_request(exchange)
    if request is None:
        return
    try:
        store.keep_request(request)
    except StoreError as error:
        print_error(f"The request of {exchange.client.name} was answered, but not kept. {error.sentence}")


def _models(places: Places) -> Sequence[ServedModel]:
    listed = json_object(places.config / "settings.json").get("model_folders")
    names = cast("list[object]", listed) if isinstance(listed, list) else []
    added = [Path(name) for name in names if isinstance(name, str)]
    return served_models(find_models(usual_roots(places.models, added)))


def _chosen_in_window(places: Places) -> str:
    """Return the name of the model that the window uses."""
    name = json_object(places.config / "settings.json").get("model")
    return name if isinstance(name, str) and name else "guide"


def _load_name(name: str, models: Callable[[], Sequence[ServedModel]]) -> str:
    """Return the name for `load_model` of the model that the user names."""
    if name == "guide" or Path(name).is_dir():
        return name
    found = find(name, models())
    return name if found is None else load_name(found)
