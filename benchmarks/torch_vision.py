"""transformers' ViT and VisionEncoderDecoder on torch in `vision_speed`, with random weights."""

import torch
from transformers import (
    GPT2Config,
    VisionEncoderDecoderConfig,
    VisionEncoderDecoderModel,
    ViTConfig,
    ViTForImageClassification,
)

from benchmarks.torch_training import trainer
from benchmarks.vision_speed import CAPTIONS, FORWARD, TRAIN, Task, turns
from benchmarks.worker import serve

PAD, START, END = 0, 1, 2


def config_of(task, layers, units, hidden, heads):
    """ViT's configuration."""
    return ViTConfig(
        image_size=task.size,
        patch_size=task.patch,
        num_hidden_layers=layers,
        hidden_size=units,
        intermediate_size=hidden,
        num_attention_heads=heads,
        num_labels=10,
        problem_type="single_label_classification",
    )


def captioning(task, low):
    """The works of a captioner, by name; every caption has its greatest length."""
    units, heads = task.tiny_units, task.tiny_heads
    eyes = config_of(task, task.tiny_layers, units, 4 * units, heads)
    mouth = GPT2Config(
        vocab_size=task.vocabulary,
        n_positions=64,
        n_embd=units,
        n_layer=task.decoder_layers,
        n_head=heads,
        add_cross_attention=True,
        is_decoder=True,
        bos_token_id=START,
        eos_token_id=END,
    )
    config = VisionEncoderDecoderConfig.from_encoder_decoder_configs(eyes, mouth)
    model = VisionEncoderDecoderModel(config).eval()
    model.generation_config.decoder_start_token_id = START
    model.generation_config.pad_token_id = PAD
    model.generation_config.eos_token_id = END

    def work(beams, batch):
        images = pixels(task.images(batch))
        length = {"min_new_tokens": task.length, "max_new_tokens": task.length}

        def captions():
            with torch.inference_mode(), low:
                generated = [
                    model.generate(images, num_beams=beams, do_sample=False, **length)
                    for _ in turns(batch)
                ]
            return [int(tokens.shape[1]) for tokens in generated]

        return captions

    return {name: work(*sizes) for name, sizes in CAPTIONS.items()}


def encoding(task, low):
    """The works of an encoder, by name."""
    config = config_of(task, task.layers, task.units, task.hidden, task.heads)
    model = ViTForImageClassification(config)
    images, labels = pixels(task.images(task.pictures)), torch.arange(task.pictures) % 10

    def forward():
        model.eval()
        with torch.inference_mode(), low:
            return float(model.vit(images).last_hidden_state.float().sum())

    def loss():
        with low:
            return model(images, labels=labels).loss

    return {FORWARD: forward, TRAIN: trainer(model, loss)}


def pixels(images):
    """float32 (B, 3, height, width) as ViT's preprocessing has them."""
    return torch.from_numpy(images).permute(0, 3, 1, 2).float() / 127.5 - 1


def works_of(task, policy, captions):
    """The works of one contender."""
    torch.manual_seed(0)
    low = torch.autocast("cpu", torch.bfloat16, enabled=policy != "float32")
    return captioning(task, low) if captions else encoding(task, low)


if __name__ == "__main__":
    serve(works_of, Task, torch.set_num_threads)
