"""Writes the model of `torch_translator` for CTranslate2.

Run as `python -m benchmarks.ctranslate2_conversion TASK WEIGHTS FOLDER`, TASK as JSON.
"""

import json
import sys
from pathlib import Path

from ctranslate2.converters.transformers import MarianMTLoader

from benchmarks.torch_translator import marian
from benchmarks.translation_task import Task


def convert(task, weights, folder):
    """Writes the model for CTranslate2, with words named by their numbers."""
    spec = MarianMTLoader().get_model_spec(marian(task, weights))
    words = ["<pad>", "<unk>", "<s>", "</s>", *map(str, range(4, task.vocabulary))]
    spec.register_source_vocabulary(words)
    spec.register_target_vocabulary(words)
    spec.config.decoder_start_token = "<s>"
    spec.config.add_source_eos = False
    spec.validate()
    spec.optimize()
    Path(folder).mkdir()
    spec.save(folder)


if __name__ == "__main__":
    convert(Task(**json.loads(sys.argv[1])), *sys.argv[2:])
