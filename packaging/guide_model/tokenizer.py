"""The guide's tokenizer: a byte-level BPE of 2,048 tokens, trained on the corpus. Any text can be tokenized."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from corpus import Conversation
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

VOCABULARY_SIZE = 2048
END_OF_TEXT, TURN_START, TURN_END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
SPECIAL_TOKENS = (END_OF_TEXT, TURN_START, TURN_END)  # their ids are their indices
CONTEXT = 2048
_NUM_REPEATS = 1000  # enough for a word to become one token

CHAT_TEMPLATE = (
    "{%- for message in messages %}"
    "{%- if message['role'] != 'system' or message['content'] %}"
    "{{- '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{%- endif %}"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"
)


def train_tokenizer(texts: Iterable[str], whole_words: Iterable[str]) -> Tokenizer:
    """Train the BPE. Each of `whole_words` becomes one token."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY_SIZE,
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([*texts, *(word for word in whole_words for _ in range(_NUM_REPEATS))], trainer)
    return tokenizer


def save_tokenizer(tokenizer: Tokenizer, folder: Path) -> None:
    """Write tokenizer.json, tokenizer_config.json and the chat template, in the format of `transformers`."""
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": CONTEXT,
        "bos_token": None,
        "eos_token": TURN_END,
        "pad_token": END_OF_TEXT,
        "clean_up_tokenization_spaces": False,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    (folder / "chat_template.jinja").write_text(CHAT_TEMPLATE, encoding="utf-8")


class ChatEncoder:
    """Encodes conversations and marks the tokens that the model must learn."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        tokenizer.encode_special_tokens = True  # a typed `<|im_end|>` is text, not the end of a turn
        self._start: int = SPECIAL_TOKENS.index(TURN_START)
        self._end: int = SPECIAL_TOKENS.index(TURN_END)

    def prompt(self, system: str, turns: Iterable[tuple[str, str]], question: str) -> list[int]:
        """Return the ids of earlier turns and a question, up to the start of the answer."""
        ids = self._message("system", system) if system else []
        for asked, answered in turns:
            ids += self._message("user", asked) + self._message("assistant", answered)
        return ids + self._message("user", question) + [self._start, *self.encode("assistant\n")]

    def conversation(
        self, conversation: Conversation, num_kept: Iterable[int | None]
    ) -> tuple[list[int], list[tuple[int, int]]]:
        """Return the ids, and for each answer the span (start, stop) of the tokens to learn.

        `num_kept`: the number of tokens after which each answer is cut, as if the user had stopped it. None keeps the
        whole answer; its span then includes the end of turn.
        """
        ids = self._message("system", conversation.system) if conversation.system else []
        spans: list[tuple[int, int]] = []
        for turn, kept in zip(conversation.turns, num_kept, strict=True):
            ids += [*self._message("user", turn.question), self._start, *self.encode("assistant\n")]
            answer = [*self.encode(turn.answer), self._end]
            learned = answer if kept is None else answer[:kept]
            spans.append((len(ids), len(ids) + len(learned)))
            ids += [*learned, *([] if learned[-1] == self._end else [self._end]), *self.encode("\n")]
        return ids, spans

    def encode(self, text: str) -> list[int]:
        """Encode text. Special tokens in the text are encoded as plain text."""
        return self._tokenizer.encode(text, add_special_tokens=False).ids

    def decode(self, ids: list[int]) -> str:
        """Decode ids, without special tokens."""
        return self._tokenizer.decode(ids)

    def _message(self, role: str, content: str) -> list[int]:
        return [self._start, *self.encode(f"{role}\n{content}"), self._end, *self.encode("\n")]
