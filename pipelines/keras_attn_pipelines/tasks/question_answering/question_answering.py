"""Questions about stories, answered with one word."""

from typing import ClassVar

from keras_attn_pipelines.data.feature import Feature
from keras_attn_pipelines.experiment.fields import option, part
from keras_attn_pipelines.experiment.parts import Callbacks, Objective, Request, TaskSpec
from keras_attn_pipelines.tasks.question_answering.names import LOGITS, QUESTION, STORY, WORDS


@part
class QuestionAnswering:
    """Question answering over short stories, as in the bAbI tasks."""

    spec: ClassVar[TaskSpec] = TaskSpec(
        records="questions about stories", targets=(LOGITS,), accuracy="accuracy"
    )

    lengths: tuple[int, ...] = option(
        "bucket lengths of stories, in sentences; of a story longer than the last, the oldest "
        "sentences are dropped",
        default=(5, 10, 20, 50),
        buckets=True,
        settled=True,
    )
    linear_patience: int = option(
        "epochs without a lower loss on dev after which a linear start without a number of epochs "
        "ends",
        default=3,
        least=1,
    )
    linear_epochs: int = option(
        "epochs of a linear start, at most a third of all; 0: until the loss on dev stops falling",
        default=30,
        least=0,
    )

    def features(self):
        """See `Task`."""
        return {STORY: Feature((self.lengths[-1], None)), QUESTION: Feature((None,))}

    def vocabulary_types(self):
        """See `Task`."""
        from keras_attn.text.symbol_table import SymbolTable

        return {WORDS: SymbolTable}

    def learn(self, records):
        """See `Task`."""
        from keras_attn_pipelines.tasks.question_answering.features import learn_words

        return learn_words(records)

    def encode(self, records, vocabularies, setting):
        """See `Task`."""
        from keras_attn_pipelines.tasks.question_answering.features import encode

        return encode(self, records, vocabularies, setting)

    def objective(self, model, data, steps, seed):
        """See `Task`."""
        from keras_attn.training.losses import TokenCrossEntropy
        from keras_attn.training.token_accuracy import TokenAccuracy

        return Objective(model, TokenCrossEntropy(), [TokenAccuracy("accuracy")])

    def callbacks(self, model, data, setting, folder):
        """See `Task`: ends the linear start of a model that has one."""
        from keras_attn.training.linear_start import LinearStart

        if not LinearStart.suits(model):
            return Callbacks()
        epochs = min(self.linear_epochs, setting.fit.epochs // 3) or None
        return Callbacks(pictures=[LinearStart(model, self.linear_patience, epochs)])

    def service(self, model, vocabularies, part, beam_width=None, n_best=1):
        """See `Task`."""
        from keras_attn.serving import LabelService, looks, readers, views, writers

        if beam_width is not None:
            raise ValueError(
                "Expected no beam width for answers of one word, which need no search. "
                f"Received: beam_width={beam_width}"
            )
        words = vocabularies[WORDS]
        return LabelService(
            model,
            readers.QuestionReader(words),
            writers.LabelWriter(words, n_best),
            looks.question_looks(model),
            vocabularies,
            views.story_views(model.reader),
            {"memory_size": model.memory_size, "reader": model.reader},
        )

    def request(self, record):
        """See `Task`."""
        inputs = {STORY: "\n".join(record.story).encode(), QUESTION: record.question.encode()}
        return Request(f"{record.file}:{record.line}", inputs, len(record.story))

    def evaluation(self, records, answers, vocabularies, metadata):
        """See `Task`."""
        from keras_attn_pipelines.tasks.question_answering.evaluation import evaluate_tasks

        return evaluate_tasks(records, answers)

    def card(self, service, description):
        """See `Task`."""
        count, most = service.model.count_params(), service.model.memory_size
        return {
            "What it does": f"Answers questions about short stories: {description}, "
            f"{count:,} parameters.",
            "Service": "Signature `serving_default`: story (UTF-8, a sentence on each line) and "
            "question to labels (the answers), scores (probabilities), dropped, error. `explain`: "
            "also sentences and weights (how much of each sentence each hop or head read). Of a "
            f"story longer than {most} sentences the oldest are dropped, and dropped counts them.",
            "License": "Code: Apache-2.0. The weights are subject to the terms of their training "
            "data.",
        }
