"""Choices by name."""


def check_choice(name, value, known):
    """Raises ValueError unless `value` is one of the known.

    Example:
        >>> check_choice("padding", "wrap", ("zeros", "border"))
        Traceback (most recent call last):
            ...
        ValueError: Expected padding in ('zeros', 'border'). Received: padding='wrap'
    """
    if value not in known:
        raise ValueError(f"Expected {name} in {known}. Received: {name}={value!r}")
