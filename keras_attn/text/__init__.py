"""Text, trees and labels as tokens; in the graphs of TensorFlow with tensorflow-text."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "bpe_dropout": ["BPEDropout"],
        "bracket_text": ["bracket_text", "parse_tree", "parse_trees"],
        "byte_pair_tokenizer": ["BytePairTokenizer"],
        "clip_tokenizer": ["ClipTokenizer"],
        "fact_json": ["facts_of", "parsed_facts"],
        "label_table": ["LabelTable"],
        "linearization": ["linearize", "tree_from"],
        "plain_words": ["plain_words"],
        "ptb_tokenizer": ["ptb_tokenize"],
        "sequence_words": ["AnswerWords", "SourceWords"],
        "slot_tokenizer": ["SlotTokenizer"],
        "symbol_table": ["SymbolTable"],
        "tokenizer": ["Tokenizer"],
        "tree_rules": [
            "normalized",
            "without_features",
            "without_functions",
            "without_root",
            "without_traces",
        ],
        "trees": ["Leaf", "Tree"],
        "unspaced_scripts": ["character_tokenize"],
        "word_piece_tokenizer": ["WordPieceTokenizer"],
    },
)
