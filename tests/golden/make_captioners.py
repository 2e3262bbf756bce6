"""Writes captioners/: small captioners of transformers, and what they answer.

    PYTHONPATH=. PYTHON tests/golden/make_captioners.py [CASE ...]

PYTHON is one with torch 2.13 and transformers 5.24; takes a minute. A folder holds the files of a
repository on the hub. The models were trained for some steps from weights of which none is trivial.
answers.npz, computed in float32 from 7 pictures of the encoder's size:

    pictures                uint8 (7, height, width, 3)
    decoder_input_ids, encoder_last_hidden, logits
                            of the first 3
    cross_weights, encoder_weights
                            (N, 3, H, T or S, S)
    texts, text_ids         captions and odd texts, and their ids, −1 after them
    decode_ids, decode_texts
                            any ids, and their texts without special tokens
    greedy_L/ids, texts, scores
                            up to L = 7 and 20 tokens, the start included; scores are sums of
                            log-probabilities up to the first end
    beam_L/ids, texts, scores
                            the 4 hypotheses of beam width 4, and `sequences_scores`
"""

import shutil
import sys
from pathlib import Path

import captioner_blip
import captioner_gpt2
import numpy as np

FOLDER = Path(__file__).with_name("captioners")
CASES = {**captioner_gpt2.CASES, **captioner_blip.CASES}
"""Functions that write a case's folder and return its answers, by name."""


def main():
    import torch

    torch.set_num_threads(1)
    for name in sys.argv[1:] or CASES:
        folder = FOLDER / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        np.savez_compressed(folder / "answers.npz", **CASES[name](folder))
        for path in folder.iterdir():
            path.chmod(0o644)


if __name__ == "__main__":
    main()
