"""The Transformer: attention in the encoder, in the decoder and between them."""
