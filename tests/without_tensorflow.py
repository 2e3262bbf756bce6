"""What works without TensorFlow: everything but its data sets, graphs and exported models.

Run as `python -m tests.missing tensorflow,tensorflow_text tests.without_tensorflow FOLDER`, under a
backend that is not TensorFlow.
"""

import importlib
import sys
from pathlib import Path

import keras
import numpy as np
from keras import ops

import keras_attn
from keras_attn.contracts import END_ID, IMAGE, SOURCE, START_ID, TOKENS
from keras_attn.decoding import Greedy
from keras_attn.evaluation import caption_metrics
from keras_attn.models import SmallConvEncoder, SoftAttention, Transformer, TransformerConfig
from keras_attn.serving.export import model_card
from keras_attn.text import LabelTable, SymbolTable, Tokenizer
from keras_attn.training import (
    AverageModel,
    BestModel,
    Checkpoint,
    EpochLog,
    FiniteLoss,
    GenerationMetrics,
    TokenCrossEntropy,
    jit_compile_for,
    paper_adam,
    precision_policy,
    strategy_for,
    strategy_named,
)

PACKAGES = ("alignment", "contracts", "decoding", "evaluation", "layers", "models", "ops")
PACKAGES += ("images", "pretrained", "text", "training", "viz")
PAIRS = [("ein roter Kreis", "a red circle"), ("ein Quadrat", "a square"), ("ein Hund", "a dog")]


def check_imports():
    """Every public name is there, but for the strategies of TensorFlow."""
    for package in PACKAGES:
        module = importlib.import_module(f"keras_attn.{package}")
        for name in getattr(module, "__all__", ()):
            if name != "MultiWorkerStrategy":
                getattr(module, name)


def check_missing():
    """What needs TensorFlow says what to install."""
    needs = {
        "tensorflow": [
            lambda: keras_attn.training.MultiWorkerStrategy,
            lambda: keras_attn.training.append_end([[5]]),
            lambda: keras_attn.images.PictureFormat(6, 10).decode(b""),
            lambda: model_card("A model", {}),
            lambda: Tokenizer.learn(["a dog"], 300).decode([[5]]),
        ],
        "text": [lambda: keras_attn.load("flickr8k_captioner")],
    }
    for extra, calls in needs.items():
        for call in calls:
            try:
                call()
            except ImportError as error:
                assert f"keras-attn[{extra}]" in str(error), error
            else:
                raise AssertionError(f"{call} needed no TensorFlow")


def check_text(folder):
    """Strings to text: a tokenizer, a model that is fitted, and the model that was kept."""
    texts = [text for pair in PAIRS for text in pair]
    tokenizer = Tokenizer.learn(texts, 300)
    tokenizer.save(folder / "tokenizer")
    assert Tokenizer.load(folder / "tokenizer").decode_all(tokenizer.encode_all(texts)) == texts
    sources, targets = (padded(tokenizer.encode_all(column)) for column in zip(*PAIRS))
    inputs = {SOURCE: sources, TOKENS: np.pad(targets, [(0, 0), (1, 0)], constant_values=START_ID)}
    inputs[TOKENS] = inputs[TOKENS][:, :-1]
    model = Transformer(TransformerConfig(tokenizer.vocabulary_size, None, 1, 12, 17, 2, dropout=0))
    model.compile(paper_adam(12, 40), TokenCrossEntropy())
    metrics = GenerationMetrics(
        model, [sources], tokenizer, list(zip(*PAIRS))[1], 9, metrics=share_of_equal
    )
    callbacks = [
        metrics,
        FiniteLoss(),
        EpochLog(folder / "history.csv"),
        BestModel(folder / "best.keras", "val_equal"),
        AverageModel(folder / "mean.keras", 2),
        Checkpoint(folder / "checkpoint.npz"),
    ]
    weights = (targets != 0).astype("float32")
    options = {"sample_weight": weights, "batch_size": 3, "verbose": 0}
    history = model.fit(inputs, targets, epochs=2, callbacks=callbacks, **options).history
    assert history["loss"][1] < history["loss"][0] and set(history) == {"loss", "val_equal"}
    kept = keras.saving.load_model(folder / "best.keras")
    kept.compile(keras.optimizers.Adam(0.01), TokenCrossEntropy())
    kept.fit(inputs, targets, epochs=200, **options)
    answer = kept.generate({SOURCE: sources}, Greedy(), 9)
    said = tokenizer.decode_all(ops.convert_to_numpy(answer.tokens[:, 0]))
    assert share_of_equal(said, list(zip(*PAIRS))[1])["equal"] > 0.6, said


def share_of_equal(texts, references):
    """How many texts are their references."""
    return {"equal": float(np.mean([a == b for a, b in zip(texts, references, strict=True)]))}


def padded(rows):
    """Lists of ids, each with END_ID, as int32 (B, T)."""
    length = 1 + max(map(len, rows))
    return np.array([[*row, END_ID, *[0] * (length - 1 - len(row))] for row in rows], "int32")


def check_tables(folder):
    """Symbols and labels."""
    table = SymbolTable(["(NP", ")NP", "XX"])
    assert table.encode_all(["(NP  XX\t)NP", "YY"]) == [[4, 6, 5], [1]]
    assert table.decode_all([[4, 6, 0, 5, END_ID, 4]]) == ["(NP XX )NP"]
    labels = LabelTable(["cat", "dog"])
    labels.save(folder)
    assert LabelTable.load(folder).id_of("dog") == 1


def check_pictures():
    """A captioner's grid of weights is drawn over an array."""
    from keras_attn.models import CaptionDecoder, Captioner
    from keras_attn.viz import panels_figure

    sizes = {"vocabulary_size": 13, "embedding_dim": 3, "hidden_dim": 7, "dropout": 0.0}
    decoder = CaptionDecoder(attention=SoftAttention(5), **sizes)
    model = Captioner(SmallConvEncoder((3,), (3,)), decoder, (12, 20))
    model.build()
    picture = np.full((1, 12, 20, 3), 99, "uint8")
    answer = model.generate({IMAGE: picture}, Greedy(), 3)
    weights = ops.convert_to_numpy(answer.weights)[0, 0]
    grid = weights.reshape(len(weights), 4, 7)
    figure = panels_figure(picture[0], grid[None], ["attention"], ["a", "b", "c"][: len(grid)])
    assert len(figure.axes) >= len(grid)


def check_devices():
    """One device, on which a model may be built, and its precision."""
    backend = keras.backend.backend()
    assert strategy_for("auto") == "one"
    with strategy_named("one").scope():
        assert precision_policy("auto") == "float32"
    assert jit_compile_for() == (backend == "jax")
    try:
        strategy_named("multiworker")
    except ValueError as error:
        assert "Expected strategy 'one'" in str(error)
    else:
        raise AssertionError("workers without TensorFlow")


def check_scores():
    """Metrics of captions."""
    assert caption_metrics(["a red dog"], [["a red dog"]], meteor=False)["bleu_4"] >= 0


def main(folder):
    folder = Path(folder)
    keras.utils.set_random_seed(7)
    check_imports()
    check_missing()
    check_text(folder)
    check_tables(folder)
    check_pictures()
    check_devices()
    check_scores()


if __name__ == "__main__":
    main(sys.argv[1])
