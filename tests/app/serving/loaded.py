"""Reports of loaded models, for tests of what the server does with them."""

from __future__ import annotations

from msgspec.structs import replace

from worker.protocol import ModelLoaded

LOADED = ModelLoaded(
    request_id="load",
    model="guide",
    architecture="llama",
    num_parameters=1_000_000,
    context_length=2_048,
    vocab_size=4_096,
    weights_bytes=4_000_000,
    kv_bytes_per_token=1_024,
    cache_kind="trimmable",
    identity="one",
)
OTHER = replace(LOADED, identity="other")
