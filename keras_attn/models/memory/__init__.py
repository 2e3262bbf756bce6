"""Models with a memory: memory networks, neural computers and progressive memory."""
