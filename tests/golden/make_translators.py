"""Writes translators/: small encoder-decoders of transformers and Marian, and what they answer.

    PYTHONPATH=. PYTHON tests/golden/make_translators.py [CASE ...]

PYTHON is one with torch 2.13, transformers 5.24, sentencepiece 0.2, protobuf 7 and PyYAML; takes a
minute. A folder holds the files of a repository on the hub: where transformers 5 writes others, or
leaves the SentencePiece model out, the hub's form is kept. The models were trained for some steps
from weights of which none is trivial: random ones say one token for ever. Folders of Marian's own
files are told of in translator_npz.py. answers.npz of the others, computed in float32:

    sources, targets        strings (7,)
    source_ids, source_mask, target_ids
                            as the tokenizer gives them, padded
    odd_sources, odd_ids, odd_piece_ids
                            texts (7,), their ids without prefix or suffix, and SentencePiece's;
                            not of Marian
    decode_ids, decode_texts, decode_whole_texts
                            any ids (7, 11), and their texts without and with special tokens
    decoder_input_ids, encoder_last_hidden, logits
                            of the first 3 pairs, padded to their longest; of 73 tokens at most
    encoder_hidden, decoder_hidden
                            (N + 1, 3, S or T, D), embeddings first, last the stack's output
    encoder_weights, decoder_weights, cross_weights
                            (N, 3, H, S or T, S or T)
    choices                 JSON of what a caller of `generate` has to say, such as the first token
    greedy_L/ids, texts, whole_texts, scores, unmasked_scores
                            up to L = 13 and 30 tokens, the start included; scores are sums of
                            log-probabilities up to the first end, normalized after tokens are
                            forbidden or forced, as `compute_transition_scores` does, or before
    beam_L/ids, texts, scores
                            the 4 hypotheses of beam width 4, and `sequences_scores`

No case is impossible with transformers 5.24, but some of its tokenizers are not SentencePiece any
more, so that their ids differ for odd texts: NllbTokenizer and MBart50Tokenizer keep a space at the
end, MBartTokenizer has no normalization, and none puts a space before a text that begins with ▁.
NllbTokenizer also knows no language without tokenizer.json, which is left out here.
"""

import shutil
import sys
from pathlib import Path

import numpy as np
import translator_m2m
import translator_marian
import translator_npz
import translator_t5

FOLDER = Path(__file__).with_name("translators")
CASES = {
    **translator_marian.CASES,
    **translator_t5.CASES,
    **translator_m2m.CASES,
    **translator_npz.CASES,
}
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
