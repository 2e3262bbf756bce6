"""YAML whose values are strings, lists and dicts alone."""

from typing import Any

from keras_attn.extras import extra


def parse_yaml(text: str) -> Any:
    """The value of a YAML text; every scalar is its text, and a tag makes nothing of its own.

    Raises:
        ImportError: PyYAML is not installed.
        yaml.YAMLError: no YAML.
    """
    with extra("pretrained"):
        import yaml
    return yaml.load(text, Loader=yaml.BaseLoader)
