"""Image captioning, scored by coco-caption's metrics."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from keras_attn.contracts import CAPTION, IMAGE
from keras_attn.escaping import escape_markdown
from keras_attn.evaluation.caption_metrics import TOKENIZER_NAMES, caption_metrics
from keras_attn.evaluation.cider import ConsensusReward
from keras_attn.serving import AnswerLength, GenerationService, readers, views, writers
from keras_attn.text.byte_pair_tokenizer import BytePairTokenizer
from keras_attn.text.detokenize import detokenized
from keras_attn.text.prompt_ids import after_prompt, prompt_ids
from keras_attn.text.tokenizer import Tokenizer
from keras_attn.text.word_piece_tokenizer import WordPieceTokenizer
from keras_attn.training.callbacks import GenerationMetrics
from keras_attn.training.self_critical import SelfCritical
from keras_attn_pipelines.data.vocabulary import TOKENIZER
from keras_attn_pipelines.experiment.beam_search import search_text
from keras_attn_pipelines.experiment.evaluation import Evaluation, best_texts, listed_texts
from keras_attn_pipelines.experiment.parts import Callbacks, Objective, Request
from keras_attn_pipelines.experiment.token_objective import token_objective
from keras_attn_pipelines.tasks.captioning.features import contexts, encode
from keras_attn_pipelines.tasks.captioning.vocabularies import BYTE_PAIRS, LEARNED, WORD_PIECES

if TYPE_CHECKING:
    from keras_attn_pipelines.tasks.captioning.settings import Captioning

LABELS = {
    "bleu_1": "BLEU-1",
    "bleu_2": "BLEU-2",
    "bleu_3": "BLEU-3",
    "bleu_4": "BLEU-4",
    "cider_d": "CIDEr-D",
    "rouge_l": "ROUGE-L",
    "meteor": "METEOR",
    "exact": "exact match",
}
TOKENIZERS = {
    LEARNED: Tokenizer,
    BYTE_PAIRS: BytePairTokenizer,
    WORD_PIECES: WordPieceTokenizer,
}
"""Classes of tokenizers by the task's vocabulary."""
SCORED = 16
"""Pictures of dev that are captioned at a time after an epoch."""


@dataclass(frozen=True)
class CaptioningWork:
    """See `Work`."""

    task: "Captioning"
    metric_names = LABELS

    def vocabulary_types(self):
        """See `Work`."""
        return {TOKENIZER: TOKENIZERS[self.task.vocabulary]}

    def resolve_auto(self, records):
        """See `Work`: the tokenization of metrics."""
        captions = (caption for record in records for caption in record.captions)
        return replace(self.task, scoring=self.task.scoring.resolve_auto(captions))

    def learn(self, records):
        """See `Work`."""
        if self.task.vocabulary != LEARNED:
            raise ValueError(
                f"Expected --from RUN of keras-attn import with vocabulary={self.task.vocabulary}. "
                "Received: no model to start from"
            )
        texts = [caption for record in records for caption in record.captions]
        longest = [max(record.captions, key=len) for record in records]
        return {TOKENIZER: self.task.pieces.learn(texts, longest)}

    def encode(self, records, vocabularies, setting):
        """See `Work`.

        Raises:
            ValueError: a prompt, which the captions to learn from would lack.
        """
        if self.task.prompt:
            raise ValueError(
                "Expected no prompt in training, which is on whole captions; a run that was "
                f"imported with one is tuned without it. Received: {self.task.prompt!r:.80}"
            )
        return encode(self.task, records, vocabularies[TOKENIZER], setting)

    def objective(self, model, data, steps, seed):
        """See `Work`: cross-entropy of the next piece, or self-critical training."""
        task, sampled = self.task, self.task.scheduled_sampling_rate
        objective = token_objective(model, task.label_smoothing, sampled, steps, seed)
        if not task.self_critical:
            return objective
        captions = [picture.captions for picture in data.splits["train"]]
        tokenization, weight = task.scoring.metric_tokenization, task.bleu_weight
        reward = ConsensusReward(captions, tokenization=tokenization, bleu_weight=weight)
        tokenizer, samples = data.extra.tokenizer, task.self_critical
        stage = SelfCritical(model, reward, tokenizer, samples, task.lengths[-1], seed)
        return Objective(stage, objective.loss, objective.metrics)

    def callbacks(self, model, data, setting, folder):
        """See `Work`: scores of greedy captions."""
        dev, encoded = data.splits["dev"], data.extra.encoded
        scores = GenerationMetrics(
            model if encoded is None else model.decoder,
            contexts(dev, self.task.pictures.picture_format(), SCORED, encoded),
            data.extra.tokenizer,
            references=[record.captions for record in dev],
            max_length=self.task.lengths[-1],
            tokenization=self.task.scoring.metric_tokenization,
        )
        return Callbacks([scores], notes=self.task.scoring.notes())

    def service(self, model, vocabularies, part, beam_width=None, n_best=1):
        """See `Work`."""
        tokenizer, longest = vocabularies[TOKENIZER], self.task.lengths[-1]
        prompt = prompt_ids(tokenizer, self.task.prompt, longest)
        return GenerationService(
            model,
            readers.PictureReader(self.task.pictures.picture_format()),
            writers.TextWriter(tokenizer, self.task.no_repeat_ngram, True, prompt),
            self.task.search.strategy(beam_width, n_best),
            AnswerLength(longest),
            vocabularies,
            (*views.CAPTION_VIEWS, *views.TRACED_VIEWS),
            target=CAPTION,
        )

    def request(self, record):
        """See `Work`."""
        return Request(str(record.path), {IMAGE: record.path.read_bytes()})

    def evaluation(self, records, answers, vocabularies, metadata):
        """See `Work`: what follows the prompt is scored."""
        captions = best_texts(answers)
        if self.task.prompt:
            (prompt,) = vocabularies[TOKENIZER].normalize_all([self.task.prompt])
            captions = [after_prompt(caption, prompt) for caption in captions]
        references = [record.captions for record in records]
        tokenization = self.resolve_auto(records).scoring.metric_tokenization
        meteor = None if self.task.scoring.meteor else False
        scores = caption_metrics(captions, references, meteor, tokenization)
        tokenizer, name = vocabularies[TOKENIZER], TOKENIZER_NAMES[tokenization]
        exact = [
            detokenized(caption) in map(detokenized, tokenizer.normalize_all(texts))
            for caption, texts in zip(captions, references)
        ]
        scores["exact"] = sum(exact) / len(exact)
        rows = [{"image": record.name, "references": record.captions} for record in records]
        note = f", all references, tokenizer: {name}"
        lacks_java = self.task.scoring.meteor and "meteor" not in scores
        return Evaluation(
            scores=scores,
            cells={LABELS[key]: _cell(key, scores[key]) for key in LABELS if key in scores},
            count=len(records),
            unit="pictures",
            note=note + ("; no METEOR, which needs Java" if lacks_java else ""),
            facts={"captions": listed_texts(answers, rows, "caption"), "tokenizer": name},
            beam_width=metadata["beam_width"],
        )

    def card(self, service, description):
        """See `Work`."""
        heads = ""
        if "attention" in service.signatures():
            heads = " `attention`: image to the best text and the weights of every layer and head."
        begun = ""
        if self.task.prompt:
            begun = f" Every caption begins with {escape_markdown(repr(self.task.prompt))}."
        return {
            "What it does": f"Describes a picture in a sentence ({description}).",
            "Service": "Signature `serving_default`: image (encoded bytes) to text, score (nats), "
            "error. `explain`: also tokens, pieces, token_scores, weights. `score`: image and "
            "caption to score (log-probability in nats), token_scores, error."
            f"{heads} Pictures are fitted to {service.reader.picture_format}.",
            "Search": search_text(service) + begun,
        }


def _cell(key, value):
    if key == "exact":
        return f"{100 * value:.1f}%"
    return f"{value:.3f}" if key == "cider_d" else f"{value:.1f}"
