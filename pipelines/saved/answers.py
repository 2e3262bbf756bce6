"""`keras-attn predict`: collects the inputs and prints the answers."""

import json
import re
import sys
from pathlib import Path

from tqdm import tqdm

from keras_attn.contracts import CROP, ERROR, IMAGE
from keras_attn.decoding import DEAD
from keras_attn_pipelines.data.record import bytes_of, input_bytes, lines_in
from keras_attn_pipelines.saved import predict
from keras_attn_pipelines.saved.crop_folder import CropFolder

MOST_SHOWN = 4096
"""Characters of an input that a message repeats: as many as a path may have."""


def print_answers(arguments) -> None:
    """Prints a SavedModel's answer to each input, in order and as soon as it is available.

    Raises:
        ValueError: no inputs, or some could not be answered; the others' answers are printed.
    """
    inputs = _inputs(arguments)
    saved, failed = predict.saved_model(arguments.folder), []
    crops = None if arguments.crops is None else CropFolder.of(saved, arguments.crops)
    inputs = [(place, name) for place, argument in inputs for name in saved.named([argument])]
    reasons = saved.reasons([item for _, item in inputs])
    answers = iter(
        saved.answers([item for (_, item), problem in zip(inputs, reasons) if not problem])
    )
    # On a terminal the printed lines show the progress; a bar between them would only disturb.
    hidden = sys.stdout.isatty() or not sys.stderr.isatty()
    for (place, item), reason in tqdm(list(zip(inputs, reasons)), unit="answer", disable=hidden):
        answer = {ERROR: reason.encode()} if reason else next(answers)
        item_text = item.encode(errors="surrogateescape").decode(errors="replace")
        if error := answer[ERROR].decode():
            name = item_text if item_text.strip() else repr(item_text)
            name = f"{name:.{MOST_SHOWN if IMAGE in saved.scored else 80}}"
            failed.append(f"{place or name}: {error}")
        written = {CROP: crops.write(item, answer)} if crops and not error else {}
        if arguments.json:
            print(json.dumps(_record(saved, item_text, answer) | written, ensure_ascii=False))
        elif not error:
            line = re.sub(r"\s+", " ", item_text.strip(), flags=re.ASCII)
            for text, score in _scored_answers(saved, answer):
                print(f"{line}\t{score:.2f}\t{text}")
    if failed:
        raise ValueError("\n".join(failed))


def _inputs(arguments):
    """(place, input) of each input, as the user gave it."""
    inputs = []
    for argument in arguments.inputs:
        inputs += _lines("-") if argument == "-" else [("", argument)]
    inputs += _lines(arguments.file) if arguments.file else []
    if not inputs:
        empty = arguments.file or ("standard input" if arguments.inputs else "")
        received = f"nothing in {empty}" if empty else "nothing"
        raise ValueError(f"Expected inputs or --file FILE. Received: {received}")
    return inputs


def _scored_answers(saved, answer):
    """Answers and scores; possibly fewer than requested."""
    answers, scores = (answer[key] for key in saved.answered)
    return [
        (text.decode(), float(score)) for text, score in zip(answers, scores) if score > DEAD / 2
    ]


def _record(saved, item, answer):
    """The input with its answers and scores, best first, or its error."""
    record = {saved.scored[0]: item}
    if error := answer[ERROR].decode():
        return {**record, ERROR: error}
    return {**record, **dict(zip(saved.answered, zip(*_scored_answers(saved, answer))))}


def _lines(file):
    """(place, line) of a file or standard input; bytes that are not UTF-8 become surrogates."""
    lines = lines_in(input_bytes() if file == "-" else bytes_of(Path(file)))
    name = "line " if file == "-" else f"{file}:"
    return [(f"{name}{n}", line) for n, line in enumerate(lines, 1)]
