"""Sets of facts as inputs of a data-to-text model, with a reason for each unreadable one."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from keras_attn.contracts import FACTS, PAD_ID, SOURCE, SOURCE_FACTS, SOURCE_PIECES
from keras_attn.lazy_tensorflow import tf
from keras_attn.models.data_to_text.fact_encoder import FactTokens
from keras_attn.ops.fact_relations import ROLES
from keras_attn.serving.readers.reader import Read, Reader
from keras_attn.serving.readers.reasons import first_reason, text_reasons, too_long
from keras_attn.serving.readers.texts import pieces_of

NO_FACTS = "no facts"
PARTS = ("subject", "property", "object")


class FactSets(NamedTuple):
    """What was read of B sets of n facts.

    Attributes:
        tokens: int32 (B, S, 7), see `FactTokens`; all padding where nothing could be read.
        fields: int32 (B, n), id of each fact's property.
        present: bool (B, n), False for padding, and where nothing could be read.
        names: string (B, slots), the subject or object that each slot of the tokenizer stands for,
            or ''.
        reasons: string (B,), why a set could not be read, or ''.
    """

    tokens: Any
    fields: Any
    present: Any
    names: Any
    reasons: Any


@dataclass(frozen=True)
class FactReader(Reader):
    """Sets of facts to pieces, see `read_fact_sets`.

    A set that has no facts, too many or too long ones, one twice, one without property or object,
    or text that is not UTF-8 cannot be read.

    Attributes:
        tokenizer: `SlotTokenizer`.
        fields: `SymbolTable` of properties.
        max_source: int. Maximum length of a set of facts in pieces.
        max_facts: int. Maximum facts of a set.
    """

    shape = (None, None, 3)

    tokenizer: Any
    fields: Any
    max_source: int
    max_facts: int

    @property
    def examples(self):
        return {FACTS: [[b"a", b"b", b"c"]]}

    def read(self, facts):
        """See `Reader`: of facts, string (B, n, 3); its details are `FactSets`."""
        sizes = (self.max_facts, self.max_source)
        read = read_fact_sets(facts, self.tokenizer, self.fields, *sizes)
        tokens = FactTokens.of(read.tokens)
        pieces = pieces_of(tokens.pieces, self.tokenizer, read.reasons == "")
        pieces = self.tokenizer.fill(pieces, self._labels(read.names))
        counts = tf.reduce_sum(tf.cast(tokens.pieces != PAD_ID, tf.int32), axis=1)
        shown = {SOURCE_PIECES: pieces, SOURCE_FACTS: tokens.facts}
        return Read({SOURCE: read.tokens}, read.reasons, counts, shown, pieces, read)

    def metadata(self):
        return {"max_source": self.max_source, "max_facts": self.max_facts}

    def _labels(self, names):
        """What slots are called among the pieces of the facts, "⟨1⟩" and so on: of (B, slots)."""
        labels = [f"⟨{slot + 1}⟩" for slot in range(self.tokenizer.slots)]
        return tf.broadcast_to(tf.constant(labels, tf.string), tf.shape(names))


def readable_names(names):
    """Entities and values as they would stand in a text: string (...) to string (...).

    Underscores become spaces, and quotes around a value are removed.

    Example:
        >>> readable_names(['"Aarhus, Denmark"', "Aarhus_Airport"]).numpy().tolist()
        [b'Aarhus, Denmark', b'Aarhus Airport']
    """
    names = tf.strings.regex_replace(names, r'^\s*"(.*)"\s*$', r"\1")
    return tf.strings.strip(tf.strings.regex_replace(names, "_", " "))


def readable_properties(names):
    """Properties as words in lower case: string (...) to string (...).

    Example:
        >>> readable_properties(["cityServed", "Birth date", "areaTotal_(km2)"]).numpy().tolist()
        [b'city served', b'birth date', b'area total (km2)']
    """
    names = tf.strings.regex_replace(readable_names(names), "([a-z0-9])([A-Z])", r"\1 \2")
    return tf.strings.lower(names, encoding="utf-8")


def field_names(properties):
    """Properties as names in the table of fields: string (...) to string (...).

    Example:
        >>> field_names(["cityServed", "City_served"]).numpy().tolist()
        [b'city_served', b'city_served']
    """
    plain = readable_properties(properties)
    return tf.strings.regex_replace(plain, r"[\s\p{Z}]+", "_")


def readable_facts(facts):
    """Parts of facts, string (..., 3), as they would stand in a text."""
    subjects, properties, objects = tf.unstack(facts, axis=-1)
    parts = (readable_names(subjects), readable_properties(properties), readable_names(objects))
    return tf.stack(parts, axis=-1)


def read_fact_sets(facts, tokenizer, fields, max_facts, max_source) -> FactSets:
    """Sets of facts to tokens for an encoder.

    Each subject and object begins with the piece of its slot. Which slot it is does not depend
    on the order of the facts; names beyond the tokenizer's slots have none.

    Args:
        facts: string (B, n, 3), see `contracts.FACTS`.
        tokenizer: `SlotTokenizer`.
        fields: `SymbolTable` of properties, see `field_names`.
        max_facts: int. Maximum facts of a set.
        max_source: int. Maximum pieces of a set.
    """
    missing = tf.maximum(1 - tf.shape(facts)[1], 0)  # Comparing needs a fact.
    facts = tf.pad(facts, [[0, 0], [0, missing], [0, 0]], constant_values="")
    unreadable = _first_in_row(text_reasons(facts))
    facts = tf.where((unreadable == "")[:, None, None], facts, "")
    names, given = readable_facts(facts), tf.reduce_any(facts != "", axis=2)
    rows, count = tf.shape(names)[0], tf.shape(names)[1]
    names = tokenizer.normalize(names)
    parts = tf.reshape(names, (rows, count * ROLES))
    slots, named = _slots(parts, tokenizer.slots)
    marked = tokenizer.with_mark(tf.reshape(names, (-1,)), tf.reshape(slots, (-1,)))
    pieces = tokenizer.encode(marked)
    lengths = tf.reshape(tf.cast(pieces.row_lengths(), tf.int32), (rows, count, ROLES))
    total = tf.reduce_sum(lengths, axis=(1, 2))
    counted = tf.reduce_sum(tf.cast(given, tf.int32), axis=1)
    reasons = first_reason(
        unreadable,
        tf.where(counted == 0, NO_FACTS, ""),
        too_long("a set", counted, max_facts, "facts"),
        _incomplete(given, lengths),
        _repeated(given, names),
        too_long("a set of facts", total, max_source, "pieces"),
    )
    present = given & (reasons == "")[:, None]
    ids = fields.encode(tf.reshape(field_names(facts[..., 1]), (-1,)))
    ids = tf.reshape(ids.to_tensor(PAD_ID, shape=(None, 1)), (rows, count))
    tokens = _tokens(pieces, parts, lengths, ids, present)
    named = tf.where((reasons == "")[:, None], named, "")
    return FactSets(tokens, tf.where(present, ids, PAD_ID), present, named, reasons)


def _slots(parts, count):
    """Slots of names, −1 for properties and what has none; and the names by slot.

    Slots are numbered by a hash of the names, so that the order of the facts does not matter.

    Args:
        parts: string (B, n · 3).
        count: int, slots.

    Returns:
        int32 (B, n · 3) and string (B, count).
    """
    if not count:
        return tf.fill(tf.shape(parts), -1), tf.zeros((tf.shape(parts)[0], 0), tf.string)
    places = tf.range(tf.shape(parts)[1])
    is_name = (places % ROLES != PARTS.index("property"))[None] & (parts != "")
    same = (parts[:, :, None] == parts[:, None, :]) & is_name[:, None, :]
    first = is_name & (tf.argmax(tf.cast(same, tf.int32), axis=2, output_type=tf.int32) == places)
    hashes = tf.strings.to_hash_bucket_fast(parts, 2**62)
    below = first[:, None, :] & (hashes[:, None, :] < hashes[:, :, None])
    slots = tf.reduce_sum(tf.cast(below, tf.int32), axis=2)
    slots = tf.where(is_name & (slots < count), slots, -1)
    holds = first[:, None, :] & (slots[:, None, :] == tf.range(count)[:, None])
    names = tf.strings.reduce_join(tf.where(holds, parts[:, None, :], ""), axis=2)
    return slots, names


def _tokens(pieces, parts, lengths, ids, present):
    """int32 (B, S, 7), of parts' pieces, ragged (B · n · 3, pieces)."""
    count = tf.shape(present)[1]
    numbers = tf.range(count) + 1
    same = parts[:, :, None] == parts[:, None, :]
    nodes = tf.argmax(tf.cast(same, tf.int32), axis=2, output_type=tf.int32) + 1
    of_facts = {"facts": numbers[None, :, None], "fields": ids[..., None]}
    of_roles = {"roles": tf.range(ROLES)[None, None] + 1}
    by_part = {
        name: tf.reshape(tf.broadcast_to(value, tf.shape(lengths)), (-1,))
        for name, value in {**of_facts, **of_roles}.items()
    }
    by_part["nodes"] = tf.reshape(nodes, (-1,))
    sizes = tf.reshape(lengths, (-1,))
    by_piece = {name: tf.repeat(value, sizes) for name, value in by_part.items()}
    starts = tf.ragged.range(sizes).flat_values
    columns = FactTokens(
        pieces=pieces.flat_values,
        starts=starts,
        ends=tf.repeat(sizes, sizes) - 1 - starts,
        **by_piece,
    )
    is_present = tf.repeat(tf.reshape(tf.repeat(present, ROLES, axis=1), (-1,)), sizes)
    of_rows = tf.reduce_sum(tf.where(present[..., None], lengths, 0), axis=(1, 2))
    values = tf.boolean_mask(tf.stack(columns, axis=-1), is_present)
    tokens = tf.RaggedTensor.from_row_lengths(values, of_rows).to_tensor(PAD_ID)
    missing = tf.maximum(1 - tf.shape(tokens)[1], 0)  # A model needs one column.
    return tf.pad(tokens, [[0, 0], [0, missing], [0, 0]])


def _incomplete(given, lengths):
    """string (B,): the first fact without a property or an object, or ''."""
    lacking = (lengths == 0) & given[..., None] & (tf.constant(PARTS) != PARTS[0])
    numbers = tf.strings.as_string(tf.range(tf.shape(given)[1]) + 1)
    texts = tf.add(tf.strings.join(["fact ", numbers, " without "])[:, None], tf.constant(PARTS))
    return _first_in_row(tf.where(lacking, texts[None], ""))


def _repeated(given, names):
    """string (B,): the first fact that is the same as an earlier one, or ''."""
    same = tf.reduce_all(names[:, :, None] == names[:, None, :], axis=3)
    numbers = tf.range(tf.shape(given)[1])
    earlier = numbers[None, :] < numbers[:, None]
    same &= given[:, :, None] & given[:, None, :] & earlier[None]
    names = tf.strings.join(["fact ", tf.strings.as_string(numbers + 1)])
    texts = tf.add(tf.strings.join([names, " repeats "])[:, None], names[None])
    return _first_in_row(tf.where(same, texts[None], ""))


def _first_in_row(texts):
    """string (B,): the first nonempty text of each row of (B, ...), or ''."""
    sizes = tf.shape(texts)
    texts = tf.reshape(texts, (sizes[0], tf.reduce_prod(sizes[1:])))
    texts = tf.concat([texts, tf.fill((sizes[0], 1), "")], axis=1)
    places = tf.argmax(tf.cast(texts != "", tf.int32), axis=1)
    return tf.gather(texts, places, batch_dims=1)
