"""A tokenizer as others make it: GPT-2's layout, the separator behind all other tokens."""

from pathlib import Path

import tokenizers
from tokenizers import decoders, models, pre_tokenizers, trainers

ENTRIES = 290
SEPARATOR_NUMBER = 289


def write_own_tokenizer(path: Path, *special: str) -> Path:
    """Byte-level BPE of 289 tokens, then the special ones (`<|endoftext|>` if none is given)."""
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=SEPARATOR_NUMBER,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    text = "a run of many steps trains a model on text of many kinds until the end " * 3
    tokenizer.train_from_iterator([text], trainer)
    while (more := SEPARATOR_NUMBER - tokenizer.get_vocab_size()) > 0:
        tokenizer.add_tokens([f"unused {more}"])
    tokenizer.add_special_tokens(list(special or ("<|endoftext|>",)))
    # as many are saved: it would cut documents off, and fill short ones up
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding()
    path.write_text(tokenizer.to_str())
    return path
