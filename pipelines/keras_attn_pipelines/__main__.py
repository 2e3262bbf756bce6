"""`python -m keras_attn_pipelines` is `keras-attn`."""

from keras_attn_pipelines.cli import run_command_line

run_command_line()
