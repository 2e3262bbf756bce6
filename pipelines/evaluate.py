"""Evaluation: free-running answers of a run or a SavedModel on a split, in the field's metrics."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf
from tqdm import tqdm

from keras_attn.contracts import ERROR
from pipelines.evaluation import Evaluation
from pipelines.run import Run
from pipelines.saved import whole_saved_model
from pipelines.saved_description import SavedDescription
from pipelines.search_recipe import SearchRecipe


def evaluate(
    run: Run,
    data,
    split: str = "dev",
    beam_width: int | None = None,
    batch: int = 32,
    precision: str = "float32",
) -> Evaluation:
    """Asks the run's service about every record of a split and scores the answers.

    Args:
        run: `Run`.
        data: path of the data folder.
        split: "train", "dev" or "test", or the name of another split of the data.
        beam_width: int, or None for the recipe's.
        batch: int. Records at a time.
        precision: "float32" or "bfloat16", what the model computes in.

    Returns:
        `Evaluation`. A record that cannot be read counts as an empty answer and is listed.

    Raises:
        ValueError: bad data, an unknown or empty split.
    """
    recipe = run.recipe()
    records = recipe.records(data, split)
    service = run.service(beam_width, recipe.judged, precision)
    function, inputs = service.signatures()["serving_default"]
    answer = tf.function(function, input_signature=inputs, autograph=False)
    answers, facts = _asked(recipe, records, answer, data, split, batch)
    return recipe.evaluation(records, answers, service.tokenizers(), service.metadata(), **facts)


def evaluate_saved(folder, data, split: str = "dev", batch: int = 32) -> Evaluation:
    """As `evaluate`, of a SavedModel: its graph answers, with the search it was exported with.

    Args:
        folder: path of the model's folder (its highest version is taken) or of one version.
        data: path of the data folder.
        split: as in `evaluate`.
        batch: int. Records at a time.

    Returns:
        `Evaluation`.

    Raises:
        ValueError: no SavedModel there, or one that was not exported from a run; bad data, an
            unknown or empty split.
    """
    saved = SavedDescription.read(folder)
    recipe, tokenizers = saved.recipe(), saved.tokenizers()
    if isinstance(recipe, SearchRecipe) and "beam_width" not in saved.metadata:
        raise ValueError(
            f"Expected a beam_width in the metadata of {saved.version}. Received: none"
        )
    with whole_saved_model(saved.version):
        loaded = tf.saved_model.load(str(saved.version))
    records = recipe.records(data, split)
    signature = loaded.signatures["serving_default"]
    (name,) = signature.structured_input_signature[1]

    def answer(asked):
        return signature(**{name: asked})

    answers, facts = _asked(recipe, records, answer, data, split, batch)
    return recipe.evaluation(records, answers, tokenizers, saved.metadata, **facts)


def _asked(
    recipe, records: Sequence, answer: Callable, data, split: str, batch: int
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Answers to records, in their order, and the facts that every `Evaluation` has."""
    order = sorted(range(len(records)), key=lambda place: recipe.size(records[place]))
    answers: dict[int, dict] = {}
    errors: dict[int, str] = {}
    for start in tqdm(range(0, len(order), batch), desc=f"answers for {split}", unit="batch"):
        places = order[start : start + batch]
        names, asked = zip(*(recipe.asked(records[place]) for place in places))
        found = {key: value.numpy() for key, value in answer(tf.constant(asked)).items()}
        for row, (place, name) in enumerate(zip(places, names)):
            answers[place] = {key: value[row] for key, value in found.items()}
            if error := answers[place][ERROR].decode():
                errors[place] = f"{name}: {error}"
    listed = [errors[place] for place in sorted(errors)]
    facts = {"data": str(data), "split": split, "errors": listed}
    return [answers[place] for place in range(len(records))], facts
