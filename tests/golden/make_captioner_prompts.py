"""Writes captioners/CASE/prompts.npz: what golden captioners say after a prompt.

    PYTHONPATH=tests/golden PYTHON tests/golden/make_captioner_prompts.py

PYTHON is one with torch 2.13 and transformers 5.24. The models are those that `make_captioners.py`
wrote, asked about their pictures as its other answers were:

    prompt                  string of P pieces
    cross_weights           (N, 7, H, P, S), by which the model would have said the prompt
    greedy_11/…, beam_11/…  see `make_captioners.py`; the start and the prompt count in 11, and not
                            in scores
    greedy_new/…            `max_new_tokens` of 6
    greedy_default/…        as long as transformers makes them where nothing says how long
"""

from pathlib import Path

import numpy as np
from captioner_answers import BEAM
from translator_answers import as_int, shaken, sums

FOLDER = Path(__file__).with_name("captioners")
BLIP = ("BlipForConditionalGeneration", "BlipImageProcessor")
GPT2 = ("VisionEncoderDecoderModel", "ViTImageProcessor")
CASES = {
    "blip": (*BLIP, "a red bird"),
    "blip_earlier": (*BLIP, "the old"),
    "gpt2": (*GPT2, "two dogs"),
}
"""Names of the classes of the model and of its processor of pictures, and the prompt, by folder."""
SEARCHES = {
    "greedy_11": {"max_length": 11, "num_beams": 1},
    "beam_11": {"max_length": 11, "num_beams": BEAM, "num_return_sequences": BEAM},
    "greedy_new": {"max_new_tokens": 6, "num_beams": 1},
    "greedy_default": {"num_beams": 1},
}


def of_blip(model, values, encoded):
    """`generate` after a prompt, start and end of a BLIP model, of all pictures."""

    def generate(**choices):
        asked = {name: ids.clone() for name, ids in encoded.items()}  # It writes into them.
        asked.pop("token_type_ids", None)
        return model.generate(pixel_values=values, **asked, **choices)

    config = model.config.text_config
    given = encoded["input_ids"][:, 1:-1]
    return generate, given, config.bos_token_id, config.sep_token_id


def of_gpt2(model, values, encoded):
    """The same of a VisionEncoderDecoderModel."""
    given, start = encoded["input_ids"], model.generation_config.decoder_start_token_id

    def generate(**choices):
        return model.generate(pixel_values=values, decoder_input_ids=given, **choices)

    return generate, given, start, model.generation_config.eos_token_id


def answers(folder, kind, processor, prompt):
    """All arrays of a case."""
    import torch
    import transformers

    is_blip = (kind, processor) == BLIP
    kind, processor = getattr(transformers, kind), getattr(transformers, processor)
    model = kind.from_pretrained(folder, attn_implementation="eager").eval()
    words = transformers.AutoTokenizer.from_pretrained(folder)
    with np.load(folder / "answers.npz") as arrays:
        pictures = list(arrays["pictures"])
    values = processor.from_pretrained(folder)(pictures, return_tensors="pt")["pixel_values"]
    encoded = words([prompt] * len(values), return_tensors="pt")
    function = of_blip if is_blip else of_gpt2
    arrays = {"prompt": np.array(prompt), **searches(function(model, values, encoded), words)}
    again = searches(function(shaken(model), values, encoded), words)
    if wrong := [n for n in again if n.endswith("ids") and not np.array_equal(again[n], arrays[n])]:
        raise ValueError(f"Expected steady answers. Received: others of {wrong}")
    _, given, start, _ = function(model, values, encoded)
    inputs = torch.cat([torch.full_like(given[:, :1], start), given[:, :-1]], dim=1)
    with torch.no_grad():
        if is_blip:
            hidden = model.vision_model(pixel_values=values).last_hidden_state
            how = {"encoder_hidden_states": hidden, "output_attentions": True}
            found = model.text_decoder(input_ids=inputs, **how)
        else:
            how = {"decoder_input_ids": inputs, "output_attentions": True}
            found = model(pixel_values=values, **how)
    arrays["cross_weights"] = np.stack([each.numpy() for each in found.cross_attentions])
    return arrays


def searches(asked, words):
    """Ids with the start, texts and scores of all searches."""
    import torch

    generate, given, _, end = asked
    arrays = {}
    for name, choices in SEARCHES.items():
        how = {"return_dict_in_generate": True, "output_scores": True, "do_sample": False}
        with torch.no_grad():
            answer = generate(**how, **choices)
        ids, scores = answer.sequences, getattr(answer, "sequences_scores", None)
        if scores is None:
            scores = torch.tensor(sums(answer.scores, ids[:, 1 + given.shape[1] :], end))
        texts = np.array(words.batch_decode(ids, skip_special_tokens=True))
        rows = (len(given), choices["num_beams"])
        arrays |= {
            f"{name}/ids": as_int(ids).reshape(*rows, -1),
            f"{name}/texts": texts.reshape(rows),
            f"{name}/scores": scores.numpy().reshape(rows),
        }
    return arrays


def main():
    import torch

    torch.set_num_threads(1)
    for name, case in CASES.items():
        path = FOLDER / name / "prompts.npz"
        np.savez_compressed(path, **answers(FOLDER / name, *case))
        path.chmod(0o644)


if __name__ == "__main__":
    main()
