"""Unusual tokenizers that the tests make; the two usual ones are in `tests.models`."""

from __future__ import annotations

from collections.abc import Sequence

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from tests.models import CORPUS, EOS, byte_level_tokenizer

SPECIAL = ("<|im_start|>", EOS)


def _stand_ins() -> dict[int, str]:
    """The character that stands for each byte in byte-level pieces: itself if it can be printed."""
    unprintable = [byte for byte in range(256) if byte == 0x20 or not chr(byte).isprintable()]
    return {byte: chr(0x100 + index) for index, byte in enumerate(unprintable)}


def unigram_tokenizer() -> Tokenizer:
    """SentencePiece's unigram model in an older conversion: Metaspace on both sides, bytes as <0xNN>."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    trainer = trainers.UnigramTrainer(vocab_size=150, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    learnt = [piece for piece, _ in sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])]
    pieces = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), *learnt[1:]]
    scores = [0.0, *[-20.0] * 256, *(-float(rank) / 20 for rank in range(1, len(learnt)))]
    tokenizer.model = models.Unigram(list(zip(pieces, scores, strict=True)), unk_id=0, byte_fallback=True)
    tokenizer.decoder = decoders.Sequence([decoders.Metaspace(), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.add_special_tokens([AddedToken(text, special=True) for text in ("<unk>", *SPECIAL)])
    return tokenizer


def composing_tokenizer() -> Tokenizer:
    """A byte-level BPE that composes characters first (NFC), as Qwen's does."""
    tokenizer = byte_level_tokenizer()
    tokenizer.normalizer = normalizers.NFC()
    return tokenizer


def lowercasing_tokenizer() -> Tokenizer:
    """A byte-level BPE that makes everything lower case first."""
    tokenizer = byte_level_tokenizer()
    tokenizer.normalizer = normalizers.Lowercase()
    return tokenizer


def wordpiece_tokenizer() -> Tokenizer:
    """A WordPiece like BERT's: no space is kept, and a piece that continues a word begins with ##."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(cleanup=False)
    trainer = trainers.WordPieceTrainer(vocab_size=300, special_tokens=["[UNK]", *SPECIAL], show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


def bare_tokenizer(pieces: Sequence[str]) -> Tokenizer:
    """These pieces alone: most bytes have no token, and text without tokens disappears."""
    vocabulary = {piece: index for index, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.decoder = decoders.Fuse()
    tokenizer.add_special_tokens([AddedToken(text, special=True) for text in SPECIAL])
    return tokenizer


def piecewise_tokenizer(pieces: Sequence[bytes]) -> Tokenizer:
    """A byte-level tokenizer that merges these pieces byte by byte, the first ones first."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {piece: index for index, piece in enumerate(alphabet)}
    merges: list[tuple[str, str]] = []
    for piece in pieces:
        name = piece.decode("latin-1").translate(_stand_ins())
        for end in range(2, len(name) + 1):
            if name[:end] not in vocabulary:
                vocabulary[name[:end]] = len(vocabulary)
                merges.append((name[: end - 1], name[end - 1]))
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(text, special=True) for text in SPECIAL])
    return tokenizer
