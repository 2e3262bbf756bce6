"""What transformers computes with a golden translator: arrays of answers.npz."""

import copy
import json

import numpy as np
import translator_texts

TAUGHT = 3
"""Pairs whose tensors are kept: the first, of different lengths."""
LOGITS = 73
"""Tokens whose logits are kept, of many more with codes of languages."""
BEAM, LENGTHS = 4, (13, 30)
STEPS = 200
ODD = [
    "it  is!  ",
    "   ",
    "▁it",
    "the▁sand",
    "no<mask> it </s> is",
    "Ｔen ﬁsh ½ sold\u200b.",
    "☃☃ ☃",
]
"""Texts that transformers splits otherwise than SentencePiece, some of them in some families."""


def as_int(tensor):
    return tensor.numpy().astype("int32")


def randomize(model, seed):
    """Random numbers for all weights and biases, scales of norms about 1."""
    import torch

    torch.manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.requires_grad:
                mean = 1.0 if "norm" in name and name.endswith("weight") else 0.0
                torch.nn.init.normal_(weight, mean, 0.4)
        if hasattr(model, "final_logits_bias"):
            torch.nn.init.normal_(model.final_logits_bias, 0.0, 0.4)
    return model.eval()


def batches(tokenizer, sources, targets):
    """A tokenizer's ids and mask of sources, and its ids of targets."""
    batch = tokenizer(sources, padding=True, return_tensors="pt")
    labels = tokenizer(text_target=targets, padding=True, return_tensors="pt")["input_ids"]
    return batch, labels


def teach(model, tokenizer, sources, targets):
    """Some steps of training: random weights repeat one token for ever, whatever the source."""
    import torch

    batch, labels = batches(
        tokenizer, sources + translator_texts.ENGLISH, targets + translator_texts.GERMAN
    )
    labels[labels == model.config.pad_token_id] = -100
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    for _ in range(STEPS):
        optimizer.zero_grad()
        model(**batch, labels=labels).loss.backward()
        optimizer.step()


def shift(model, labels):
    """The decoder's inputs for labels (B, T)."""
    if model.config.model_type == "m2m_100":
        from transformers.models.m2m_100.modeling_m2m_100 import shift_tokens_right

        config = model.config
        return shift_tokens_right(labels, config.pad_token_id, config.decoder_start_token_id)
    return model.prepare_decoder_input_ids_from_labels(labels=labels)


def teacher_forcing(model, batch, labels):
    """Hidden states, weights and logits of the first pairs, trimmed to their longest."""
    import torch

    mask, known = batch["attention_mask"][:TAUGHT], labels[:TAUGHT] != model.config.pad_token_id
    width, length = int(mask.sum(-1).max()), int(known.sum(-1).max())
    shifted = shift(model, labels)[:TAUGHT, :length]
    with torch.no_grad():
        answer = model(
            input_ids=batch["input_ids"][:TAUGHT, :width],
            attention_mask=mask[:, :width],
            decoder_input_ids=shifted,
            output_attentions=True,
            output_hidden_states=True,
        )
    arrays = {
        "decoder_input_ids": as_int(shifted),
        "encoder_last_hidden": answer.encoder_last_hidden_state.numpy(),
        "logits": answer.logits[..., :LOGITS].numpy(),
    }
    stacks = {
        "encoder_hidden": answer.encoder_hidden_states,
        "decoder_hidden": answer.decoder_hidden_states,
        "encoder_weights": answer.encoder_attentions,
        "decoder_weights": answer.decoder_attentions,
        "cross_weights": answer.cross_attentions,
    }
    return arrays | {name: np.stack(tensors) for name, tensors in stacks.items()}


def sums(scores, ids, end):
    """Sums (B,) of log-probabilities of generated ids (B, T) up to the first end, float32."""
    import torch

    stacked = torch.stack(scores, 1).float().log_softmax(-1)
    taken = stacked.gather(-1, ids[..., None])[..., 0]
    ended = torch.nn.functional.pad((ids == end).long().cumsum(-1), (1, 0))[:, :-1] > 0
    return taken.masked_fill(ended, 0.0).sum(-1).numpy()


def generated(model, batch, **choices):
    import torch

    asked = {"do_sample": False, "return_dict_in_generate": True, "output_scores": True}
    with torch.no_grad():
        return model.generate(**batch, **asked, output_logits=True, **choices)


def greedy(model, tokenizer, batch, length, choices):
    """Ids (B, T) with the start, texts and sums of log-probabilities after and before masks."""
    answer = generated(model, batch, num_beams=1, max_length=length, **choices)
    ids, end = answer.sequences, model.config.eos_token_id
    return {
        "ids": as_int(ids),
        "texts": np.array(tokenizer.batch_decode(ids, skip_special_tokens=True)),
        "whole_texts": np.array(tokenizer.batch_decode(ids)),
        "scores": sums(answer.scores, ids[:, 1:], end),
        "unmasked_scores": sums(answer.logits, ids[:, 1:], end),
    }


def beams(model, tokenizer, batch, length, choices):
    """Ids (B, K, T) with the start, texts (B, K) and scores (B, K), best first."""
    one = generated(model, batch, num_beams=BEAM, max_length=length, **choices)
    all_ = generated(
        model, batch, num_beams=BEAM, num_return_sequences=BEAM, max_length=length, **choices
    )
    scores = all_.sequences_scores.reshape(-1, BEAM)
    assert np.array_equal(one.sequences_scores, scores[:, 0])
    texts = tokenizer.batch_decode(all_.sequences, skip_special_tokens=True)
    return {
        "ids": as_int(all_.sequences).reshape(len(scores), BEAM, -1),
        "texts": np.array(texts).reshape(-1, BEAM),
        "scores": scores.numpy(),
    }


def decoding(tokenizer, size):
    """Any ids, special and without a piece too, and their texts without and with the special."""
    ids = np.random.default_rng(3).integers(0, size, (7, 11)).astype("int32")
    texts = [tokenizer.batch_decode(ids, skip_special_tokens=skip) for skip in (True, False)]
    return {
        "decode_ids": ids,
        "decode_texts": np.array(texts[0]),
        "decode_whole_texts": np.array(texts[1]),
    }


def as_padded(rows, value):
    """int32 (B, T) of lists."""
    array = np.full((len(rows), max(map(len, rows))), value, "int32")
    for place, row in enumerate(rows):
        array[place, : len(row)] = row
    return array


def odd(tokenizer, piece_ids):
    """Ids of odd texts, and those that SentencePiece would give; −1 follows both."""
    ids = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in ODD]
    pieces = [piece_ids(text) for text in ODD]
    arrays = {"odd_sources": np.array(ODD), "odd_ids": as_padded(ids, -1)}
    return arrays | {"odd_piece_ids": as_padded(pieces, -1)}


def inputs(sources, targets, batch, labels):
    return {
        "sources": np.array(sources),
        "targets": np.array(targets),
        "source_ids": as_int(batch["input_ids"]),
        "source_mask": as_int(batch["attention_mask"]),
        "target_ids": as_int(labels),
    }


def answers(model, tokenizer, sources, targets, **choices):
    """All arrays; choices are those that a caller of `generate` has to make.

    Raises:
        ValueError: the answers tell too little, so another seed is needed.
    """
    batch, labels = batches(tokenizer, sources, targets)
    arrays = inputs(sources, targets, batch, labels)
    if choices:
        arrays["choices"] = np.array(json.dumps(choices))
    arrays |= decoding(tokenizer, model.config.vocab_size)
    arrays |= teacher_forcing(model, batch, labels)
    for length in LENGTHS:
        for name, function in (("greedy", greedy), ("beam", beams)):
            found = function(model, tokenizer, batch, length, choices)
            arrays |= {f"{name}_{length}/{key}": value for key, value in found.items()}
    wrong = faults(model, tokenizer, arrays, choices)
    if wrong:
        raise ValueError(f"Expected answers that tell enough. Received: {wrong}")
    return arrays


def written(folder, model, tokenizer, sources, targets, **choices):
    """Teaches a model, saves a folder and returns the answers."""
    teach(model, tokenizer, sources, targets)
    model.save_pretrained(folder)
    return answers(model, tokenizer, sources, targets, **choices)


def shaken(model, part=1e-5):
    """The model with other weights by a part of each, which change no steady answer."""
    import torch

    other = copy.deepcopy(model)
    with torch.no_grad():
        for weight in other.parameters():
            weight *= 1 + part * torch.randn_like(weight)
    return other


def faults(model, tokenizer, arrays, choices):
    """Why these answers tell too little; empty if they tell enough."""
    end, found = model.config.eos_token_id, []
    batch = tokenizer(arrays["sources"].tolist(), padding=True, return_tensors="pt")
    for length in LENGTHS:
        ids, hypotheses = (arrays[f"{name}_{length}/ids"] for name in ("greedy", "beam"))
        first = hypotheses[:, 0]
        for name, rows in (("greedy", ids), ("beam", first)):
            ended = (rows[:, 1 : length - 1] == end).any(-1).sum()
            if not 1 < ended < len(rows) or len(np.unique(rows, axis=0)) < 6:
                found.append(f"{name} {length} ends by itself {ended} times, or repeats itself")
        pairs = zip(*(arrays[f"{name}_{length}/texts"] for name in ("greedy", "beam")))
        if sum(text == best for text, (best, *_) in pairs) > 4:
            found.append(f"beam {length} differs seldom from greedy")
        for name, function in (("greedy", greedy), ("beam", beams)):
            again = function(shaken(model), tokenizer, batch, length, choices)
            if not np.array_equal(again["ids"], arrays[f"{name}_{length}/ids"]):
                found.append(f"{name} {length} is not steady")
    return found
