"""The service of facts and its export: facts in, sentences out, bad sets apart."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.contracts import (
    END_ID,
    ERROR,
    LINKS,
    LOGITS,
    SCORE,
    SOURCE,
    SOURCE_FACTS,
    SOURCE_PIECES,
    START_ID,
    TEXT,
    TOKEN_SCORES,
    TOKENS,
    WEIGHTS,
)
from keras_attn.decoding import Beam, Greedy
from keras_attn.serving.client import GrpcClient, RestClient
from keras_attn.serving.readers.facts import NO_FACTS, read_fact_sets
from keras_attn.serving.requests import joined
from tests.serving.registry import BY_NAME, fact_set
from tests.serving.servers import Backend, grpc_server, rest_server
from tests.serving.tiny_fact_service import LENGTH, LONGEST_SOURCE, MOST_FACTS, fact_service

ADA = [["Ada_Low", "birthPlace", "Arden"], ["Ada_Low", "birthYear", '"1815"']]
CYCLE = [["Ben", "field", "Ada"], ["Ada", "field", "Ben"]]
TABLE = [["", "Birth place", "Cove"]]
FACT_SETS = BY_NAME["facts"].columns["facts"]


@pytest.fixture(scope="module")
def service(service_named):
    return service_named("facts")


@pytest.fixture(scope="module")
def saved(saved_named):
    return saved_named("facts")


def read(service, *sets):
    facts = tf.constant(joined([fact_set(*facts) for facts in sets]), tf.string)
    return read_fact_sets(
        facts, service.writer.vocabulary, service.reader.fields, MOST_FACTS, LONGEST_SOURCE
    )


def in_graph(service):
    """What answers sets with the weights, traced once."""
    return tf.function(service.explain, [tf.TensorSpec((None, None, 3), tf.string)])


def test_no_sets_and_sets_of_no_facts(service):
    empty = service.explain(tf.zeros((0, 3, 3), tf.string))
    assert empty[TEXT].shape == (0, 2) and empty[LINKS].shape[0] == 0
    answer = service.answer(tf.zeros((2, 0, 3), tf.string))
    assert answer[ERROR].numpy().tolist() == [NO_FACTS.encode()] * 2


def test_the_order_of_facts_and_padding_between_them_change_nothing(service):
    pad = ["", "", ""]
    answers = service.answer(
        tf.constant(joined([fact_set(*s) for s in (ADA, ADA[::-1], [pad, ADA[1], pad, ADA[0]])]))
    )
    texts, scores = answers[TEXT].numpy().tolist(), answers[SCORE].numpy()
    assert texts[0] == texts[1] == texts[2]
    np.testing.assert_allclose(scores, scores[:1] + 0 * scores, rtol=1e-4)


def test_columns_of_tokens(service):
    tokens, fields, present, names, reasons = read(service, ADA, CYCLE, TABLE)
    slots = {name: slot for slot, name in enumerate(names.numpy()[0].tolist()) if name}
    assert not any(reasons.numpy()) and present.numpy().sum(axis=1).tolist() == [2, 2, 1]
    pieces, facts, roles, nodes, ids, starts, ends = np.moveaxis(tokens.numpy(), 2, 0)
    first = facts[0] == 1
    for inside, name in (
        (first & (roles[0] == 1), "Ada Low"),
        (first & (roles[0] == 2), "birth place"),
        ((facts[0] == 2) & (roles[0] == 3), "1815"),
    ):
        spelled = service.writer.vocabulary.slots_of(pieces[0][inside]).numpy().tolist()
        slot = slots.pop(name.encode(), -1)
        begins = [each for each in spelled if each >= 0]
        assert begins == [slot] * (slot >= 0) and spelled[1] == slot  # After the mark of a word.
        marks = service.writer.vocabulary.with_mark([name], [slot]).numpy()[0]
        assert service.writer.vocabulary.decode(pieces[0][inside]) == marks
    assert list(slots) == [b"Arden"]
    assert set(nodes[0][roles[0] == 1]) == {1}  # Both facts have the same subject.
    crossing = {(f, r): n for f, r, n in zip(facts[1], roles[1], nodes[1])}
    assert crossing[1, 1] == crossing[2, 3] and crossing[1, 3] == crossing[2, 1]
    assert crossing[1, 2] == crossing[2, 2]
    places = [service.reader.fields.id_of(name) for name in ("birth_place", "birth_year", "field")]
    assert fields.numpy().tolist() == [places[:2], [places[2]] * 2, [places[0], 0]]
    assert set(ids[2][facts[2] == 1]) == {places[0]} and set(roles[2]) == {0, 2, 3}
    for part in {*zip(facts[0], roles[0])} - {(0, 0)}:
        inside = (facts[0] == part[0]) & (roles[0] == part[1])
        count = int(inside.sum())
        assert starts[0][inside].tolist() == list(range(count))
        assert ends[0][inside].tolist() == list(range(count))[::-1]


def test_explain_says_where_each_piece_came_from(service):
    answer = service.explain(tf.constant(joined(FACT_SETS), tf.string))
    numbers, pieces = answer[SOURCE_FACTS].numpy(), answer[SOURCE_PIECES].numpy()
    assert ((numbers > 0) == (pieces != b"")).all() and {1, 2} <= set(numbers[0])
    slots = {f"⟨{slot}⟩".encode() for slot in (1, 2, 3)}  # Ada Low has one, in both facts.
    assert slots == {*pieces[0]} & slots and sum(piece in slots for piece in pieces[0]) == 4
    weights = answer[WEIGHTS].numpy()
    written = answer["tokens"].numpy() != 0
    np.testing.assert_allclose(weights.sum(-1), written, atol=1e-5)
    assert not weights[0][..., numbers[0] == 0].any()
    links = answer[LINKS].numpy()
    np.testing.assert_allclose(links[0, :3, :2].sum(-1), 1, atol=1e-6)
    assert not links[1].any() and not links[0, 3:].any() and not links[0, :, 2:].any()


def test_score_is_the_log_probability_of_a_text():
    service, texts = fact_service(Greedy()), ["Ada in", "Ben"]
    facts = tf.constant(joined([fact_set(*ADA), fact_set(*CYCLE), fact_set(*ADA)]), tf.string)
    scored = service.score(facts, tf.constant([*texts, b"\xff"]))
    assert scored[ERROR].numpy().tolist() == [b"", b"", b"the target: not UTF-8"]
    assert not scored[TOKEN_SCORES].numpy()[2].any()
    sizes = service.writer.vocabulary, service.reader.fields, MOST_FACTS, LONGEST_SOURCE
    source, _, _, names, _ = read_fact_sets(facts, *sizes)
    marked = service.writer.vocabulary.mark(texts, names[:2])
    assert (marked.numpy() != np.array(texts, "S")).tolist() == [False, True]  # Ben has a slot.
    for row, text in enumerate(marked):
        pieces = [*service.writer.vocabulary.encode([text])[0].numpy().tolist(), END_ID]
        batch = {SOURCE: source[row : row + 1], TOKENS: np.array([[START_ID, *pieces[:-1]]])}
        log_probabilities = tf.nn.log_softmax(service.model(batch)[LOGITS])[0].numpy()
        expected = log_probabilities[np.arange(len(pieces)), pieces].sum()
        np.testing.assert_allclose(scored[SCORE][row], expected, rtol=1e-4)


@pytest.mark.systems
def test_a_beam_of_one_is_greedy():
    facts = tf.constant(joined([fact_set(*ADA), fact_set(*CYCLE)]), tf.string)
    greedy, beam = (fact_service(s).answer(facts) for s in (Greedy(), Beam(1, 0.0)))
    assert greedy[TEXT].numpy().tolist() == beam[TEXT].numpy().tolist()


@pytest.mark.systems
def test_predict_takes_triples_and_json(saved):
    answers = saved.predict([ADA, '{"triples": [["Ada", "field"]]}', '[["a", "b", "c"]', 7, CYCLE])
    assert answers[0].text == saved.predict([ADA[::-1]])[0].text
    assert len(answers[0].alternatives) == 2 and answers[4].error == ""
    errors = [answer.error for answer in answers[1:4]]
    assert errors[0] == "fact 1 has 2 parts (expected subject, property and object)"
    assert errors[1].startswith("malformed JSON: ") and errors[2].startswith("expected a list of")
    assert saved.score(ADA, "Ada Low") < 0


@pytest.mark.systems
def test_explain_draws_facts_and_links(saved, tmp_path):
    facts = ("Ada_Low | birthPlace | Arden", 'Ada_Low | birthYear | "1815"')
    drawing, linked = saved.explain(ADA), saved.explain(ADA, heads="links")
    assert drawing.data.columns == linked.data.columns == facts
    assert linked.data.rows == ("(first)", *facts)
    assert drawing.data.weights.shape == (1, 1, len(drawing.data.rows), 2)
    for each in (drawing, linked):
        np.testing.assert_allclose(each.data.weights.sum(axis=-1), 1, atol=1e-5)
        each.save(tmp_path / "drawing.png")
    with pytest.raises(ValueError, match="Expected heads=links for"):
        saved.explain(ADA, heads="cross")
    page = saved.explore(ADA)
    assert [view.name for view in page.views] == ["Facts", "Words", "Links"]
    assert len(page.answers) == 2 and "Ada_Low | birthPlace | Arden" in page.html()
    with pytest.raises(ValueError, match="fact 2 repeats fact 1"):
        saved.explain([ADA[0], ADA[0]])


@pytest.mark.systems
def test_clients_send_arrays(saved):
    expected = saved.ask("serving_default", facts=FACT_SETS[:3])
    for server, kind in ((rest_server, RestClient), (grpc_server, GrpcClient)):
        with server(Backend("facts", saved.outputs)) as address:
            client = kind(address, "facts")
            answers = client.ask("serving_default", facts=FACT_SETS[:3])
            assert [row[TEXT].tolist() for row in answers] == [
                row[TEXT].tolist() for row in expected
            ]
            with pytest.raises(ValueError, match="Expected strings or bytes as facts"):
                client.ask("serving_default", facts=[[["Ada", "field", 7]]])


def test_lengths_are_limited(service):
    answer = service.explain(tf.constant(FACT_SETS[0][None], tf.string))
    assert answer["tokens"].shape[2] <= LENGTH


def test_a_name_that_was_never_seen_is_one_token():
    """A model that says the slot of a set's subject says its name, whatever it is."""
    service = fact_service(Greedy())
    name = "Zoë_Őry_(comicsCharacter)"
    read = read_fact_sets(
        tf.constant([[[name, "field", "optics"]]]),
        service.writer.vocabulary,
        service.reader.fields,
        5,
        60,
    )
    text = tf.constant(["Zoe Ory, optics."])
    marked = service.writer.vocabulary.mark(text, read.names)
    tokens = service.writer.vocabulary.encode(marked)
    slots = [
        slot for slot in service.writer.vocabulary.slots_of(tokens)[0].numpy().tolist() if slot >= 0
    ]
    assert sorted(slots) == [0, 1] and marked.numpy()[0].decode().count(",") == 1
    filled = service.writer.vocabulary.fill(service.writer.vocabulary.decode(tokens), read.names)
    assert filled.numpy()[0].decode() == "Zoë Őry (comicsCharacter), optics."


def loud_slots(service):
    """Makes an untrained model say slots."""
    first, vocabulary = (
        service.writer.vocabulary.plain.vocabulary_size,
        service.writer.vocabulary.vocabulary_size,
    )
    (embedding,) = (weight for weight in service.model.weights if weight.shape[0] == vocabulary)
    random = np.random.default_rng(0).normal(0, 99, embedding.shape)
    embedding.assign(np.where(np.arange(vocabulary)[:, None] < first + 3, embedding, random))


def said_slots(service, answer):
    """The slots that each answer has: sets, by set of facts and rank."""
    slots = service.writer.vocabulary.slots_of(answer["tokens"]).numpy()
    return [[{*row.tolist()} - {-1} for row in rows] for rows in slots]


@pytest.mark.slow
def test_no_slot_without_a_name_is_said(monkeypatch):
    service, own = fact_service(Greedy()), [{0, 1, 2}, {0, 1}]
    loud_slots(service)
    facts = tf.constant(joined([fact_set(*ADA), fact_set(*CYCLE)]), tf.string)
    said = said_slots(service, in_graph(service)(facts))
    assert all(rows[0] <= names for rows, names in zip(said, own))
    monkeypatch.setattr(service.writer, "limits", lambda read, most: [])
    said = said_slots(service, in_graph(service)(facts))
    assert not all(rows[0] <= names for rows, names in zip(said, own))


@pytest.mark.slow
@pytest.mark.systems
def test_answers_that_use_most_slots_come_first():
    facts = tf.constant(joined([fact_set(*ADA), fact_set(*CYCLE)]), tf.string)
    counts, scores = [], []
    for n_best in (2, 5):
        service = fact_service(Beam(5, 0.6, n_best=n_best))
        loud_slots(service)
        answer = in_graph(service)(facts)
        counts.append([[len(said) for said in rows] for rows in said_slots(service, answer)])
        scores.append(answer[SCORE].numpy())
    np.testing.assert_allclose(scores[0], scores[1][:, :2], rtol=1e-5)
    assert counts[0] == [rows[:2] for rows in counts[1]]
    assert all(rows == sorted(rows, reverse=True) for rows in counts[1])
    assert (np.diff(scores[1]) > 0).any()  # Not by score alone.


@pytest.mark.systems
def test_names_beyond_the_slots_have_none():
    service = fact_service(Greedy(), slots=2)
    tokens, _, _, names, reasons = read(service, ADA, ADA[::-1])
    slots = service.writer.vocabulary.slots_of(tokens[..., 0]).numpy()
    assert reasons.numpy().tolist() == [b"", b""] and {*slots.ravel()} == {-1, 0, 1}
    assert names.shape == (2, 2) and len({*names[0].numpy()} & {b"Ada Low", b"Arden", b"1815"}) == 2
    np.testing.assert_array_equal(names[0], names[1])
    answer = service.answer(tf.constant(joined([fact_set(*ADA)]), tf.string))
    assert answer[ERROR].numpy().tolist() == [b""]


def test_marks_in_the_input_are_no_slots(service):
    mark = chr(0xF0000)
    facts = [["Ada" + mark, "field", mark], ["Ben", "fie" + mark, "optics"]]
    tokens, _, _, names, reasons = read(service, facts)
    assert reasons.numpy().tolist() == [b""]
    assert (service.writer.vocabulary.slots_of(tokens[0, :, 0]) >= 0).numpy().sum() == 4
    assert "Ada\N{REPLACEMENT CHARACTER}".encode() in names.numpy()[0].tolist()
