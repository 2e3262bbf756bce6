"""Sets of facts to texts, with a planned order."""
