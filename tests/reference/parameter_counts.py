"""Numbers of trainable parameters by the formulas of the papers, without building a model."""

from keras_attn.models.transformer.transformer_config import ALL, DECODER, LEARNED, NOTHING
from keras_attn.models.vision_transformer.vision_transformer_config import TOKEN


def transformer(config):
    """Of a `Transformer`."""
    units = config.hidden_dim
    keys, values = config.num_heads * config.key_dim, config.num_heads * config.value_dim
    attention = 2 * units * (keys + values)
    if config.use_bias:
        attention += 2 * keys + values + units
    feed_forward = 2 * units * config.intermediate_dim + config.intermediate_dim + units
    norm = 2 * units
    encoder = config.num_layers * (attention + feed_forward + 2 * norm)
    decoder = config.num_layers * (2 * attention + feed_forward + 3 * norm)
    stacks = encoder + decoder + (2 * norm if config.normalize_first else 0)
    if config.positions == LEARNED:
        stacks += 2 * config.max_sequence_length * units
    tables = {
        ALL: config.target_size,
        DECODER: config.vocabulary_size + config.target_size,
        NOTHING: config.vocabulary_size + 2 * config.target_size,
    }
    return stacks + tables[config.tied] * units


def vision_transformer(config):
    """Of a `VisionTransformer`, and of its head where the config has classes."""
    units, hidden = config.hidden_dim, config.intermediate_dim
    height, width = config.grid
    patches = (config.patch_size**2 * 3 + 1) * units
    positions = (height * width + 2 * (config.pooling == TOKEN)) * units
    attention = 4 * units * units + 4 * units
    feed_forward = 2 * units * hidden + hidden + units
    blocks = config.num_layers * (attention + feed_forward + 4 * units)
    representation = (units + 1) * (config.representation_dim or 0)
    head = (config.pooled_dim + 1) * (config.num_classes or 0)
    return patches + positions + blocks + 2 * units + representation + head


def conv_seq2seq(config):
    """Of a `ConvSeq2Seq`."""
    units = config.embedding_dim
    encoder, decoder = config.encoder_layers, config.decoder_layers
    total = _stack(units, encoder, units) + _stack(units, decoder, config.output_dim)
    total += sum(_dense(size, units) + _dense(units, size) for size, _ in decoder)
    if config.positions == LEARNED:
        total += 2 * config.max_sequence_length * units
    total += config.target_size * units
    total += 0 if config.tied == ALL else config.vocabulary_size * units
    if config.tied == NOTHING:
        return total + _dense(config.output_dim, config.target_size)
    return total + config.target_size


def _dense(inputs, outputs):
    """Of a `WeightNormalizedDense`: directions, gains and biases."""
    return inputs * outputs + 2 * outputs


def _stack(units, layers, outputs):
    """Of convolutions between two projections, residual projections included."""
    before = layers[0][0]
    total = _dense(units, before)
    for channels, width in layers:
        total += 0 if channels == before else _dense(before, channels)
        total += _dense(width * before, 2 * channels)
        before = channels
    return total + _dense(before, outputs)
