"""BPE dropout: other pieces of the same texts at every look."""

import threading

import numpy as np
import sentencepiece

from keras_attn.checks import check_probability
from keras_attn.native_log import hidden_native_log
from keras_attn.text.tokenizer import Tokenizer

_MOST_SEEDS = 2**32 - 1  # SentencePiece keeps this one for "none".
_generator = threading.Lock()  # SentencePiece has one generator a process.


class BPEDropout:
    """Texts in pieces, some of whose merges were skipped at random.

    A model that sees the same words in ever other pieces learns what the pieces are made of, and
    fits its training texts less closely. Texts are only ever divided this way in training.

    Args:
        tokenizer: `Tokenizer`. Decodes every draw to the same texts as its own encoding.
        texts: list of R strings.
        dropout: probability, 0 ≤ p < 1, that a merge is skipped. English and German texts come out
            about 1 + 4p times as long.

    Call arguments:
        rows: int (B,), which of the texts.
        seed: `numpy.random.SeedSequence`. Equal seeds give equal pieces.

    Returns:
        List of B lists of ids, without special ids.

    Raises:
        ValueError: dropout outside [0, 1).

    Example:
        >>> tokenizer = Tokenizer.learn(["a red circle", "a red square"], 300)
        >>> draw = BPEDropout(tokenizer, ["a red circle"], 0.5)
        >>> first, second = (draw([0], np.random.SeedSequence(seed))[0] for seed in (3, 5))
        >>> first == second, tokenizer.decode([second]).numpy().tolist()
        (False, [b'a red circle'])

    Source: Provilkov et al. 2020, arXiv:1910.13267, 3. Differs: SentencePiece never comes back to
    a merge it has skipped, while the paper's algorithm may take it at the next step; p = 0.05 here
    makes about as many pieces as p = 0.1 there.
    """

    def __init__(self, tokenizer: Tokenizer, texts, dropout: float):
        check_probability("dropout", dropout)
        self.dropout = dropout
        self._texts = tokenizer.normalize_all(texts)
        with hidden_native_log():
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model)

    def __call__(self, rows, seed: np.random.SeedSequence):
        texts = [self._texts[row] for row in rows]
        number = int(seed.generate_state(1)[0]) % _MOST_SEEDS
        with _generator:
            sentencepiece.set_random_generator_seed(number)
            return self._processor.encode(
                texts, enable_sampling=True, alpha=self.dropout, nbest_size=-1, num_threads=1
            )
