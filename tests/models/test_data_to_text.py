"""The data-to-text model: no order of facts, steps, copies, links."""

import numpy as np
import pytest
import tensorflow as tf
from keras import ops, tree

from keras_attn.contracts import LOGITS, PAD_ID, SOURCE, TOKENS, WEIGHTS
from keras_attn.decoding import Beam, Greedy
from keras_attn.layers import CopyMixture, HybridAttention, MultiplicativeAttention
from keras_attn.models import DataToText, PlanningDecoder, TransformerConfig
from tests.models.tiny_data_to_text import FIELDS, LENGTH, SIZES, batch, data_to_text, permuted

CHOICES = [{}, {"longest_run": 0}, {"copies": False, "normalize_first": True, "use_bias": True}]
every = pytest.mark.parametrize("choices", CHOICES)


def check(actual, expected, tolerance=2e-5):
    actual, expected = (ops.convert_to_numpy(array) for array in (actual, expected))
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.systems
def test_the_order_of_the_facts_does_not_matter():
    model, inputs = data_to_text(), batch()
    outputs = model(inputs)
    for order in ((3, 1, 2), (2, 3, 1)):
        moved = permuted(inputs[SOURCE], order)
        check(model({**inputs, SOURCE: moved})[LOGITS], outputs[LOGITS], 1e-4)
    tokens = model.generate(inputs[SOURCE], Beam(3), 7).tokens
    check(model.generate(moved, Beam(3), 7).tokens, tokens)


def test_more_padding_changes_nothing():
    model, inputs = data_to_text(), batch()
    longer = np.pad(inputs[SOURCE], [(0, 0), (0, 3), (0, 0)])
    outputs, padded = model(inputs), model({**inputs, SOURCE: longer})
    check(padded[LOGITS], outputs[LOGITS])
    check(padded[WEIGHTS][:, :, :11], outputs[WEIGHTS])
    assert not np.any(padded[WEIGHTS][:, :, 11:]) and not np.any(outputs[WEIGHTS][1, :, 7:])
    check(ops.sum(outputs[WEIGHTS], axis=-1), np.ones((3, LENGTH)))


@pytest.mark.systems
def test_other_facts_and_names_change_the_answer():
    model, inputs = data_to_text(), batch()
    logits = model(inputs)[LOGITS]
    for column in range(7):
        other = inputs[SOURCE].copy()
        other[0, :4, column] = other[0, :4, column] % 3 + 1
        changed = np.abs(model({**inputs, SOURCE: other})[LOGITS] - logits).max(axis=(1, 2))
        assert changed[0] > 1e-4 and not changed[1:].any(), column


@every
def test_steps_equal_the_whole_sequence(choices):
    model, inputs = data_to_text(**choices), batch()
    outputs = model(inputs)
    memory, state = model.start(inputs, 7)
    for time in range(LENGTH):
        result = model.step(inputs[TOKENS][:, time], memory, state)
        state = result.state
        assert all(leaf.shape[0] == 3 for leaf in tree.flatten(state))
        check(result.logits, outputs[LOGITS][:, time])
        check(result.weights, outputs[WEIGHTS][:, time])


@every
def test_a_prefix_in_one_pass_equals_its_steps(choices):
    model, inputs = data_to_text(**choices), batch()
    prefix, lengths = inputs[TOKENS].copy(), (4, 1, 5)
    for row, length in enumerate(lengths):
        prefix[row, length:] = PAD_ID
    memory, begin = model.start(inputs[SOURCE], 7)
    result = model.prefill(prefix, memory, begin)
    following = model.step(prefix[:, 0], memory, result.state)
    for row, length in enumerate(lengths):
        joined = np.concatenate([prefix[row, :length], prefix[row, :1]])[None]
        whole = model({SOURCE: inputs[SOURCE][row : row + 1], TOKENS: joined})
        check(result.logits[row], whole[LOGITS][0, -2])
        check(result.weights[row], whole[WEIGHTS][0, -2])
        check(following.logits[row], whole[LOGITS][0, -1])


@pytest.mark.systems
def test_reordered_hypotheses_go_on_from_their_parents():
    model, inputs, width = data_to_text(), batch(), 3
    random = np.random.default_rng(3)
    memory, state = model.start(inputs[SOURCE], 8)
    state = model.widen(model.prefill(inputs[TOKENS][:, :2], memory, state).state, width)
    said = np.repeat(inputs[TOKENS][:, :2], width, axis=0)
    source = np.repeat(inputs[SOURCE], width, axis=0)
    for _ in range(4):
        tokens = random.integers(1, 13, 3 * width).astype("int32")
        said = np.concatenate([said, tokens[:, None]], axis=1)
        result = model.step(tokens, memory, state)
        check(result.logits, model({SOURCE: source, TOKENS: said})[LOGITS][:, -1], 1e-4)
        parents = random.integers(0, width, (3, width)).astype("int32")
        state = model.reorder(result.state, parents)
        said = said[(np.arange(3)[:, None] * width + parents).reshape(-1)]


@pytest.mark.systems
def test_a_beam_of_one_is_greedy():
    model, inputs = data_to_text(), batch()
    greedy, beam = (model.generate(inputs, strategy, 7) for strategy in (Greedy(), Beam(1)))
    for part, expected in zip(beam[:2], greedy[:2]):
        np.testing.assert_array_equal(part, expected)


def test_several_texts_of_a_set_are_read_at_once():
    model, inputs = data_to_text(), batch()
    keys, mask = model.encode(inputs[SOURCE])
    tokens = np.repeat(inputs[TOKENS], 2, axis=0)
    logits = model.decoder(tokens, keys, inputs[SOURCE], value_mask=mask)
    check(logits[::2], model(inputs)[LOGITS])


def test_a_token_that_is_never_generated_can_be_copied():
    model, inputs = data_to_text(), batch()
    model.decoder.embedding.table[12].assign([30.0, 0, 0, 0, 0, 0])
    inputs[SOURCE][0, 2, 0] = 12
    keys, mask = model.encode(inputs[SOURCE])
    hidden = ops.zeros((3, 1, 6)) + ops.array([-1.0, 0, 0, 0, 0, 0])
    logits = model.decoder.decoder.logits_of(hidden, model.decoder.decoder.output_kernel())
    copying = model.decoder.copying
    memory = copying.start(keys, inputs[SOURCE][..., 0], mask)
    runs = np.zeros((3, 1, 11), "int32")
    mixed = copying.mix(hidden, logits, memory, runs)[0]
    generated, copied = (ops.convert_to_numpy(rows)[:, 0, 12] for rows in (logits, mixed))
    assert generated[0] < -25 and copied[0] > -10


def test_a_name_that_is_being_copied_goes_on():
    """The model itself knows nothing of the name: runs alone say which piece follows."""
    model, inputs = data_to_text(), batch()
    name = [7, 9, 9, 5]
    inputs[SOURCE][0, 4:8] = [[piece, 2, 1, 4, 1, at, 3 - at] for at, piece in enumerate(name)]
    copying = model.decoder.copying
    copying.run_scores.assign([0.0, 40.0, 80.0, 120.0])
    copying.run_switch.assign([0.0, 40.0, 40.0, 40.0])
    for said, following in (([7], 9), ([7, 9], 9), ([7, 9, 9], 5)):
        tokens = np.array([[3, *said]] * 3, "int32")
        logits = ops.convert_to_numpy(model({**inputs, TOKENS: tokens})[LOGITS])
        assert np.exp(logits[0, -1, following]) > 0.99


def test_followers_are_what_the_link_matrix_says():
    model = data_to_text()
    table = ops.convert_to_numpy(model.decoder.attention.links)
    fields, mask = np.array([[3, 1, 0]]), np.array([[True, True, False]])
    rows = ops.convert_to_numpy(model.followers(fields, mask))[0]
    for row, place in zip(rows, (FIELDS, 3, 1)):
        odds = np.exp(table[place, [3, 1]])
        check(row, [*(odds / odds.sum()), 0.0])


@pytest.mark.systems
def test_a_graph_of_free_sizes_has_no_op_of_xla():
    model, inputs = data_to_text(num_layers=1), batch()
    spec = {SOURCE: tf.TensorSpec((None, None, 7), "int32")}

    @tf.function(input_signature=[spec])
    def answer(context):
        return model.generate(context, Beam(3), 7).tokens

    kinds = {node.type for node in answer.get_concrete_function().graph.get_operations()}
    assert not any(kind.startswith("Xla") for kind in kinds)
    check(answer({SOURCE: inputs[SOURCE]}), model.generate(inputs, Beam(3), 7).tokens)


def test_wrong_parts_and_shapes_are_refused():
    attention = HybridAttention(MultiplicativeAttention(), 5, 3)
    config = TransformerConfig(13, **SIZES)
    with pytest.raises(ValueError, match=r"Expected a HybridAttention\. Received: attention=None"):
        PlanningDecoder(config)
    with pytest.raises(
        ValueError, match=r"Expected a CopyMixture or None\. Received: copying=True"
    ):
        PlanningDecoder(config, attention, True)
    with pytest.raises(ValueError, match="Expected one vocabulary for facts and texts"):
        DataToText(TransformerConfig(13, **SIZES, tied="decoder"), attention)
    with pytest.raises(ValueError, match=r"Expected source of shape \(B, S, 7\)"):
        data_to_text().generate(batch()[SOURCE][..., 0], Greedy())
    with pytest.raises(ValueError, match=r"Expected 0 <= least <= most <= 1\. Received: least=0.7"):
        HybridAttention(MultiplicativeAttention(), 5, 3, 0.7, 0.5)
    with pytest.raises(ValueError, match="Expected num_fields >= 1"):
        HybridAttention(MultiplicativeAttention(), 0, 3)
    with pytest.raises(ValueError, match="attention"):
        CopyMixture(None)


def test_runs_belong_to_layers_that_count_them():
    with pytest.raises(ValueError, match=r"Expected longest_run >= 0\. Received: longest_run=-1"):
        CopyMixture(MultiplicativeAttention(), longest_run=-1)
    arrays = ops.ones((2, 3, 5)), ops.ones((2, 11, 7)), ops.ones((2, 3, 13))
    tokens, runs = ops.ones((2, 11), "int32"), ops.zeros((2, 3, 11), "int32")
    with pytest.raises(ValueError, match=r"Expected runs with .*longest_run=3 and no runs"):
        CopyMixture(MultiplicativeAttention(), longest_run=3)(*arrays, tokens)
    with pytest.raises(ValueError, match=r"Expected runs with .*longest_run=0 and runs"):
        CopyMixture(MultiplicativeAttention())(*arrays, tokens, runs)
