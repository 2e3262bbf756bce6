"""What tests read from model cards."""


def digests_on_card(version):
    """SHA-256 by file, as the model card in a version's folder has them."""
    lines = (version / "README.md").read_text(encoding="utf-8").split("\n## Files\n")[1]
    rows = (line.split("  ") for line in lines.splitlines() if len(line.split("  ")) == 2)
    return {name: digest for digest, name in rows}
