"""What transformers computes with a golden captioner: arrays of answers.npz."""

import numpy as np
import translator_answers
from translator_answers import as_int, as_padded, shaken, sums

TAUGHT = 3
"""Pictures whose tensors are kept."""
BEAM, LENGTHS = 4, (7, 20)
CAPTIONS = [
    "a dog runs on the sand.",
    "two dogs play; it's late",
    "the old stone",
    "a red bird sits on a red stone.",
    "ten tin ants on the tin roof of the old house",
    "rain.",
    "a man's dog  and 27 birds",
]
ODD = [
    "it  is!  ",
    "   ",
    "naïve e\u0301 ☃☃ ☃",
    "they'll don't 'S 's ''ll",
    "日本語 1234½\t\n\x0bx \u00a0y",
    "👩\u200d👩\u200d👧 \x00\x01\x02\ufeff\u200b",
    "...---\r\n  (end)",
]
"""Texts that are cut at unusual places."""


def pictures(height, width):
    """uint8 (7, height, width, 3), a color with a bright bar for each caption."""
    random = np.random.default_rng(5)
    colors = random.integers(0, 160, (len(CAPTIONS), 1, 1, 3))
    images = colors + random.integers(0, 40, (len(CAPTIONS), height, width, 3))
    for place, image in enumerate(images):
        image[place : place + 3] += 50
    return images.astype("uint8")


def labels(tokenizer, captions, start, end):
    """Decoder inputs and targets, int64 (B, T), −100 after a caption's end."""
    import torch

    rows = [tokenizer(caption, add_special_tokens=False)["input_ids"] for caption in captions]
    inputs = as_padded([[start, *row] for row in rows], end)
    targets = as_padded([[*row, end] for row in rows], -100)
    return torch.tensor(inputs).long(), torch.tensor(targets).long()


def teach(logits_of, parameters, inputs, targets, steps):
    """Some steps of training: random weights repeat one token for ever, whatever the picture."""
    import torch

    optimizer = torch.optim.Adam(parameters, 0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        logits = logits_of(inputs)
        torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten()).backward()
        optimizer.step()


def generated(generate, tokenizer, end, length, **choices):
    """Ids with the start, texts, and scores of a search: greedy (B, T) or the beams (B, K, T)."""
    import torch

    asked = {"return_dict_in_generate": True, "output_scores": True, "max_length": length}
    with torch.no_grad():
        answer = generate(do_sample=False, **asked, **choices)
    ids = answer.sequences
    texts = tokenizer.batch_decode(ids, skip_special_tokens=True)
    if choices["num_beams"] == 1:
        return {
            "ids": as_int(ids),
            "texts": np.array(texts),
            "scores": sums(answer.scores, ids[:, 1:], end),
        }
    return {
        "ids": as_int(ids).reshape(-1, BEAM, ids.shape[-1]),
        "texts": np.array(texts).reshape(-1, BEAM),
        "scores": answer.sequences_scores.reshape(-1, BEAM).numpy(),
    }


def searches(generate, tokenizer, end):
    """Greedy and by beam, of two lengths."""
    arrays = {}
    several = {"num_beams": BEAM, "num_return_sequences": BEAM}
    for length in LENGTHS:
        for name, choices in (("greedy", {"num_beams": 1}), ("beam", several)):
            found = generated(generate, tokenizer, end, length, **choices)
            arrays |= {f"{name}_{length}/{key}": value for key, value in found.items()}
    return arrays


def texts(tokenizer, size):
    """Ids of captions and odd texts, padded with −1, and texts of any ids."""
    spelled = [*CAPTIONS, *ODD]
    rows = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in spelled]
    decoded = translator_answers.decoding(tokenizer, size)
    return {
        "texts": np.array(spelled),
        "text_ids": as_padded(rows, -1),
        "decode_ids": decoded["decode_ids"],
        "decode_texts": decoded["decode_texts"],
    }


def answers(model, generate_of, forward, tokenizer, pixels, start, end):
    """All arrays.

    Args:
        model: of transformers.
        generate_of: function from a model to its `generate` of all pictures.
        forward: function from decoder inputs to encoder output, logits and attentions by kind.
        tokenizer: of transformers.
        pixels: uint8 (B, height, width, 3).
        start, end: ids.

    Raises:
        ValueError: the answers tell too little, so another seed is needed.
    """
    import torch

    inputs, _ = labels(tokenizer, CAPTIONS, start, end)
    with torch.no_grad():
        encoded, logits, attentions = forward(inputs)
    arrays = {
        "pictures": pixels,
        "decoder_input_ids": as_int(inputs)[:TAUGHT],
        "encoder_last_hidden": encoded.numpy()[:TAUGHT],
        "logits": logits.numpy()[:TAUGHT],
    }
    for kind, weights in attentions.items():
        arrays[f"{kind}_weights"] = np.stack([each.numpy()[:TAUGHT] for each in weights])
    arrays |= searches(generate_of(model), tokenizer, end)
    size = arrays["logits"].shape[-1]
    known = texts(tokenizer, size)
    again = searches(generate_of(shaken(model)), tokenizer, end)
    wrong = [
        f"{name} is not steady"
        for name in again
        if name.endswith("ids") and not np.array_equal(again[name], arrays[name])
    ]
    for length in LENGTHS:
        ids = arrays[f"greedy_{length}/ids"]
        if len(np.unique(ids, axis=0)) < 4:
            wrong.append(f"greedy {length} repeats itself")
    if not (arrays["beam_20/ids"][:, 0, 1:] == end).any():
        wrong.append("no beam ends")
    if wrong:
        raise ValueError(f"Expected answers that tell enough. Received: {wrong}")
    return arrays | known
