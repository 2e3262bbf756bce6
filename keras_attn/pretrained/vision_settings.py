"""config.json of transformers' vision models: what is the same in all of them."""

from keras_attn.layers.feed_forward import GELU, GELU_TANH, QUICK_GELU, RELU
from keras_attn.models.vision_transformer.vision_transformer_config import SILU
from keras_attn.pretrained.files import PREPROCESSING, SETTINGS
from keras_attn.pretrained.picture_preprocessing import pixel_normalization
from keras_attn.pretrained.tensors import VISION, refusal

ACTIVATIONS = {
    "gelu": GELU,
    "gelu_new": GELU_TANH,
    "gelu_fast": GELU_TANH,
    "gelu_pytorch_tanh": GELU_TANH,
    "quick_gelu": QUICK_GELU,
    "relu": RELU,
    "silu": SILU,
    "swish": SILU,
}
_SIZES = """image_size patch_size num_channels num_hidden_layers hidden_size intermediate_size
num_attention_heads hidden_act layer_norm_eps model_type"""
_TRAINING = """attention_dropout attention_probs_dropout_prob drop_path_rate dropout
gradient_checkpointing hidden_dropout_prob initializer_factor initializer_range layerscale_value"""
_ANY_MODEL = """_attn_implementation_autoset _name_or_path add_cross_attention architectures
auto_map bad_words_ids begin_suppress_tokens bos_token_id chunk_size_feed_forward
cross_attention_hidden_size decoder_start_token_id diversity_penalty do_sample dtype early_stopping
encoder_no_repeat_ngram_size eos_token_id exponential_decay_length_penalty finetuning_task
forced_bos_token_id forced_eos_token_id id2label is_decoder is_encoder_decoder label2id
length_penalty max_length min_length no_repeat_ngram_size num_beam_groups num_beams num_labels
num_return_sequences output_attentions output_hidden_states output_scores pad_token_id prefix
problem_type remove_invalid_values repetition_penalty return_dict return_dict_in_generate
sep_token_id suppress_tokens task_specific_params temperature tf_legacy_loss tie_encoder_decoder
tie_word_embeddings tokenizer_class top_k top_p torch_dtype torchscript transformers_version
typical_p use_bfloat16 use_cache"""
_KNOWN = frozenset(f"{_SIZES} {_TRAINING} {_ANY_MODEL}".split())
"""Settings that are read, or that change no answer of a vision model."""


def check_known(path, settings, more=(), model=VISION):
    """Raises ValueError for settings that may change what a model computes and are not known.

    Args:
        path: of the weights, for the message.
        settings: dict.
        more: names that this kind of model knows besides those of all.
        model: what it is, for the message.
    """
    unknown = sorted(
        name
        for name, value in settings.items()
        if name not in _KNOWN and name not in more and value not in (None, False, {}, [])
    )
    if unknown:
        named = ", ".join(f"{name}={settings[name]!r:.40}" for name in unknown)
        raise refusal(path, f"{named} in {SETTINGS}, which is not known here", model)


def common_sizes(path, settings, **defaults):
    """Fields of `VisionTransformerConfig` that all kinds name alike.

    Args:
        path: of the weights, for messages.
        settings: dict.
        **defaults: of transformers, for missing settings.

    Raises:
        ValueError: pictures of other channels, or an unknown activation.
    """
    settings = {**defaults, **settings}
    if settings.get("num_channels", 3) != 3:
        raise refusal(path, f"num_channels={settings['num_channels']!r} in {SETTINGS}, not 3")
    activation = settings["hidden_act"]
    if activation not in tuple(ACTIVATIONS):
        raise refusal(path, f"hidden_act={activation!r}, none of {list(ACTIVATIONS)}")
    image, patch = settings["image_size"], settings["patch_size"]
    return {
        "image_size": tuple(image) if isinstance(image, list) else (image, image),
        "patch_size": patch[0] if isinstance(patch, list) and len({*patch}) == 1 else patch,
        "num_layers": settings["num_hidden_layers"],
        "hidden_dim": settings["hidden_size"],
        "num_heads": settings["num_attention_heads"],
        "activation": ACTIVATIONS[activation],
        "epsilon": settings["layer_norm_eps"],
    }


def normalization(files, choices, processor):
    """Mean and deviation of the pixels, see `pixel_normalization`, which the choices may replace.

    Raises:
        ValueError: no preprocessor_config.json, and no choices.
    """
    names = ("pixel_mean", "pixel_deviation")
    if all(name in choices for name in names):
        return {name: choices[name] for name in names}
    if not files.preprocessing:
        raise refusal(files.path, f"no {PREPROCESSING} beside it, and no {'=, '.join(names)}=")
    return pixel_normalization(files, processor)
