"""Every model, trained for a step, saved and loaded, on any backend.

Run as `python -m tests.conformance.models FOLDER NAME`, under any Keras backend: of each model that
`write` left in FOLDER it writes FOLDER/NAME/<model>.npz, its weights after a step.
"""

import sys
from dataclasses import replace
from pathlib import Path

import keras
import numpy as np

from keras_attn.contracts import END_ID, IMAGE, LOGITS, QUESTION, SOURCE, STORY, TAG_LOGITS, TOKENS
from keras_attn.layers import (
    AdditiveAttention,
    Affine,
    AttentionPooling,
    CopyMixture,
    DNCCell,
    HybridAttention,
    LocalPredictiveAttention,
    LocationSampler,
    MemoryNetwork,
    MemoryRNN,
    MultiplicativeAttention,
    SampledAttention,
    SentenceEncoder,
    SpatialTransformer,
)
from keras_attn.models import (
    CaptionDecoder,
    Captioner,
    ConvSeq2Seq,
    DataToText,
    DualEncoder,
    Ensemble,
    ImageClassifier,
    Parser,
    ProgressiveLanguageModel,
    QuestionAnswerer,
    RecurrentConfig,
    RecurrentEncoder,
    RecurrentSeq2Seq,
    SmallConvEncoder,
    SoftAttention,
    SpatialTransformerClassifier,
    StoryReader,
    TextClassifier,
    TextEncoder,
    Transformer,
    TransformerCaptionDecoder,
    TransformerConfig,
    VisionTransformer,
    VisionTransformerConfig,
)
from keras_attn.training import (
    ClippedAdam,
    ContrastiveLoss,
    LinearShare,
    ScheduledSampling,
    TokenCrossEntropy,
)
from keras_attn.training.model_file import read_model_file

SIZES = TransformerConfig(13, None, 1, 6, 7, 2, 3, 5, dropout=0.0)
RECURRENT = RecurrentConfig(13, embedding_dim=5, hidden_dim=7, dropout=0.0, tied="all")
MODERN = replace(
    SIZES,
    num_heads=6,
    num_key_value_heads=2,
    key_dim=4,
    normalize_first=True,
    normalization="rms",
    gated=True,
    activation="silu",
    positions="rotary",
    sliding_window=2,
)
VISION = VisionTransformerConfig((6, 10), 2, 1, 6, 7, 2)


def recurrent_captioner():
    """A captioner with the recurrent decoder."""
    sizes = {"vocabulary_size": 13, "embedding_dim": 3, "hidden_dim": 7, "dropout": 0.0}
    decoder = CaptionDecoder(attention=SoftAttention(5), **sizes)
    return Captioner(SmallConvEncoder((3,), (3,)), decoder, (6, 10))


def vision_captioner():
    """A captioner that is only Transformers."""
    decoder = TransformerCaptionDecoder(replace(SIZES, tied="decoder"))
    return Captioner(VisionTransformer(VISION), decoder, (6, 10))


def dual_encoder():
    """Pictures and texts by Transformers."""
    text = TextEncoder(replace(SIZES, positions="learned", max_sequence_length=7))
    return DualEncoder(VisionTransformer(VISION), text, (6, 10), 3)


def parser():
    """A parser whose sources have words of three pieces."""
    return Parser(replace(SIZES, target_vocabulary_size=11, tied="decoder"), 5, counted_token=4)


def data_to_text():
    """A model from facts to text that plans and copies."""
    attention = HybridAttention(MultiplicativeAttention(), 5, 3, 0.2, 0.9)
    return DataToText(SIZES, attention, CopyMixture(MultiplicativeAttention()))


def classifier_behind_transformers():
    """A classifier behind one spatial transformer."""
    localization = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(5, "tanh")])
    options = {"kernel_initializer": "he_normal", "return_grid": True}
    first = SpatialTransformer(localization, Affine(), (3, 5), **options)
    return SpatialTransformerClassifier([first], keras.layers.Conv2D(2, 3), 7)


def text_classifier():
    """A classifier of texts: recurrent, with attention pooling."""
    encoder = RecurrentEncoder(replace(RECURRENT, tied="none"))
    pooling = AttentionPooling(AdditiveAttention(3))
    return TextClassifier(13, 7, encoder, pooling, embedding_dim=5, dropout=0.0)


MODELS = {
    "transformer": lambda: Transformer(SIZES),
    "modern_transformer": lambda: Transformer(MODERN),
    "untied_transformer": lambda: Transformer(replace(SIZES, tied="none", normalize_first=True)),
    "recurrent": lambda: RecurrentSeq2Seq(RECURRENT, MultiplicativeAttention()),
    "local_attention": lambda: RecurrentSeq2Seq(
        replace(RECURRENT, attend_first=True, cell="gru", num_decoder_layers=2),
        LocalPredictiveAttention(MultiplicativeAttention(), 2, 3),
    ),
    "hard_attention": lambda: RecurrentSeq2Seq(
        RECURRENT, SampledAttention(AdditiveAttention(3), LocationSampler(1.0))
    ),
    "conv_seq2seq": lambda: ConvSeq2Seq(
        vocabulary_size=13,
        encoder_layers=[(7, 3), (5, 3)],
        decoder_layers=[(7, 2), (5, 3)],
        embedding_dim=6,
        output_dim=3,
        dropout=0.0,
    ),
    "ensemble": lambda: Ensemble(
        [RecurrentSeq2Seq(RECURRENT, MultiplicativeAttention()), Transformer(SIZES)]
    ),
    "dual_encoder": dual_encoder,
    "parser": parser,
    "data_to_text": data_to_text,
    "captioner": recurrent_captioner,
    "vision_captioner": vision_captioner,
    "vision_classifier": lambda: ImageClassifier(VisionTransformer(VISION), 7, "he_normal"),
    "spatial_transformer_classifier": classifier_behind_transformers,
    "text_classifier": text_classifier,
    "question_answerer": lambda: QuestionAnswerer(
        MemoryNetwork(13, 5, 2, memory_noise=0.0, linear_start=True)
    ),
    "story_reader": lambda: StoryReader(
        SentenceEncoder(13, 5),
        MemoryRNN(DNCCell(keras.layers.LSTMCell(7), 7, 11, 3, 2)),
        4,
        match_question=True,
        planning_steps=2,
    ),
    "language_model": lambda: ProgressiveLanguageModel(13, (3, 2), 5, 7, 3, dropout=0.0),
    "scheduled_sampling": lambda: ScheduledSampling(Transformer(SIZES), LinearShare(0.5), seed=7),
}


PICTURE_CLASSIFIERS = ("vision_classifier", "spatial_transformer_classifier")


def input_shape(name):
    """Shape that a model of this name is built for; None where it has several inputs."""
    if name == "text_classifier":
        return (None, None)
    return (None, 6, 10, 3) if name in PICTURE_CLASSIFIERS else None


def batch(model):
    """Inputs and targets; rows of uneven length."""
    random = np.random.default_rng(5)
    signature = model.input_signature()
    if isinstance(signature, dict) and STORY in signature:
        story, question = (random.integers(1, 13, shape) for shape in ((4, 5, 3), (4, 3)))
        story[2, 4:] = 0
        inputs = {STORY: story.astype("int32"), QUESTION: question.astype("int32")}
        return inputs, random.integers(4, 13, 4).astype("int32")
    if not isinstance(signature, dict) and signature.dtype == "int32":
        tokens = random.integers(4, 13, (4, 7)).astype("int32")
        tokens[2, 4:] = 0
        if isinstance(model, ProgressiveLanguageModel):
            return tokens, np.roll(tokens, -1, axis=1)
        return tokens, random.integers(0, 7, 4).astype("int32")
    if not isinstance(signature, dict):
        images = random.integers(0, 256, (4, *signature.shape[1:])).astype("uint8")
        return images, random.integers(0, 7, 4).astype("int32")
    rank = len(signature[TOKENS].shape)
    tokens = random.integers(4, 11, (4, 5) if rank == 2 else (4, 3, 5)).astype("int32")
    tokens[1, ..., 3:] = 0
    targets = np.pad(tokens[..., 1:], [(0, 0)] * (rank - 1) + [(0, 1)])
    inputs = {TOKENS: tokens}
    if IMAGE in signature:
        inputs[IMAGE] = random.integers(0, 256, (4, 6, 10, 3)).astype("uint8")
        if isinstance(model, DualEncoder):
            tokens[:, 2] = END_ID
            return inputs, np.array([2, 3, 5, 2])
    else:
        words, facts = isinstance(model, Parser), isinstance(model, DataToText)
        shape = (4, 7, 3) if words else (4, 7, 7) if facts else (4, 7)
        inputs[SOURCE] = random.integers(1 if facts else 4, 4 if facts else 13, shape)
        inputs[SOURCE] = inputs[SOURCE].astype("int32")
        inputs[SOURCE][2, 4:] = 0
        if words:
            return inputs, {LOGITS: targets, TAG_LOGITS: random.integers(1, 5, (4, 7))}
    return inputs, targets


def write(folder):
    """Every model, compiled and not yet trained, as a .keras file."""
    for name, make in MODELS.items():
        keras.utils.set_random_seed(3)
        model = make()
        model.build(input_shape(name))
        loss = TokenCrossEntropy(0.1)
        loss = {LOGITS: loss, TAG_LOGITS: TokenCrossEntropy()} if name == "parser" else loss
        loss = ContrastiveLoss() if name == "dual_encoder" else loss
        model.compile(ClippedAdam(10.0, clip_norm=0.1, epsilon=1.0), loss)
        model.optimizer.build(model.trainable_variables)
        model.save(folder / f"{name}.keras")


def numpy(model, inputs):
    """Outputs as arrays."""
    flat = keras.tree.flatten(model(inputs, training=False))
    return [keras.ops.convert_to_numpy(array) for array in flat]


def main(folder, name):
    folder = Path(folder)
    (folder / name).mkdir()
    for path in sorted(folder.glob("*.keras")):
        model = keras.saving.load_model(path)
        model.jit_compile = name == "jax"
        model.run_eagerly = name == "tensorflow"  # A graph takes seconds for each model.
        inputs, targets = batch(model)
        before = [weight.copy() for weight in model.get_weights()]
        history = model.fit(inputs, targets, batch_size=4, shuffle=False, verbose=0).history
        assert np.isfinite(history["loss"]).all() and history["loss"][0] > 0, path.stem
        moved = [np.abs(a - b).max() for a, b in zip(before, model.get_weights())]
        assert max(moved) > 1e-3, f"{path.stem} learned nothing"
        again = folder / name / f"{path.stem}.keras"
        model.save(again)
        loaded = keras.saving.load_model(again)
        pairs = zip(loaded.get_weights(), model.get_weights(), strict=True)
        assert all(np.array_equal(weight, original) for weight, original in pairs), path.stem
        assert int(loaded.optimizer.iterations) == 1 and loaded.get_config() == model.get_config()
        assert len(read_model_file(again).weights) == len(model.weights), path.stem
        np.savez(folder / name / f"{path.stem}.npz", *model.get_weights())


if __name__ == "__main__":
    main(*sys.argv[1:])
