"""Evaluation: scores the free-running answers of a run or a SavedModel on a split."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import tensorflow as tf

from keras_attn.contracts import ERROR
from keras_attn.progress import Progress
from keras_attn.saved.python_session import whole_saved_model
from keras_attn.serving.in_graph import in_graph
from keras_attn.serving.stored_weights import restored
from keras_attn.training.model_file import check_finite
from keras_attn_pipelines.experiment.evaluation import Evaluation
from keras_attn_pipelines.experiment.experiment import Experiment
from keras_attn_pipelines.experiment.sharded import read_split
from keras_attn_pipelines.runs.clip_judge import ClipJudge
from keras_attn_pipelines.runs.description import KEPT
from keras_attn_pipelines.runs.measured import evaluation_key, load_evaluation, save_evaluation
from keras_attn_pipelines.runs.run import Run
from keras_attn_pipelines.runs.run_predictor import FunctionRequests
from keras_attn_pipelines.runs.saved_description import SavedDescription
from keras_attn_pipelines.runs.training_summary import trained_line


def evaluate(
    run: Run,
    data,
    split: str = "dev",
    beam_width: int | None = None,
    batch: int = 32,
    precision: str = "float32",
    max_pixels: int | None = None,
    metric_tokenization: str | None = None,
    reuse: bool = False,
    clip: str | None = None,
) -> Evaluation:
    """Answers every record of a split with the run's service and scores the answers.

    Args:
        run: `Run`.
        data: path of the data folder, or another name that the source accepts.
        split: "train", "dev" or "test", or the name of another split of the data.
        beam_width: int, or None for the task's.
        batch: int. Batch size.
        precision: "float32" or "bfloat16", the compute precision.
        max_pixels: int, or None for the default; see `PictureFormat`.
        metric_tokenization: a value of the task's field of this name, or None for that of training.
        reuse: whether scores of an earlier evaluation with equal weights, records and settings will
            do, without its answers; not with a clip.
        clip: CLIP that judges captions: a folder of its checkpoint, or its name on the Hugging Face
            hub; None for no such scores.

    Returns:
        `Evaluation`. A record that cannot be read counts as an empty answer and is listed.

    Raises:
        ValueError: bad data, an unknown or empty split, a task whose metrics have no such
            tokenization, or a clip for other answers than captions or that cannot be read.
    """
    settings = (beam_width, batch, precision, max_pixels, metric_tokenization, reuse, clip)
    evaluations = evaluate_splits(run, data, [split], *settings)
    return evaluations[split]


def evaluate_splits(
    run: Run,
    data,
    splits: Sequence[str],
    beam_width: int | None = None,
    batch: int = 32,
    precision: str = "float32",
    max_pixels: int | None = None,
    metric_tokenization: str | None = None,
    reuse: bool = False,
    clip: str | None = None,
) -> dict[str, Evaluation]:
    """`evaluate` on several splits, for which the search is traced once.

    Returns:
        dict from each split to its `Evaluation`.
    """
    experiment = _tokenized(run.experiment(), metric_tokenization)
    settings = {"beam": beam_width, "precision": precision, "max_pixels": max_pixels}
    judge = ClipJudge.of(experiment, clip, max_pixels)
    evaluations, service = {}, None
    for split in splits:
        with Progress("reading data"):
            records = read_split(experiment.source, data, split)
        key = evaluation_key(run, records, split, {**settings, "tokenization": metric_tokenization})
        if reuse and judge is None and (known := load_evaluation(run, key)):
            evaluations[split] = replace(known, data=str(data))
            continue
        if service is None:
            service = run.service(beam_width, experiment.task.spec.judged, precision, max_pixels)
            answer = _answering(service)
        answered = _Answers.of(experiment.work, records, answer, split, batch)
        evaluation = answered.evaluation(
            experiment.work, service.vocabularies, service.metadata(), data, split
        )
        evaluation = replace(
            evaluation, metric_tokenization=metric_tokenization, trained=trained_line(run)
        )
        save_evaluation(run, key, evaluation)
        evaluations[split] = answered.judged(experiment.work, evaluation, judge, batch)
    return evaluations


def _answering(service) -> Callable:
    """A service's `serving_default`, compiled, as a function of inputs by name."""
    function, inputs = service.signatures()["serving_default"]
    graph = in_graph(function, inputs)
    return lambda **request: graph(*(request[spec.name] for spec in inputs))


def evaluate_saved(
    folder,
    data,
    split: str = "dev",
    batch: int = 32,
    recipe: Experiment | None = None,
    metric_tokenization: str | None = None,
    clip: str | None = None,
) -> Evaluation:
    """Like `evaluate`, for a SavedModel: its graph answers, with the search it was exported with.

    Args:
        folder: path of the model's folder (its highest version is taken) or of one version.
        data: as in `evaluate`.
        split: as in `evaluate`.
        batch: int. Batch size.
        recipe: experiment of the user's recipe file, if it defines any parts.
        metric_tokenization: as in `evaluate`.
        clip: as in `evaluate`.

    Returns:
        `Evaluation`.

    Raises:
        ValueError: no SavedModel there, or one that was not exported from a run; bad data, an
            unknown or empty split, a task whose metrics have no such tokenization, or a clip for
            other answers than captions or that cannot be read.
    """
    saved = SavedDescription.read(folder)
    experiment = _tokenized(saved.experiment(recipe), metric_tokenization)
    vocabularies = saved.vocabularies(experiment)
    if experiment.task.spec.searches and "beam_width" not in saved.metadata:
        raise ValueError(
            f"Expected a beam_width in the metadata of {saved.version}. Received: none"
        )
    judge = ClipJudge.of(experiment, clip)
    with whole_saved_model(saved.version):
        loaded = tf.saved_model.load(str(saved.version))
    check_finite(restored(loaded), saved.version)
    with Progress("reading data"):
        records = read_split(experiment.source, data, split)
    signature = loaded.signatures["serving_default"]
    answered = _Answers.of(experiment.work, records, signature, split, batch)
    evaluation = answered.evaluation(experiment.work, vocabularies, saved.metadata, data, split)
    evaluation = replace(evaluation, trained=str(saved.metadata.get(KEPT, "")))
    return answered.judged(experiment.work, evaluation, judge, batch)


def _tokenized(experiment: Experiment, metric_tokenization: str | None) -> Experiment:
    """The experiment with another tokenization of metrics, if one is given."""
    if metric_tokenization is None:
        return experiment
    return experiment.replaced({"metric_tokenization": metric_tokenization})


class _Answers:
    """Answers to records, in order, and the errors of unreadable ones."""

    def __init__(
        self, records: Sequence[Any], answers: Sequence[Mapping[str, Any]], errors: list[str]
    ):
        self.records, self.answers, self.errors = records, answers, errors

    @classmethod
    def of(cls, work, records: Sequence[Any], answer: Callable, split: str, batch: int):
        """Answers all records; those of similar size share a batch."""
        sizes = [work.request(record).size for record in records]
        order = sorted(range(len(records)), key=sizes.__getitem__)
        model = FunctionRequests(answer)
        answers: dict[int, dict] = {}
        errors: dict[int, str] = {}
        for start in Progress.over(range(0, len(order), batch), f"answering {split}", "batch"):
            places = order[start : start + batch]
            requests = [work.request(records[place]) for place in places]
            inputs = {
                key: [request.inputs[key] for request in requests] for key in requests[0].inputs
            }
            rows = model.ask("serving_default", batch=batch, **inputs)
            for place, request, row in zip(places, requests, rows):
                answers[place] = row
                if error := answers[place][ERROR].decode():
                    errors[place] = f"{request.name}: {error}"
        ordered = [answers[place] for place in range(len(records))]
        return cls(records, ordered, [errors[place] for place in sorted(errors)])

    def evaluation(self, work, vocabularies, metadata, data, split) -> Evaluation:
        """The task's scores of the answers."""
        with Progress("scoring answers"):
            evaluation = work.evaluation(self.records, self.answers, vocabularies, metadata)
        return replace(evaluation, data=str(data), split=split, errors=self.errors)

    def judged(self, work, evaluation: Evaluation, judge: ClipJudge | None, batch) -> Evaluation:
        """The evaluation with a judge's scores, if there is one."""
        if judge is None:
            return evaluation
        return judge.judged(evaluation, work, self.records, self.answers, batch)
