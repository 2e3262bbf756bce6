"""Writes translators/: small encoder-decoders of transformers and what they answer.

    PYTHONPATH=. PYTHON tests/golden/make_translators.py [CASE ...]

PYTHON is one with torch 2.13, transformers 5.24, sentencepiece 0.2 and protobuf 7; takes a minute.
A folder holds what `save_pretrained` writes, random weights of which no norm, bias or row of a
padding is trivial, and answers.npz:

    sources, targets        strings (7,), the same in all cases of a family
    source_ids, source_mask, target_ids
                            as the tokenizer gives them, padded
    decoder_input_ids, encoder_last_hidden, logits, encoder_hidden/N, decoder_hidden/N,
    encoder_weights/N, decoder_weights/N, cross_weights/N
                            of the first 3 pairs, padded to the longest of them
    greedy_L/ids, texts, whole_texts, scores, unmasked_scores
                            up to L = 13 and 30 tokens, the start included; whole_texts keep the
                            special tokens; scores are sums of log-probabilities up to the first
                            end, normalized after forbidden tokens are masked, or before
    decode_ids, decode_texts, decode_whole_texts
                            any ids and their texts
    beam_L/ids, texts, scores
                            the 4 hypotheses of beam width 4, and `sequences_scores`
"""

import sys
from pathlib import Path

import numpy as np
import translator_m2m
import translator_marian
import translator_t5

FOLDER = Path(__file__).with_name("translators")
CASES = {**translator_marian.CASES, **translator_t5.CASES, **translator_m2m.CASES}
"""Functions that write a case's folder and return its answers, by name."""


def main():
    import torch

    torch.set_num_threads(1)
    for name in sys.argv[1:] or CASES:
        folder = FOLDER / name
        folder.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(folder / "answers.npz", **CASES[name](folder))
        for path in folder.iterdir():
            path.chmod(0o644)


if __name__ == "__main__":
    main()
