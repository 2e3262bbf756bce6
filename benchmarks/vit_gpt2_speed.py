"""How fast an imported captioner of ViT-GPT2's shape captions, beside transformers on torch.

Run as `python -m benchmarks.vit_gpt2_speed --peer-python PYTHON`, as `hub_captioner_speed`, but
with a ViT-B/16 on 224×224 pixels, GPT-2's 12 layers and 50,257 pieces.
"""

from functools import partial

from benchmarks.hub_captioner_speed import GPT2, WORKS, Task, compare
from benchmarks.race import race_command

if __name__ == "__main__":
    race_command(__doc__, partial(Task, GPT2), compare, 5, tuple(WORKS))
