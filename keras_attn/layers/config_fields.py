"""Base of dataclasses that saved models hold."""

from dataclasses import asdict


class ConfigFields:
    """Abstract: a dataclass whose config holds its fields."""

    def get_config(self):
        """The fields."""
        return asdict(self)

    @classmethod
    def from_config(cls, config):
        """The inverse of `get_config`."""
        return cls(**config)
