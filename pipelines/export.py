"""Exporting a run: the service, and a model card with data, metrics and choices."""

import json
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from keras_attn.serving.export import export_service, model_card, next_version
from keras_attn.serving.precision import precision_of
from keras_attn.serving.warm_up import WARM_UP_BATCHES
from pipelines.evaluate import Evaluation
from pipelines.run import Run

_PRECISION = {
    "float32": "float32",
    "bfloat16": "bfloat16; stored weights, logits, attention weights and scores are float32",
}


def export(
    run: Run,
    folder,
    evaluations: Sequence[Evaluation] = (),
    beam_width: int | None = None,
    n_best: int = 1,
    precision: str = "float32",
) -> Path:
    """Writes a run as the next version of a SavedModel.

    Args:
        run: `Run`.
        folder: path of the model's folder.
        evaluations: each `Evaluation` whose table goes on the model card.
        beam_width: int, or None for the recipe's.
        n_best: int. Captions answered for each picture.
        precision: "float32" or "bfloat16", what the SavedModel computes in.

    Returns:
        path of the version.
    """
    description = run.description
    metrics = "\n\n".join(_measured(run, one, precision) for one in evaluations)
    metrics = metrics or "Not measured at export."
    service = run.service(beam_width, n_best, precision)
    title = f"{Path(folder).name}, version {next_version(folder)}"
    card = _card(title, description, metrics, service)
    notes = {key: description[key] for key in ("recipe", "values")}
    return export_service(service, folder, card, notes)


def _measured(run, evaluation, precision):
    command = f"keras-attn evaluate {run.folder} --data {evaluation.data}"
    command += f" --split {evaluation.split} --beam-width {evaluation.beam_width}"
    return f"{evaluation.table()}\n\nCommand: `{command} --precision {precision}`"


def _card(title, description, metrics, service):
    counts = ", ".join(f"{count} {split}" for split, count in description["pictures"].items())
    choices = json.dumps(description["values"], indent=2)
    service_text = (
        f"Signature `serving_default`: image (encoded bytes) to text, score (nats), error. "
        f"`explain`: also tokens, pieces, token_scores, weights. `score`: image and caption to "
        f"score (log-probability in nats), token_scores, error. Beam "
        f"{service.strategy.width}, length penalty α {service.strategy.alpha}, at most "
        f"{service.max_length} pieces; pictures are fitted to "
        f"{service.picture_format.height}×{service.picture_format.width} by "
        f"{service.picture_format.fit}. Precision: {_PRECISION[precision_of(service.model)]}. "
        f"Warm-up requests: every signature, batches of {' and '.join(map(str, WARM_UP_BATCHES))}."
    )
    return model_card(
        title,
        {
            "What it does": "Describes a picture in a sentence (Show, Attend and Tell): "
            f"{type(service.model.encoder).__name__}, {service.model.count_params():,} parameters, "
            f"exported {date.today().isoformat()}.",
            "Service": service_text,
            "Data": f"{Path(description['data']).name}: pictures {counts}.",
            "Metrics": metrics,
            "Recipe": f"`{description['recipe']}`, trained in {description['precision']}, strategy "
            f"{description['strategy']}\n\n```json\n{choices}\n```",
            "License": "Code: Apache-2.0. The weights carry the terms of the data they were "
            "trained on, and of the pretrained encoder where there is one.",
        },
    )
