"""In a checkout, `python -m pipelines` is `keras-attn`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from keras_attn_pipelines.cli import run_command_line

run_command_line()
