"""transformers' Marian on torch in `transformer_speed`, with keras-attn's weights."""

import numpy as np
import torch
from transformers import MarianConfig, MarianMTModel

from benchmarks.torch_training import trainer
from benchmarks.translation_task import SPECIAL, TRAIN, Task, decoding_works, sinusoids
from benchmarks.worker import serve

PAD, START, END = 0, 2, 3
KERNELS = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"}


def marian(task, path):
    """The model; one word more than the task has, which is never said, as Marian's padding is."""
    config = MarianConfig(
        vocab_size=task.vocabulary + 1,
        d_model=task.units,
        encoder_layers=task.layers,
        decoder_layers=task.layers,
        encoder_attention_heads=task.heads,
        decoder_attention_heads=task.heads,
        encoder_ffn_dim=task.hidden,
        decoder_ffn_dim=task.hidden,
        max_position_embeddings=max(128, task.target + 1),
        activation_function=task.activation,
        scale_embedding=True,
        dropout=0.1,
        pad_token_id=PAD,
        eos_token_id=END,
        decoder_start_token_id=START,
        forced_eos_token_id=None,
    )
    model = MarianMTModel(config).eval()
    with np.load(path) as arrays, torch.no_grad():
        _load(model, {name: torch.from_numpy(arrays[name]) for name in arrays.files})
    return model


def _load(model, arrays):
    for name, parameter in model.named_parameters():
        if name.endswith("_proj.bias"):
            parameter.zero_()
    table = arrays["decoder/embedding/table"]
    model.model.shared.weight[: len(table)] = table
    model.model.shared.weight[len(table) :] = 0
    model.final_logits_bias.zero_()
    model.final_logits_bias[:, len(table) :] = -1e9
    for stack, ours in ((model.model.encoder, "encoder"), (model.model.decoder, "decoder")):
        positions = stack.embed_positions.weight
        positions.copy_(torch.from_numpy(sinusoids(*positions.shape)))
        for n, layer in enumerate(stack.layers):
            _load_layer(layer, arrays, f"{ours}/block_{n}")


def _load_layer(layer, arrays, prefix):
    attentions = {"attention": "self_attn", "cross_attention": "encoder_attn"}
    norms = {f"{value}_residual": f"{theirs}_layer_norm" for value, theirs in attentions.items()}
    for attention, theirs in attentions.items():
        if hasattr(layer, theirs):
            for kernel, name in KERNELS.items():
                weight = arrays[f"{prefix}/{attention}/{kernel}_kernel"]
                getattr(getattr(layer, theirs), name).weight.copy_(weight.T)
    for residual, theirs in {**norms, "feed_forward_residual": "final_layer_norm"}.items():
        if hasattr(layer, theirs):
            getattr(layer, theirs).weight.copy_(arrays[f"{prefix}/{residual}/normalization/gamma"])
            getattr(layer, theirs).bias.copy_(arrays[f"{prefix}/{residual}/normalization/beta"])
    for dense, theirs in (("hidden", layer.fc1), ("output", layer.fc2)):
        theirs.weight.copy_(arrays[f"{prefix}/feed_forward/{dense}_kernel"].T)
        theirs.bias.copy_(arrays[f"{prefix}/feed_forward/{dense}_bias"])


def works_of(task, weights, policy, training=False):
    """The works."""
    torch.manual_seed(0)
    model = marian(task, weights)
    low = torch.autocast("cpu", torch.bfloat16, enabled=policy != "float32")
    if training:
        source, target = (torch.from_numpy(tokens).long() for tokens in task.pairs_of_tokens())
        assert int(source.min()) >= SPECIAL

        def loss():
            with low:
                return model(input_ids=source, labels=target).loss

        return {TRAIN: trainer(model, loss)}
    sources = torch.from_numpy(task.sources()).long()

    def tokens(rows, beams):
        given = sources[:rows]
        with torch.inference_mode(), low:
            generated = model.generate(
                given,
                attention_mask=torch.ones_like(given),
                num_beams=beams,
                do_sample=False,
                max_new_tokens=task.target,
            )
        return generated[:, 1:].tolist()

    return decoding_works(task, tokens)


if __name__ == "__main__":
    serve(works_of, Task, torch.set_num_threads)
