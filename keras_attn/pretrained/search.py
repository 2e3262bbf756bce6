"""How a checkpoint of transformers searches for its answers."""

_PLAIN = {
    "do_sample": False,
    "num_beam_groups": 1,
    "diversity_penalty": 0.0,
    "repetition_penalty": 1.0,
    "encoder_repetition_penalty": 1.0,
    "no_repeat_ngram_size": 0,
    "encoder_no_repeat_ngram_size": 0,
    "min_length": 0,
    "min_new_tokens": None,
    "suppress_tokens": None,
    "begin_suppress_tokens": None,
    "sequence_bias": None,
    "exponential_decay_length_penalty": None,
}
"""What a plain beam search has, by setting of transformers."""


def search_of(checkpoint, forces_first=False):
    """How answers are searched for.

    Args:
        checkpoint: `Checkpoint`.
        forces_first: bool. Whether answers may begin with a forced token.

    Returns:
        dict of `beam_width`, `length_alpha` and `early_stopping`, for
        `Beam(..., normalization="average")`.

    Raises:
        ValueError: another search than by a plain beam.
    """
    stops = checkpoint.search("early_stopping", False)
    width, alpha = checkpoint.search("num_beams", 1), checkpoint.search("length_penalty", 1.0)
    if not isinstance(stops, bool):
        raise checkpoint.refusal(f"early_stopping={stops!r}; known: true and false")
    if type(width) is not int or width < 1 or not isinstance(alpha, int | float):
        raise checkpoint.refusal(f"num_beams={width!r}, length_penalty={alpha!r}")
    plain_search = _PLAIN
    if not forces_first:
        plain_search = {**_PLAIN, "forced_bos_token_id": None}
    for name, plain in plain_search.items():
        if (value := checkpoint.search(name, plain)) != plain:
            raise checkpoint.refusal(
                f"{name}={value!r:.80}, which would change its answers and is not known here; "
                "without it in generation_config.json or config.json, answers are those of a plain "
                "beam search"
            )
    return {"beam_width": width, "length_alpha": float(alpha), "early_stopping": stops}
