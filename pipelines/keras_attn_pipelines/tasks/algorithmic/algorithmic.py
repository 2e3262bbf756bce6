"""Algorithmic problems, answered word by word after they have been read."""

from typing import ClassVar

from keras_attn_pipelines.data.feature import Feature
from keras_attn_pipelines.experiment.fields import option, part
from keras_attn_pipelines.experiment.parts import Callbacks, Objective, Request, TaskSpec
from keras_attn_pipelines.tasks.algorithmic.names import (
    ANSWER_WORDS,
    EXACT,
    LOGITS,
    SEQUENCE,
    SOURCE_WORDS,
)


@part
class Algorithmic:
    """Algorithmic problems: a source is read, then its answer is written, a word each step."""

    spec: ClassVar[TaskSpec] = TaskSpec(
        records="algorithmic problems", targets=(LOGITS,), accuracy=EXACT
    )

    curriculum: int = option(
        "epochs after which all lengths are drawn; until then the longer buckets join one by one; "
        "0: all from the start",
        default=0,
        least=0,
    )
    planning_steps: int = option(
        "steps without input between a problem and its answer, for looking things up",
        default=0,
        settled=True,
        least=0,
    )

    def features(self):
        """See `Task`."""
        return {SEQUENCE: Feature((None, None), "float32")}

    def vocabulary_types(self):
        """See `Task`."""
        from keras_attn.text.sequence_words import AnswerWords, SourceWords

        return {SOURCE_WORDS: SourceWords, ANSWER_WORDS: AnswerWords}

    def learn(self, records):
        """See `Task`."""
        from keras_attn_pipelines.tasks.algorithmic.features import learn_words

        return learn_words(records, self.planning_steps)

    def extend(self, vocabularies, records):
        """See `Task`: the lengths are those of the new records."""
        return self.learn(records)

    def encode(self, records, vocabularies, setting):
        """See `Task`."""
        from keras_attn_pipelines.tasks.algorithmic.features import encode

        return encode(self, records, vocabularies, setting)

    def objective(self, model, data, steps, seed):
        """See `Task`."""
        from keras_attn.training.bit_losses import BitCrossEntropy, BitsPerSequence, ExactSequences

        return Objective(model, BitCrossEntropy(), [BitsPerSequence(), ExactSequences(EXACT)])

    def callbacks(self, model, data, setting, folder):
        """See `Task`: none; `fit` already computes all metrics."""
        return Callbacks()

    def service(self, model, vocabularies, part, beam_width=None, n_best=1):
        """See `Task`: one answer."""
        from keras_attn.serving import sequence_service

        if beam_width is not None:
            raise ValueError(
                "Expected no beam width for answers whose bits are independent, which need no "
                f"search. Received: beam_width={beam_width}"
            )
        return sequence_service(model, vocabularies[SOURCE_WORDS], vocabularies[ANSWER_WORDS])

    def request(self, record):
        """See `Task`."""
        size = len(record.source.split()) + len(record.target.split())
        return Request(f"{record.source!r:.80}", {SEQUENCE: record.source.encode()}, size)

    def evaluation(self, records, answers, vocabularies, metadata):
        """See `Task`."""
        from keras_attn_pipelines.tasks.algorithmic.evaluation import evaluate_sequences

        return evaluate_sequences(records, answers, vocabularies)

    def card(self, service, description):
        """See `Task`."""
        from keras_attn.text.sequence_forms import FORMS

        words, count = service.vocabularies[SOURCE_WORDS], service.model.count_params()
        form = FORMS[words.problem].described(words.bits)
        return {
            "What it does": f"Answers the algorithmic problem {words.problem}: {description}, "
            f"{count:,} parameters.",
            "Service": f"Signature `serving_default`: sequence (UTF-8; {form}) to text (the "
            "answer), score (its log-probability in nats), longer, error. `explain`: also steps "
            "and, of a model with a memory, write_weights and read_weights. Problems of more than "
            f"{words.longest} words, or with answers of more than {words.longest_answer}, are "
            "longer than any in training: they are answered, and longer is 1.",
            "License": "Code: Apache-2.0. The training data are generated.",
        }
