"""The captioning task, scored by coco-caption's metrics."""

from dataclasses import replace
from datetime import date
from typing import ClassVar

from keras_attn_pipelines.data.feature import Feature
from keras_attn_pipelines.experiment.beam_search import BeamSearch, search_text
from keras_attn_pipelines.experiment.fields import option, part
from keras_attn_pipelines.experiment.parts import Callbacks, Objective, Request, TaskSpec
from keras_attn_pipelines.experiment.picture_options import PictureOptions
from keras_attn_pipelines.experiment.scoring import CaptionScoring

IMAGE, TOKENS, LOGITS = "image", "tokens", "logits"
TOKENIZER = "tokenizer"
MOST_PIECES = 2**24


@part
class Captioning:
    """Image captioning."""

    spec: ClassVar[TaskSpec] = TaskSpec(
        records="captioned pictures",
        targets=(LOGITS,),
        monitors=(
            "bleu_1",
            "bleu_2",
            "bleu_3",
            "bleu_4",
            "cider_d",
            "rouge_l",
            "exact",
        ),
        best_possible={
            **dict.fromkeys(("bleu_1", "bleu_2", "bleu_3", "bleu_4", "rouge_l"), 100),
            "cider_d": 10,
        },
    )

    pictures: PictureOptions = PictureOptions()
    vocabulary_size: int = option(
        "maximum vocabulary size of the tokenizer", default=4000, settled=True, most=MOST_PIECES
    )
    lowercase: bool = option("lowercase captions", default=True, settled=True)
    lengths: tuple[int, ...] = option(
        "bucket lengths in pieces", default=(16, 24, 40), buckets=True
    )
    captions_per_picture: int = option("captions per picture in each batch", default=5, least=1)
    label_smoothing: float = option(
        "label smoothing: probability spread over the vocabulary", default=0.1, least=0, below=1
    )
    scheduled_sampling_rate: float = option(
        "fraction of decoder inputs sampled from the model by the end of training",
        default=0.0,
        least=0,
        most=1,
    )
    self_critical: int = option(
        "self-critical training: captions sampled per picture and rewarded by CIDEr-D; 0: off",
        default=0,
        least=0,
    )
    no_repeat_ngram: int = option(
        "forbid repeated n-grams of this many pieces in an answer; 0: allow",
        default=0,
        least=0,
    )
    search: BeamSearch = BeamSearch()
    scoring: CaptionScoring = CaptionScoring()

    def check(self):
        """Raises ValueError if self-critical training has no samples to compare."""
        if self.self_critical and (self.self_critical < 2 or self.scheduled_sampling_rate):
            raise ValueError(
                "Expected self_critical >= 2 or 0, and scheduled_sampling_rate=0 with it. "
                f"Received: self_critical={self.self_critical}, "
                f"scheduled_sampling_rate={self.scheduled_sampling_rate}"
            )

    def features(self):
        """See `Task`."""
        size = self.pictures.image_size
        shape = (self.captions_per_picture, None)
        return {IMAGE: Feature((size, size, 3), "uint8"), TOKENS: Feature(shape)}

    def vocabulary_types(self):
        """See `Task`."""
        from keras_attn.text.tokenizer import Tokenizer

        return {TOKENIZER: Tokenizer}

    def resolve_auto(self, records):
        """See `Task`: the tokenization of metrics."""
        captions = (caption for record in records for caption in record.captions)
        return replace(self, scoring=self.scoring.resolve_auto(captions))

    def learn(self, records):
        """See `Task`."""
        from keras_attn.text.tokenizer import Tokenizer

        texts = [caption for record in records for caption in record.captions]
        return {TOKENIZER: Tokenizer.learn(texts, self.vocabulary_size, self.lowercase)}

    def encode(self, records, vocabularies, setting):
        """See `Task`."""
        from keras_attn_pipelines.tasks.captioning.features import encode

        return encode(self, records, vocabularies[TOKENIZER], setting)

    def objective(self, model, data, steps, seed):
        """See `Task`: cross-entropy of the next piece, or self-critical training."""
        from keras_attn_pipelines.experiment.token_objective import token_objective

        sampled = self.scheduled_sampling_rate
        objective = token_objective(model, self.label_smoothing, sampled, steps, seed)
        if not self.self_critical:
            return objective
        from keras_attn.evaluation.cider import ConsensusReward
        from keras_attn.training.self_critical import SelfCritical

        captions = [picture.captions for picture in data.splits["train"]]
        reward = ConsensusReward(captions, tokenization=self.scoring.metric_tokenization)
        tokenizer, samples = data.extra.tokenizer, self.self_critical
        stage = SelfCritical(model, reward, tokenizer, samples, self.lengths[-1], seed)
        return Objective(stage, objective.loss, objective.metrics)

    def callbacks(self, model, data, setting, folder):
        """See `Task`."""
        from keras_attn_pipelines.tasks.captioning.callbacks import caption_scoring

        return Callbacks([caption_scoring(self, model, data)], notes=self.scoring.notes())

    def service(self, model, vocabularies, part, beam_width=None, n_best=1):
        """See `Task`."""
        from keras_attn.contracts import CAPTION
        from keras_attn.images.picture_format import PictureFormat
        from keras_attn.serving import AnswerLength, GenerationService, readers, views, writers

        return GenerationService(
            model,
            readers.PictureReader(PictureFormat(*model.image_size, self.pictures.fit)),
            writers.TextWriter(vocabularies[TOKENIZER], self.no_repeat_ngram),
            self.search.strategy(beam_width, n_best),
            AnswerLength(self.lengths[-1]),
            vocabularies,
            views.CAPTION_VIEWS,
            target=CAPTION,
        )

    def request(self, record):
        """See `Task`."""
        return Request(str(record.path), {IMAGE: record.path.read_bytes()})

    def evaluation(self, records, answers, vocabularies, metadata):
        """See `Task`."""
        from keras_attn_pipelines.tasks.captioning.evaluation import evaluate_captions

        scoring = self.resolve_auto(records).scoring
        return evaluate_captions(records, answers, vocabularies[TOKENIZER], metadata, scoring)

    def card(self, service, description):
        """See `Task`."""
        pictures, heads = service.reader.picture_format, ""
        if "attention" in service.signatures():
            heads = " `attention`: image to the best text and the weights of every layer and head."
        return {
            "What it does": f"Describes a picture in a sentence ({description}), "
            f"{service.model.count_params():,} parameters, exported {date.today().isoformat()}.",
            "Service": "Signature `serving_default`: image (encoded bytes) to text, score (nats), "
            "error. `explain`: also tokens, pieces, token_scores, weights. `score`: image and "
            "caption to score (log-probability in nats), token_scores, error."
            f"{heads} Pictures are fitted to {pictures.height}×{pictures.width} by {pictures.fit}.",
            "Search": search_text(service),
            "License": "Code: Apache-2.0. The weights are subject to the terms of their "
            "training data and of the pretrained encoder, if any.",
        }
