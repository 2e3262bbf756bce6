"""Pictures and texts as vectors of one space."""
