"""Small tasks of keras-hub with random weights and tokenizers trained for the test."""

import io

import keras
import keras_hub
import numpy as np
import sentencepiece

from keras_attn.decoding import Beam, Greedy, HubSampler, hub_attention

TEXTS = ["the quick fox ran", "the quick old fox", "a fox sat on the mat", "quick quick fox", "ox"]
LENGTH = 17


def byte_pairs(start, end, pad):
    """A vocabulary and merges of GPT-2's kind, with special pieces of the given names."""
    merges = ["Ġ q", "u i", "c k", "ui ck", "Ġq uick", "Ġ f", "o x", "Ġf ox", "t h", "th e", "Ġ a"]
    pieces = [*dict.fromkeys([pad, start, end]), *"abcdefghijklmnopqrstuvwxyzĠ"]
    pieces += ["".join(merge.split()) for merge in merges]
    return {"vocabulary": {piece: id for id, piece in enumerate(pieces)}, "merges": merges}


def sentence_pieces(size, **settings):
    """A SentencePiece model."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS * 9),
        model_writer=model,
        vocab_size=size,
        hard_vocab_limit=False,
        minloglevel=2,
        **settings,
    )
    return model.getvalue()


def gemma_pieces():
    ids = {"pad_id": 0, "eos_id": 1, "bos_id": 2, "unk_id": 3}
    names = {"pad_piece": "<pad>", "eos_piece": "<eos>", "bos_piece": "<bos>"}
    more = ["<image>", "<start_of_turn>", "<end_of_turn>"]
    return sentence_pieces(37, **ids, **names, user_defined_symbols=more)


def gpt2():
    tokenizer = keras_hub.models.GPT2Tokenizer(**byte_pairs("<|endoftext|>", "<|endoftext|>", "!"))
    sizes = {"num_layers": 2, "num_heads": 2, "hidden_dim": 14, "intermediate_dim": 11}
    sizes["max_sequence_length"] = 19
    return _task("GPT2", "CausalLM", tokenizer, sizes)


def llama():
    """Rotary positions, two heads for a key and a value."""
    tokenizer = keras_hub.models.LlamaTokenizer(proto=sentence_pieces(31))
    sizes = {"num_layers": 2, "num_query_heads": 4, "num_key_value_heads": 2}
    sizes |= {"hidden_dim": 24, "intermediate_dim": 11}
    return _task("Llama", "CausalLM", tokenizer, sizes)


def gemma():
    tokenizer = keras_hub.models.GemmaTokenizer(proto=gemma_pieces())
    sizes = {"num_layers": 2, "num_query_heads": 4, "num_key_value_heads": 1}
    sizes |= {"hidden_dim": 22, "intermediate_dim": 14, "head_dim": 6}
    return _task("Gemma", "CausalLM", tokenizer, sizes)


def bart():
    pieces = byte_pairs("<s>", "</s>", "<pad>")
    tokenizer = keras_hub.models.BartTokenizer(**pieces)
    sizes = {"num_layers": 2, "num_heads": 2, "hidden_dim": 14, "intermediate_dim": 11}
    sizes["max_sequence_length"] = 29
    lengths = {"encoder_sequence_length": 23, "decoder_sequence_length": LENGTH}
    return _task("Bart", "Seq2SeqLM", tokenizer, sizes, 2.0, **lengths)


def t5():
    ids = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}
    proto = sentence_pieces(31, **ids, pad_piece="<pad>", eos_piece="</s>")
    tokenizer = keras_hub.models.T5Tokenizer(proto=proto)
    sizes = {"num_layers": 2, "num_heads": 2, "hidden_dim": 14, "intermediate_dim": 11}
    lengths = {"encoder_sequence_length": 23, "decoder_sequence_length": LENGTH}
    return _task("T5", "Seq2SeqLM", tokenizer, sizes, **lengths)


def pali_gemma():
    tokenizer = keras_hub.models.PaliGemmaTokenizer(proto=gemma_pieces())
    sizes = {"num_layers": 2, "num_query_heads": 4, "num_key_value_heads": 1}
    sizes |= {"hidden_dim": 22, "intermediate_dim": 14, "head_dim": 6, "image_size": 16}
    sizes |= {"vit_patch_size": 4, "vit_num_heads": 2, "vit_hidden_dim": 10, "vit_num_layers": 1}
    sizes["vit_intermediate_dim"] = 13
    converter = keras_hub.layers.PaliGemmaImageConverter(image_size=(16, 16), scale=1 / 255)
    return _task("PaliGemma", "CausalLM", tokenizer, sizes, image_converter=converter)


TASKS = {"gpt2": gpt2, "llama": llama, "gemma": gemma, "bart": bart, "t5": t5}
TASKS["pali_gemma"] = pali_gemma


def _task(name, kind, tokenizer, sizes, deviation=0.6, **settings):
    models = keras_hub.models
    size = tokenizer.vocabulary_size()
    backbone = getattr(models, f"{name}Backbone")(vocabulary_size=size, **sizes)
    if kind == "CausalLM":
        settings["sequence_length"] = LENGTH
    preprocessor = getattr(models, f"{name}{kind}Preprocessor")(tokenizer=tokenizer, **settings)
    task = getattr(models, f"{name}{kind}")(backbone=backbone, preprocessor=preprocessor)
    for place, weight in enumerate(task.weights):
        if len(weight.shape) > 1:
            weight.assign(keras.random.normal(weight.shape, stddev=deviation, seed=place))
    return task


def generated(task, sampler, texts, **inputs):
    """What keras-hub's `generate` answers with a sampler."""
    task.compile(sampler=sampler)
    given = {"prompts": texts, **inputs} if inputs else texts
    return [str(text) for text in task.generate(given, max_length=LENGTH)]


def check_greedy():
    """Greedy answers are keras-hub's, under whatever backend this process has."""
    prompts = ["the quick", "the quick fox ate", "fox"]
    for make in (gpt2, bart):
        task = make()
        expected = generated(task, "greedy", prompts)
        assert generated(task, HubSampler(Greedy()), prompts) == expected
        assert len(generated(task, HubSampler(Beam(3)), prompts)) == len(prompts)
        check_attention(task, prompts)


def check_attention(task, prompts):
    """Rows of weights sum to 1, and nothing is left behind in the task."""
    inputs = task.preprocessor.generate_preprocess(prompts, sequence_length=LENGTH)
    first, again = hub_attention(task, inputs), hub_attention(task, inputs)
    for weights, same in zip(first, again):
        if weights is not None:
            weights = keras.ops.convert_to_numpy(weights)
            np.testing.assert_allclose(weights.sum(axis=-1), 1, rtol=1e-5)
            np.testing.assert_array_equal(weights, keras.ops.convert_to_numpy(same))


if __name__ == "__main__":
    check_greedy()
