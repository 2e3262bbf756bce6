"""Facts into sentences, scored by the texts, the order of facts, and the values in them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from keras_attn.contracts import FACTS, PAD_ID, SOURCE, TARGET
from keras_attn.evaluation.caption_metrics import caption_metrics
from keras_attn.evaluation.fact_metrics import fact_metrics
from keras_attn.evaluation.text_metrics import text_metrics, text_signatures
from keras_attn.evaluation.tokenization import AUTO
from keras_attn.serving import AnswerLength, GenerationService, readers, views, writers
from keras_attn.serving.readers.facts import field_names, read_fact_sets, readable_facts
from keras_attn.text.slot_tokenizer import SlotTokenizer
from keras_attn.text.symbol_table import SymbolTable
from keras_attn.training.callbacks import GenerationMetrics
from keras_attn_pipelines.data.facts import Fact, fact_texts
from keras_attn_pipelines.data.sequence_examples import ended
from keras_attn_pipelines.data.sequence_training import (
    SequenceFormat,
    arrange_pair,
    sequence_training_data,
    usable_pairs,
)
from keras_attn_pipelines.data.tables import RaggedTable
from keras_attn_pipelines.data.vocabulary import FIELDS, TOKENIZER
from keras_attn_pipelines.experiment.beam_search import search_text
from keras_attn_pipelines.experiment.evaluation import Evaluation, best_texts, listed_texts
from keras_attn_pipelines.experiment.parts import Callbacks, Request
from keras_attn_pipelines.experiment.token_objective import token_objective
from keras_attn_pipelines.tasks.data_to_text.made_up_names import NAMED, MadeUpNames, named_pieces
from keras_attn_pipelines.tasks.data_to_text.name_dropout import NameDropout

if TYPE_CHECKING:
    from keras_attn_pipelines.tasks.data_to_text.settings import DataToText

ROWS = 4096
"""Sets of facts that are encoded at a time."""
SCORED = 64
"""Sets of dev that are answered at a time after an epoch."""
POINTS = {"bleu": "BLEU", "chrf": "chrF", "meteor": "METEOR"}
SHARES = {"order": "order", "mentioned": "facts mentioned", "copied": "values copied"}


@dataclass(frozen=True)
class DataToTextWork:
    """See `Work`."""

    task: "DataToText"

    def vocabulary_types(self):
        """See `Work`."""
        return {TOKENIZER: SlotTokenizer, FIELDS: SymbolTable}

    def resolve_auto(self, records):
        """See `Work`: the tokenization of BLEU."""
        texts = (text for record in records for text in record.texts)
        return replace(self.task, scoring=self.task.scoring.resolve_auto(texts))

    def learn(self, records):
        """See `Work`: the pieces of names and texts, and the fields of the link matrix."""
        facts = sorted({fact for record in records for fact in record.facts})
        names = readable_facts(tf.constant(facts)).numpy().ravel().tolist()
        spelled = sorted({name.decode() for name in names})
        texts = [text for record in records for text in record.texts]
        properties = sorted({fact[1] for fact in facts})
        fields = field_names(tf.constant(properties)).numpy().tolist()
        plain = self.task.pieces.learn(spelled + texts)
        vocabularies = {
            TOKENIZER: SlotTokenizer(plain, self.task.slots),
            FIELDS: SymbolTable(sorted({field.decode() for field in fields})),
        }
        if not self.task.slots:
            return vocabularies
        read = (read.names != "" for _, read in _parts(self.task, records, vocabularies))
        used = max(int(tf.reduce_max(tf.math.count_nonzero(named, axis=1))) for named in read)
        return {**vocabularies, TOKENIZER: SlotTokenizer(plain, used)}  # More would not be trained.

    def encode(self, records, vocabularies, setting):
        """See `Work`."""
        reasons = {}
        for name in ("train", "dev"):
            for part, read in _parts(self.task, records.splits[name], vocabularies):
                texts = (reason.decode() for reason in read.reasons.numpy().tolist())
                reasons |= dict(zip((record.facts for record in part), texts))
        records, refused = usable_pairs(records, lambda record: reasons.get(record.facts, ""))
        tokenizer = vocabularies[TOKENIZER]
        lines = self.task.pieces.notes(**{TOKENIZER: tokenizer.plain})
        if tokenizer.slots < self.task.slots:
            lines.append(f"slots: {tokenizer.slots}, no set of training has more names")
        pairs = replace(
            records, splits={name: fact_texts(split) for name, split in records.splits.items()}
        )
        form = _format(self.task, vocabularies, setting)
        data = sequence_training_data(pairs, form, vocabularies, lines, refused)
        return replace(data, splits=records.splits)

    def objective(self, model, data, steps, seed):
        """See `Work`: cross-entropy of the next piece."""
        return token_objective(model, self.task.label_smoothing, 0.0, steps, seed)

    def callbacks(self, model, data, setting, folder):
        """See `Work`: scores of greedy texts, in batches of similar length."""
        vocabularies, scoring = data.extra.vocabularies, self.task.scoring
        tokenizer = vocabularies[TOKENIZER]
        records = sorted(data.splits["dev"], key=lambda record: len(record.source))
        contexts, names = [], []
        for start in range(0, len(records), SCORED):
            sets = [record.facts for record in records[start : start + SCORED]]
            sets += [sets[-1]] * (SCORED - len(sets))
            read = read_sets(self.task, sets, vocabularies)
            contexts.append({SOURCE: read.tokens})
            names.append(read.names)

        def length(context):
            counts = tf.math.count_nonzero(context[SOURCE][..., 0], axis=1, dtype=tf.int32)
            return tf.reduce_max(AnswerLength.of_texts(self.task.lengths[-1]).of(counts))

        def scores(texts, numbered):
            places, references = zip(*numbered)
            filled = tokenizer.fill(texts, tf.gather(tf.concat(names, axis=0), places))
            decoded = [text.decode() for text in filled.numpy()]
            values = text_scores(decoded, references, scoring.metric_tokenization)
            return {name: values[name] for name in self.task.spec.monitors}

        numbered = list(enumerate(records))
        metrics = GenerationMetrics(model, contexts, tokenizer, numbered, length, scores)
        return Callbacks([metrics], notes=scoring.notes(self.task.spec.monitors, several=True))

    def service(self, model, vocabularies, part, beam_width=None, n_best=1):
        """See `Work`."""
        task, tokenizer, fields = self.task, vocabularies[TOKENIZER], vocabularies[FIELDS]
        return GenerationService(
            model,
            readers.FactReader(tokenizer, fields, task.source_lengths[-1], task.max_facts),
            writers.SlotWriter(tokenizer),
            task.search.strategy(beam_width, n_best),
            AnswerLength.of_texts(task.lengths[-1]),
            vocabularies,
            views.FACT_VIEWS,
        )

    def request(self, record):
        """See `Work`."""
        facts = strings_of(record.facts, len(record.facts))
        return Request(f"{record.source!r:.80}", {FACTS: facts}, len(record.source))

    def evaluation(self, records, answers, vocabularies, metadata):
        """See `Work`. METEOR needs Java."""
        texts, references = best_texts(answers), [record.texts for record in records]
        tokenization = self.resolve_auto(records).scoring.metric_tokenization
        scores = text_scores(texts, records, tokenization)
        captions = caption_metrics(texts, references)
        scores |= {key: captions[key] for key in ("meteor",) if key in captions}
        cells = {POINTS[key]: f"{scores[key]:.1f}" for key in POINTS if key in scores}
        shares = (key for key in SHARES if not math.isnan(scores[key]))
        cells |= {SHARES[key]: f"{100 * scores[key]:.1f}%" for key in shares}
        signatures = text_signatures(several=True, tokenization=tokenization)
        lines = [
            f"- {POINTS[key]}: `{signature}`"
            for key, signature in signatures.items()
            if key in POINTS
        ]
        rows = [{"facts": record.facts, "references": record.texts} for record in records]
        return Evaluation(
            scores={key: score for key, score in scores.items() if not math.isnan(score)},
            cells=cells,
            count=len(records),
            unit="sets of facts",
            note="; sacreBLEU's signatures:\n\n" + "\n".join(lines),
            facts={"texts": listed_texts(answers, rows), "signatures": signatures},
            beam_width=metadata["beam_width"],
        )

    def card(self, service, description):
        """See `Work`."""
        reader = service.reader
        return {
            "What it does": f"Says facts in sentences: {description}.",
            "Service": "Signature `serving_default`: facts (strings [B, n, 3], UTF-8: subject, "
            "property and object; three empty strings are padding; the subject is empty in tables) "
            "to text, score (nats), error. `explain`: also source_pieces, source_facts (the fact "
            "of each piece, from 1), tokens, pieces, token_scores, weights (attention to the "
            "pieces, of planning and of copying), links (which fact the link matrix expects first, "
            "and after each). "
            "`score`: facts and target to score (log-probability in nats), token_scores, error. "
            f"A set has at most {reader.max_facts} facts and {reader.max_source} pieces. The order "
            "of the facts does not matter.",
            "Search": search_text(service)
            + (" Answers that use most of the set's slots come first." if self.task.slots else ""),
        }


def text_scores(texts, records, tokenization=AUTO) -> dict[str, float]:
    """Scores of a text for each `FactSet`: "bleu", "chrf", "order", "mentioned", "copied" and more.

    The scores of sacreBLEU are in 0..100, those of `fact_metrics` in 0..1.
    """
    references = [record.texts for record in records]
    facts, orders = [record.facts for record in records], [record.orders for record in records]
    return {
        **text_metrics(texts, references, tokenization),
        **fact_metrics(texts, facts, references, orders),
    }


def _parts(task, records, vocabularies):
    """ROWS records with facts at a time, and what was read of them."""
    for start in range(0, len(records), ROWS):
        part = records[start : start + ROWS]
        yield part, read_sets(task, [record.facts for record in part], vocabularies)


def strings_of(facts: Sequence[Fact], count: int) -> np.ndarray:
    """The parts of facts in UTF-8, (count, 3), '' after the last."""
    rows = np.full((count, 3), b"", object)
    rows[: len(facts)] = [[part.encode() for part in fact] for fact in facts]
    return rows


def read_sets(task, sets: Sequence[Sequence[Fact]], vocabularies) -> Any:
    """`read_fact_sets` of facts, padded to the largest set."""
    count = max(map(len, sets))
    strings = np.stack([strings_of(facts, count) for facts in sets])
    return read_fact_sets(
        tf.constant(strings, tf.string),
        vocabularies[TOKENIZER],
        vocabularies[FIELDS],
        task.max_facts,
        task.source_lengths[-1],
    )


def _format(task, vocabularies, setting) -> SequenceFormat:
    """How facts with a text become batches."""
    tokenizer, seed = vocabularies[TOKENIZER], setting.fit.seed
    lengths = {SOURCE: task.source_lengths, TARGET: task.lengths}
    changes: list[Callable] = []
    if task.made_up_names:
        lengths[NAMED] = task.lengths
        changes.append(MadeUpNames(tokenizer, task.made_up_names, seed))
    if task.slots and task.name_dropout:
        changes.append(NameDropout(tokenizer, task.name_dropout, seed))

    def tables(pairs):
        sources, targets = _encoded(task, pairs, vocabularies)
        encoded = {SOURCE: sources, TARGET: targets}
        if task.made_up_names:
            named = [
                named_pieces(source, target, tokenizer.plain.vocabulary_size)
                for source, target in zip(_rows(sources), _rows(targets))
            ]
            encoded[NAMED] = RaggedTable.of(named)
        return encoded

    def arrange_training(features, step):
        for change in changes:
            features = change(features, step)
        return arrange_pair(features, step)

    return SequenceFormat(
        encode=tables,
        lengths=lengths,
        units=("pieces", "pieces"),
        arrange=arrange_pair,
        arrange_training=arrange_training if changes else None,
        setting=setting,
        record="text",
    )


def _rows(table: RaggedTable) -> list[np.ndarray]:
    """The sequences of a table."""
    return np.split(table.values, table.starts[1:-1])


def _encoded(task, pairs, vocabularies) -> tuple[RaggedTable, RaggedTable]:
    """Pieces of facts and of texts; names in the texts are the slots of their facts."""
    tokenizer, sources, targets = vocabularies[TOKENIZER], [], []
    for part, read in _parts(task, pairs, vocabularies):
        sources.append(tf.ragged.boolean_mask(read.tokens, read.tokens[..., 0] != PAD_ID))
        texts = tokenizer.normalize([pair.target for pair in part])
        targets.append(tokenizer.encode(tokenizer.mark(texts, read.names)))
    sources, targets = (tf.concat(parts, axis=0) for parts in (sources, targets))
    return RaggedTable.of_ragged(sources), ended(targets)
