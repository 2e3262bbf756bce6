"""What imports torch is not collected: it is run by hand."""

collect_ignore = ["make_conv_seq2seq.py"]
