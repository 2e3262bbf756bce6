"""transformers' models on torch in `accelerator`, with random weights."""

import json
import sys

import torch

from benchmarks.accelerator import BFLOAT16, Measured, Task, seconds_of, serve

PAD, START, END = 0, 2, 3
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def device_name():
    """Of a GPU; "cpu" without one. Products in float32 may take TF32, as on JAX."""
    torch.set_float32_matmul_precision("high")
    return torch.cuda.get_device_name() if DEVICE == "cuda" else "cpu"


def measured(run, budget):
    """Seconds of a run and the peak of the device's memory."""
    if DEVICE == "cpu":
        return Measured(seconds_of(run, lambda: None, budget), None)
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    seconds = seconds_of(run, torch.cuda.synchronize, budget)
    return Measured(seconds, torch.cuda.max_memory_allocated() / 2**20)


class Works:
    """The works of a task: each a function, to a model and the loss of it, or to a run.

    Args:
        task: `Task`.
    """

    def __init__(self, task):
        self.task = task

    def _marian(self, widths):
        from transformers import MarianConfig, MarianMTModel

        config = MarianConfig(
            vocab_size=self.task.vocabulary,
            d_model=widths.units,
            encoder_layers=widths.layers,
            decoder_layers=widths.layers,
            encoder_attention_heads=widths.heads,
            decoder_attention_heads=widths.heads,
            encoder_ffn_dim=widths.hidden,
            decoder_ffn_dim=widths.hidden,
            max_position_embeddings=1024,
            activation_function="relu",
            scale_embedding=True,
            dropout=0.1,
            pad_token_id=PAD,
            eos_token_id=END,
            decoder_start_token_id=START,
            forced_eos_token_id=None,
        )
        return MarianMTModel(config).to(DEVICE)

    def translator(self, widths):
        source, target = (on_device(tokens).long() for tokens in self.task.pairs_of_tokens())
        model = self._marian(widths)
        return model, lambda: model(input_ids=source, labels=target).loss

    def _vision(self):
        from transformers import ViTConfig

        widths = self.task.vision
        return ViTConfig(
            image_size=self.task.size,
            patch_size=self.task.patch,
            num_hidden_layers=widths.layers,
            hidden_size=widths.units,
            intermediate_size=widths.hidden,
            num_attention_heads=widths.heads,
            num_labels=10,
            problem_type="single_label_classification",
        )

    def _pixels(self, count):
        return on_device(self.task.images(count)).permute(0, 3, 1, 2)

    def classifier(self):
        from transformers import ViTForImageClassification

        model = ViTForImageClassification(self._vision()).to(DEVICE)
        images = self._pixels(self.task.pictures)
        labels = torch.arange(len(images), device=DEVICE) % 10
        return model, lambda: model(images / 127.5 - 1, labels=labels).loss

    def captioner(self):
        from transformers import (
            GPT2Config,
            VisionEncoderDecoderConfig,
            VisionEncoderDecoderModel,
        )

        widths = self.task.captioner
        mouth = GPT2Config(
            vocab_size=self.task.vocabulary,
            n_positions=self.task.caption,
            n_embd=widths.units,
            n_layer=widths.layers,
            n_head=widths.heads,
            n_inner=widths.hidden,
            add_cross_attention=True,
            is_decoder=True,
            bos_token_id=START,
            eos_token_id=END,
        )
        config = VisionEncoderDecoderConfig.from_encoder_decoder_configs(self._vision(), mouth)
        config.decoder_start_token_id, config.pad_token_id = START, PAD
        model = VisionEncoderDecoderModel(config).to(DEVICE)
        images = self._pixels(self.task.captioned)
        captions = on_device(self.task.captions()).long()
        return model, lambda: model(images / 127.5 - 1, labels=captions).loss

    def answers(self, precision, beams, length):
        """A run that decodes, with the static cache."""
        model = self._marian(self.task.base).eval()
        model = model.bfloat16() if precision == BFLOAT16 else model
        sources = on_device(self.task.sources()).long()
        options = {
            "num_beams": beams,
            "do_sample": False,
            "min_new_tokens": length,
            "max_new_tokens": length,
            "cache_implementation": "static",
        }

        def run():
            with torch.inference_mode():
                model.generate(sources, attention_mask=torch.ones_like(sources), **options)

        return run


def on_device(array):
    return torch.from_numpy(array).to(DEVICE)


def training(model, loss, precision):
    """A run that does one training step with Adam."""
    optimizer = torch.optim.Adam(model.parameters(), 1e-4)
    model.train()

    def run():
        optimizer.zero_grad()
        with torch.autocast(DEVICE, torch.bfloat16, enabled=precision == BFLOAT16):
            value = loss()
        value.backward()
        optimizer.step()

    return run


def main():
    task = Task.of(json.loads(sys.argv[1]))
    works = Works(task)

    def measure(precision, kind, budget):
        torch.manual_seed(0)
        name, *sizes = kind
        if name == "product":
            matrix = torch.randn(task.square, task.square, device=DEVICE)
            matrix = matrix.to(getattr(torch, precision))
            return measured(lambda: matrix @ matrix, budget)
        if name == "answers":
            return measured(works.answers(precision, *sizes), budget)
        model, loss = getattr(works, name)(*sizes)
        return measured(training(model, loss, precision), budget)

    serve(measure, device_name())


if __name__ == "__main__":
    main()
