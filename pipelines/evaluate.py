"""Evaluation: free-running answers of a run on a split, in the field's metrics."""

import tensorflow as tf
from tqdm import tqdm

from keras_attn.contracts import ERROR
from pipelines.evaluation import Evaluation
from pipelines.run import Run


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
    ordered = [answers[place] for place in range(len(records))]
    return recipe.evaluation(records, ordered, service, **facts)
