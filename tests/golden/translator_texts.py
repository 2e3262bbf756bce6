"""Sentences of the golden translators and the SentencePiece models trained on them."""

import io
import tempfile
from pathlib import Path

ENGLISH = """
the old sailor sells salt and silk at the port.
a small stone rolled down the hill, and then it rested.
she tells the same tale on the train.
his son lost ten tin soldiers in the sand!
does the heron stand in the lake all day?
no letter is sent on a sunday.
on the island, the rain ends soon; the sun shines.
the ants carried seeds to their nest.
he listens and she dances.
is it late? it is ten to nine.
""".strip().splitlines()
GERMAN = """
der alte seemann handelt im hafen mit salz und seide.
ein kleiner stein rollte den hang hinab, dann blieb er liegen.
sie erzählt im zug dieselbe geschichte.
sein sohn verlor zehn zinnsoldaten im sand!
steht der reiher den ganzen tag im see?
am sonntag sendet niemand einen brief.
auf der insel endet der regen bald; die sonne scheint.
die ameisen trugen samen in ihr nest.
er hört zu und sie tanzt.
ist es spät? es ist zehn vor neun.
""".strip().splitlines()
FRENCH = """
le vieux marin vend du sel et de la soie au port.
une petite pierre dévala la colline, puis elle s'arrêta.
elle raconte la même histoire dans le train.
son fils perdit dix soldats de plomb dans le sable !
le héron reste-t-il au lac toute la journée ?
on ne poste aucune lettre le dimanche.
sur l'île, la pluie cesse tôt ; le soleil luit.
les fourmis portèrent des graines au nid.
il écoute et elle danse.
est-il tard ? il est neuf heures moins dix.
""".strip().splitlines()
OTHERS = """
το νησί έχει ήλιο και αλάτι.
ο ναύτης λέει μια ιστορία.
остров и море, соль и снег.
старик стоит на станции.
岛上有盐和丝。
雨停了，太阳出来了。
in 1905 sold 27 tons, in 1930 sold 48 tons.
room 36: open from 9 to 17 (and 20 to 24).
“so it is” – said the ant… and slept.
Anna, Otto & Nina sent 100 % of it to Lille.
""".strip().splitlines()
ALL = ENGLISH + GERMAN + FRENCH + OTHERS
"""Four times ten; a model of several languages sees each once."""
NORMALIZED = (
    "ａｂｃＡＢＣ１２３！？，．：；（）ﬁﬂﬀ①②½²…‥™µſＫ"
    "\u2009\u00a0\u3000\t\n\r\u200b\u200d\ufeff\u00ad\x7f\x01"
)
"""Characters that normalization changes, of thousands: all of them would take 240 kB a model."""


def rules():
    """Lines of code points, those of a character and those that nmt_nfkc makes of it."""
    from sentencepiece import SentencePieceNormalizer

    whole = SentencePieceNormalizer(
        rule_name="nmt_nfkc", add_dummy_prefix=False, remove_extra_whitespaces=False
    )
    lines = []
    for character in sorted(set(NORMALIZED)):
        result = whole.normalize(character).replace("▁", " ")
        if result != character:
            codes = " ".join(f"{ord(c):X}" for c in result)
            lines.append(f"{ord(character):X}\t{codes}")
    return "".join(f"{line}\n" for line in lines)


def sentence_piece(lines, size, **options):
    """Bytes of a SentencePiece model with a part of nmt_nfkc's rules, by that name."""
    from sentencepiece import SentencePieceTrainer
    from sentencepiece.sentencepiece_model_pb2 import ModelProto

    written = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        tsv = Path(folder, "rules.tsv")
        tsv.write_text(rules())
        SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=written,
            vocab_size=size,
            normalization_rule_tsv=str(tsv),
            num_threads=1,
            minloglevel=2,
            **{"model_type": "unigram", **options},
        )
    model = ModelProto.FromString(written.getvalue())
    model.normalizer_spec.name = "nmt_nfkc"
    model.normalizer_spec.normalization_rule_tsv = ""
    return model.SerializeToString()


def pieces(model):
    """Strings of a model's pieces."""
    from sentencepiece import SentencePieceProcessor

    processor = SentencePieceProcessor(model_proto=model)
    return [processor.id_to_piece(index) for index in range(len(processor))]
