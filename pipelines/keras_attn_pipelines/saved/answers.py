"""`keras-attn predict`: collects the inputs and prints the answers."""

import json
import re
import sys
from pathlib import Path

from keras_attn.contracts import ERROR
from keras_attn.escaping import escape_json_line, escape_terminal
from keras_attn.progress import Progress
from keras_attn.saved.predictor import Predictor
from keras_attn.saved.results import Prediction, format_score
from keras_attn.text_file import bytes_of
from keras_attn_pipelines.data.text_lines import input_bytes, lines_in
from keras_attn_pipelines.saved.crop_folder import CropFolder

MOST_SHOWN = 4096
"""Characters of an input that a message repeats: as many as a path may have."""


def print_answers(saved: Predictor, arguments) -> None:
    """Prints a model's answer to each input, in order and as soon as it is available.

    Raises:
        ValueError: no inputs, or some could not be answered; the others' answers are printed.
    """
    inputs, failed = _inputs(arguments), []
    crops = None if arguments.crops is None else CropFolder.of(saved, arguments.crops)
    takes = saved.takes
    inputs = [(place, name) for place, argument in inputs for name in takes.expand([argument])]
    reasons = [takes.reason(item) for _, item in inputs]
    answers = iter(
        saved.answers([item for (_, item), problem in zip(inputs, reasons) if not problem])
    )
    # On a terminal the printed lines show the progress; a bar between them would only disturb.
    asked = list(zip(inputs, reasons))
    for (place, item), reason in Progress.over(asked, "answers", "answer", not sys.stdout.isatty()):
        prediction = (
            Prediction(error=reason)
            if reason
            else saved.prediction(next(answers), arguments.n_best)
        )
        item_text = item.encode(errors="surrogateescape").decode(errors="replace")
        if error := prediction.error:
            name = item_text if item_text.strip() else repr(item_text)
            name = f"{name:.{MOST_SHOWN if saved.takes_pictures else 80}}"
            failed.append(f"{place or name}: {error}")
        else:
            for note in saved.notes_on(prediction.outputs):
                print(escape_terminal(f"{item_text.strip():.80}: {note}"), file=sys.stderr)
        written = (
            {crops.output: crops.write(item, prediction.outputs)} if crops and not error else {}
        )
        if arguments.json:
            record = _record(saved, item_text, prediction) | written
            print(escape_json_line(json.dumps(record, ensure_ascii=False)))
        elif not error:
            line = re.sub(r"\s+", " ", item_text.strip(), flags=re.ASCII)
            for rank, (text, score) in enumerate(prediction.alternatives, 1):
                several = len(prediction.outputs[saved.answered[0]]) > 1
                ranked = f"{rank}\t" if several else ""
                row = (line if rank == 1 else "", f"{ranked}{format_score(score)}", text)
                print(escape_terminal("\t".join(row)))
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


def _record(saved, item, prediction):
    """The input with its answers and scores, best first, or its error."""
    record = {saved.takes.name: item}
    if prediction.error:
        return {**record, ERROR: prediction.error}
    record |= {note.output: note.value(prediction.outputs) for note in saved.notes}
    return {**record, **dict(zip(saved.answered, zip(*prediction.alternatives)))}


def _lines(file):
    """(place, line) of a file or standard input; bytes that are not UTF-8 become surrogates."""
    lines = lines_in(input_bytes() if file == "-" else bytes_of(Path(file)))
    name = "line " if file == "-" else f"{file}:"
    return [(f"{name}{n}", line) for n, line in enumerate(lines, 1)]
