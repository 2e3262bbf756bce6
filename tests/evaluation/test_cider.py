"""The reward equals pycocoevalcap's CIDEr-D, caption by caption."""

import numpy as np
import pytest
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
from pycocoevalcap.cider.cider import Cider

from keras_attn.evaluation.cider import ConsensusReward
from keras_attn.text.ptb_tokenizer import ptb_tokenize

REFERENCES = [
    ["A dog runs over green grass .", "Two dogs play in the grass"],
    ["A man in a red shirt climbs a rock", "A climber on a rock face", "A man climbs"],
    ["Children play with a ball", "A ball , a child and a dog"],
]
CAPTIONS = ["a dog runs over green grass", "a man a man climbs a rock", "a"]


def test_equals_pycocoevalcap():
    truth = {
        place: [" ".join(ptb_tokenize(text)) for text in own]
        for place, own in enumerate(REFERENCES)
    }
    candidates = {place: [" ".join(ptb_tokenize(text))] for place, text in enumerate(CAPTIONS)}
    _, expected = Cider().compute_score(truth, candidates)
    reward = ConsensusReward(REFERENCES, with_end=False)
    scores = [reward.scores([caption], own)[0] for caption, own in zip(CAPTIONS, REFERENCES)]
    np.testing.assert_allclose(scores, expected, rtol=1e-9)
    assert max(scores) > 1


@pytest.mark.parametrize("with_end", [False, True])
def test_bleu_is_added(with_end):
    smoothing = SmoothingFunction().method2
    plain = ConsensusReward(REFERENCES, with_end)
    reward = ConsensusReward(REFERENCES, with_end, bleu_weight=0.7)
    for caption, own in zip([*CAPTIONS, "two men climb a red rock with a dog"], REFERENCES * 2):
        references = [plain.words(text) for text in own]
        bleu = sentence_bleu(references, plain.words(caption), smoothing_function=smoothing)
        (score,), (added,) = plain.scores([caption], own), reward.scores([caption], own)
        assert added - score == pytest.approx(0.7 * bleu, rel=1e-9) and 0 < bleu <= 1
    assert reward.scores(["", "never"], REFERENCES[0])[1] < 0.7 and reward.scores(["a"], []) == [0]
    again = ConsensusReward.from_config(reward.get_config())
    assert again.scores(CAPTIONS, REFERENCES[1]) == reward.scores(CAPTIONS, REFERENCES[1])
    with pytest.raises(ValueError, match=r"Expected bleu_weight >= 0\. Received: bleu_weight=-1"):
        ConsensusReward(REFERENCES, bleu_weight=-1)


def test_the_end_is_a_word():
    reward = ConsensusReward(REFERENCES)
    whole, cut = reward.scores(["a man climbs", "a man climbs"], REFERENCES[1], [True, False])
    assert whole > cut > 0


def test_nothing_to_compare():
    reward = ConsensusReward(REFERENCES)
    assert reward.scores(["", "never seen"], REFERENCES[0])[1] == 0
    assert reward.scores(["a dog"], []) == [0]
    with pytest.raises(ValueError, match="Expected references of at least one example"):
        ConsensusReward([])
