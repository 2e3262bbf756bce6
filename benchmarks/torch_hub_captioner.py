"""transformers' captioners on torch in `hub_captioner_speed`; writes their checkpoint, too."""

import json
import sys
from pathlib import Path

import torch

from benchmarks.hub_captioner_speed import BLIP, Task, works_of
from benchmarks.worker import serve

MEAN = DEVIATION = (0.5, 0.5, 0.5)
PAD, UNKNOWN, CLS, END, MASK, START = range(6)
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[DEC]")


def blip(task):
    """A model of BLIP's kind."""
    from transformers import BlipConfig, BlipForConditionalGeneration

    sizes = {"hidden_size": task.units, "num_hidden_layers": task.layers}
    sizes |= {"intermediate_size": task.hidden, "num_attention_heads": task.heads}
    text = {**sizes, "vocab_size": task.vocabulary, "max_position_embeddings": 64}
    text |= {"bos_token_id": START, "sep_token_id": END, "pad_token_id": PAD, "eos_token_id": END}
    text["encoder_hidden_size"] = task.units
    vision = {**sizes, "image_size": task.size, "patch_size": task.patch}
    return BlipForConditionalGeneration(BlipConfig(text_config=text, vision_config=vision))


def gpt2(task):
    """A model of a Vision Transformer and GPT-2, whose last id begins and ends captions."""
    from transformers import (
        GPT2Config,
        VisionEncoderDecoderConfig,
        VisionEncoderDecoderModel,
        ViTConfig,
    )

    vision = ViTConfig(
        hidden_size=task.units,
        num_hidden_layers=task.layers,
        num_attention_heads=task.heads,
        intermediate_size=task.hidden,
        image_size=task.size,
        patch_size=task.patch,
    )
    end = task.vocabulary - 1
    decoder = GPT2Config(
        vocab_size=task.vocabulary,
        n_positions=64,
        n_embd=task.units,
        n_layer=task.layers,
        n_head=task.heads,
        n_inner=task.hidden,
        bos_token_id=end,
        eos_token_id=end,
    )
    config = VisionEncoderDecoderConfig.from_encoder_decoder_configs(vision, decoder)
    config.decoder_start_token_id = config.eos_token_id = config.pad_token_id = end
    return VisionEncoderDecoderModel(config)


def write(task, folder):
    """Writes a checkpoint of random weights in which no caption ends."""
    from transformers import BertTokenizer, BlipImageProcessor, GPT2Tokenizer, ViTImageProcessor

    torch.manual_seed(0)
    folder = Path(folder)
    model = (blip if task.kind == BLIP else gpt2)(task).eval()
    end = END if task.kind == BLIP else task.vocabulary - 1
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0, parameter[0].numel() ** -0.5)
        decoder = model.text_decoder if task.kind == BLIP else model.decoder
        decoder.get_output_embeddings().weight[end] = 0
    model.save_pretrained(folder)
    pictures = {"size": {"height": task.size, "width": task.size}}
    pictures |= {"image_mean": MEAN, "image_std": DEVIATION}
    if task.kind == BLIP:
        names = [*SPECIAL, *(f"w{place}" for place in range(task.vocabulary - len(SPECIAL)))]
        vocabulary = {name: place for place, name in enumerate(names)}
        BertTokenizer(vocab=vocabulary).save_pretrained(folder)
        BlipImageProcessor(**pictures).save_pretrained(folder)
        return
    alphabet = [chr(sign) for sign in range(0x21, 0x7F)]
    alphabet += [chr(sign) for sign in (*range(0xA1, 0xAD), *range(0xAE, 0x100))]
    alphabet += [chr(sign) for sign in range(0x100, 0x100 + 256 - len(alphabet))]
    pairs = [(a, b) for a in alphabet for b in alphabet][: task.vocabulary - 257]
    names = [*alphabet, *("".join(pair) for pair in pairs), "<|endoftext|>"]
    vocabulary = {name: place for place, name in enumerate(names)}
    GPT2Tokenizer(vocab=vocabulary, merges=pairs).save_pretrained(folder)
    ViTImageProcessor(**pictures).save_pretrained(folder)


def works(task, folder):
    """The works."""
    from transformers import BlipForConditionalGeneration, VisionEncoderDecoderModel

    kind = BlipForConditionalGeneration if task.kind == BLIP else VisionEncoderDecoderModel
    model = kind.from_pretrained(folder).eval()
    pixels = torch.from_numpy(task.images()).permute(0, 3, 1, 2).float() / 127.5 - 1

    def tokens(place, count, beams):
        with torch.inference_mode():
            found = model.generate(
                pixel_values=pixels[place : place + count],
                num_beams=beams,
                do_sample=False,
                max_new_tokens=task.length,
                min_new_tokens=0,
            )
        return found[:, -task.length :].tolist()

    return works_of(task, tokens)


if __name__ == "__main__":
    if sys.argv[1:]:
        write(Task(**json.loads(sys.argv[1])), sys.argv[2])
    else:
        serve(works, Task, torch.set_num_threads)
