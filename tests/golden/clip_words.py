"""CLIP's tokenizer in the form of transformers, with merges learned from any texts."""

import json

START, END = "<|startoftext|>", "<|endoftext|>"


def learned(texts, size):
    """Vocabulary and merges of a small CLIPTokenizer, special tokens last.

    Args:
        texts: list of strings.
        size: about how many ids.
    """
    from tokenizers import Tokenizer, models, trainers
    from transformers import CLIPTokenizer

    rules = CLIPTokenizer().backend_tokenizer
    made = Tokenizer(models.BPE(end_of_word_suffix="</w>"))
    made.normalizer, made.pre_tokenizer = rules.normalizer, rules.pre_tokenizer
    trainer = trainers.BpeTrainer(
        vocab_size=size - 258, end_of_word_suffix="</w>", show_progress=False
    )
    made.train_from_iterator(texts, trainer)
    merges = [tuple(pair) for pair in json.loads(made.to_str())["model"]["merges"]]
    signs = list(alphabet())
    names = [*signs, *(sign + "</w>" for sign in signs), *("".join(pair) for pair in merges)]
    names = [*dict.fromkeys(names), START, END]
    return {name: place for place, name in enumerate(names)}, merges


def alphabet():
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    return bytes_to_unicode().values()


def tokenizer(texts, size, **options):
    """CLIPTokenizer of `learned`."""
    from transformers import CLIPTokenizer

    vocabulary, merges = learned(texts, size)
    return CLIPTokenizer(vocab=vocabulary, merges=merges, **options)
