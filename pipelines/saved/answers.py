"""`keras-attn predict`: what is asked, and how its answers are printed."""

import json
import re
import sys
from pathlib import Path

from tqdm import tqdm

from keras_attn.contracts import CROP, ERROR, IMAGE
from keras_attn.decoding import DEAD
from keras_attn_pipelines.data.record import check_utf8
from keras_attn_pipelines.saved import predict
from keras_attn_pipelines.saved.crop_folder import CropFolder


def print_answers(arguments) -> None:
    """Asks a SavedModel and prints each answer as soon as it is there, in the order asked.

    Raises:
        ValueError: nothing was asked, or something could not be answered; all the rest was.
    """
    given = _given(arguments)
    saved, failed = predict.saved_model(arguments.folder), []
    crops = None if arguments.crops is None else CropFolder.of(saved, arguments.crops)
    given = [(place, name) for place, argument in given for name in saved.named([argument])]
    reasons = saved.reasons([asked for _, asked in given])
    answers = iter(saved.answers([asked for (_, asked), bad in zip(given, reasons) if not bad]))
    # Lines on a terminal show how far it is; a bar between them would not.
    hidden = sys.stdout.isatty() or not sys.stderr.isatty()
    for (place, asked), reason in tqdm(list(zip(given, reasons)), unit="answer", disable=hidden):
        answer = {ERROR: reason.encode()} if reason else next(answers)
        shown = asked.encode(errors="surrogateescape").decode(errors="replace")
        if error := answer[ERROR].decode():
            name = shown if shown.strip() else repr(shown)
            name = name if IMAGE in saved.scored else f"{name:.80}"  # A path is of use whole.
            failed.append(f"{place or name}: {error}")
        written = {CROP: crops.write(asked, answer)} if crops and not error else {}
        if arguments.json:
            print(json.dumps(_record(saved, shown, answer) | written, ensure_ascii=False))
        elif not error:
            line = re.sub(r"\s+", " ", shown.strip(), flags=re.ASCII)
            for text, score in _found(saved, answer):
                print(f"{line}\t{score:.2f}\t{text}")
    if failed:
        raise ValueError("\n".join(failed))


def _given(arguments):
    """(place, what is asked), as the user named it."""
    given = []
    for argument in arguments.inputs:
        given += _lines("-") if argument == "-" else [("", argument)]
    given += _lines(arguments.file) if arguments.file else []
    if not given:
        empty = arguments.file or ("standard input" if arguments.inputs else "")
        received = f"nothing in {empty}" if empty else "nothing"
        raise ValueError(f"Expected something to ask, or --file FILE. Received: {received}")
    return given


def _found(saved, answer):
    """Answers and scores; there may be fewer than were asked for."""
    answers, scores = (answer[key] for key in saved.answered)
    return [
        (text.decode(), float(score)) for text, score in zip(answers, scores) if score > DEAD / 2
    ]


def _record(saved, asked, answer):
    """What was asked, with answers and scores, best first, or with the error."""
    record = {saved.scored[0]: asked}
    if error := answer[ERROR].decode():
        return {**record, ERROR: error}
    return {**record, **dict(zip(saved.answered, zip(*_found(saved, answer))))}


def _lines(file):
    """(place, line) of a file or of standard input; bytes that are not UTF-8 stay marked."""
    data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    check_utf8(data, "standard input" if file == "-" else file)
    lines = data.decode(errors="surrogateescape").removeprefix("\ufeff").split("\n")
    lines = lines if lines[-1] else lines[:-1]
    name = "line " if file == "-" else f"{file}:"
    return [(f"{name}{n}", line.removesuffix("\r")) for n, line in enumerate(lines, 1)]
