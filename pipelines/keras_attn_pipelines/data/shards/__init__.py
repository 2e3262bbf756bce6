"""Records in shards that are read by row number: written and read."""
