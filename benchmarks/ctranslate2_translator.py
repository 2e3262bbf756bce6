"""CTranslate2 in `transformer_speed`: the model of `torch_translator`, converted."""

import json
import sys
from pathlib import Path

import ctranslate2

from benchmarks.translation_task import Task, decoding_works, in_another_process
from benchmarks.worker import serve


def works_of(task, weights, kind, folder):
    """The works."""
    # torch would count in the memory of this process.
    in_another_process("benchmarks.ctranslate2_translator", task, weights, folder)
    translator = ctranslate2.Translator(
        folder, compute_type=kind, intra_threads=task.cores, inter_threads=1
    )
    source = [list(map(str, row)) for row in task.sources().tolist()]

    def tokens(rows, beams):
        results = translator.translate_batch(
            source[:rows], beam_size=beams, max_decoding_length=task.target
        )
        return [list(map(int, result.hypotheses[0])) for result in results]

    return decoding_works(task, tokens)


def convert(task, weights, folder):
    """Writes the model for CTranslate2, with words named by their numbers."""
    from ctranslate2.converters.transformers import MarianMTLoader

    from benchmarks.torch_translator import marian

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
    if sys.argv[1:]:
        convert(Task(**json.loads(sys.argv[1])), *sys.argv[2:])
    else:
        serve(works_of, Task)
