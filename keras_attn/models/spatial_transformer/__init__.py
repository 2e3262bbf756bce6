"""Pictures classified from what spatial transformers read of them."""
