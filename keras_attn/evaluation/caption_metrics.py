"""Caption metrics in coco-caption's definitions: BLEU, CIDEr-D, ROUGE-L, and METEOR with Java."""

import contextlib
import io
import itertools
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from importlib import resources

from keras_attn.evaluation.tokenization import AUTO, CHARACTERS, PTB, caption_tokenization
from keras_attn.extras import extra
from keras_attn.text.ptb_tokenizer import ptb_tokenize
from keras_attn.text.unspaced_scripts import character_tokenize

TOKENIZER_NAME = "PTB (as coco-caption's, without Java)"
TOKENIZER_NAMES = {
    PTB: TOKENIZER_NAME,
    CHARACTERS: "characters where words have no spaces between them, otherwise PTB",
}
CAPTION_TOKENIZERS = {PTB: ptb_tokenize, CHARACTERS: character_tokenize}
METEOR_SECONDS = 600


def caption_metrics(
    candidates: Sequence[str],
    references: Sequence[Sequence[str]],
    meteor: bool | None = None,
    tokenization: str = AUTO,
) -> dict[str, float]:
    """Corpus scores of captions against all their references.

    Texts are tokenized by `ptb_tokenize`, as coco-caption does, or in languages without spaces
    between words by character; an empty candidate counts as an empty sentence.

    Args:
        candidates: one caption for each example.
        references: for each example, its reference captions, at least one.
        meteor: True demands METEOR, False leaves it out, None takes it where Java is present.
        tokenization: "ptb", "char" or "auto": by the references, see `caption_tokenization`.

    Returns:
        dict: "bleu_1" to "bleu_4", "rouge_l" and "meteor" in 0..100, the scale of `text_metrics`
        and of published tables (coco-caption's own is 0..1); "cider_d" in 0..10, as there. BLEU
        takes the closest reference length; CIDEr-D has σ 6 and takes its document frequencies
        from the references (pycocoevalcap's class is called Cider and computes CIDEr-D).

    Raises:
        ValueError: no example, other lengths, an example without references, an unknown
            tokenizer, or METEOR without Java.
        ImportError: pycocoevalcap is not installed.

    Source: coco-caption, Chen et al. 2015, arXiv:1504.00325; CIDEr-D: Vedantam et al. 2015,
    arXiv:1411.5726.
    """
    _check(candidates, references)
    with extra("evaluation"):
        from pycocoevalcap.bleu.bleu import Bleu
        from pycocoevalcap.cider.cider import Cider
        from pycocoevalcap.rouge.rouge import Rouge
    texts = itertools.chain.from_iterable(references)
    tokenize = CAPTION_TOKENIZERS[caption_tokenization(texts, tokenization)]
    result = {i: [" ".join(tokenize(text))] for i, text in enumerate(candidates)}
    truth = {
        i: [" ".join(tokenize(caption)) for caption in captions]
        for i, captions in enumerate(references)
    }
    if not any(words for captions in truth.values() for words in captions):
        raise ValueError("Expected a reference with at least one word. Received: none")
    with contextlib.redirect_stdout(io.StringIO()):
        bleu_scores, _ = Bleu(4).compute_score(truth, result, verbose=0)
        cider_score, _ = Cider().compute_score(truth, result)
        rouge_score, _ = Rouge().compute_score(truth, result)
    scores = {f"bleu_{n}": 100 * float(score) for n, score in enumerate(bleu_scores, 1)}
    scores |= {"cider_d": float(cider_score), "rouge_l": 100 * float(rouge_score)}
    if meteor or (meteor is None and shutil.which("java")):
        scores["meteor"] = 100 * _meteor(result, truth)
    return scores


def _check(candidates, references):
    if not candidates:
        raise ValueError("Expected at least one caption. Received: none")
    if len(candidates) != len(references):
        raise ValueError(
            f"Expected references for {len(candidates)} captions. Received: {len(references)}"
        )
    for index, captions in enumerate(references):
        if isinstance(captions, str) or not captions:
            raise ValueError(f"Expected a list of references at {index}. Received: {captions!r}")


def _meteor(result, truth):
    """METEOR's jar, started once: statistics of each line, then the corpus score that they make."""
    lines = [f"SCORE ||| {' ||| '.join(truth[i])} ||| {result[i][0]}" for i in result]
    with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
        try:
            with _meteor_jar(errors) as jar:
                statistics = [_answer(jar, line) for line in lines]
                score = _answer(jar, f"EVAL ||| {' ||| '.join(statistics)}", len(lines) + 1)
        except (BrokenPipeError, EOFError) as error:
            errors.seek(0)
            reason = errors.read().strip()[-500:] or "no answer"
            raise ValueError(f"Expected METEOR to run. Received: {reason}") from error
    return float(score)


@contextlib.contextmanager
def _meteor_jar(errors):
    """The jar's process, which ends with the context or after METEOR_SECONDS."""
    java = shutil.which("java")
    if java is None:
        raise ValueError("Expected Java for METEOR. Received: no java on the PATH")
    jar = resources.files("pycocoevalcap") / "meteor" / "meteor-1.5.jar"
    command = [java, "-Xmx2G", "-Dfile.encoding=UTF-8", "-jar", str(jar), "-", "-", "-stdio"]
    command += ["-l", "en", "-norm"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=errors, encoding="utf-8"
    ) as process:
        timer = threading.Timer(METEOR_SECONDS, process.kill)
        timer.start()
        try:
            yield process
        finally:
            timer.cancel()
            process.kill()


def _answer(jar, line, lines=1):
    """The last of the lines that the jar answers."""
    jar.stdin.write(line + "\n")
    jar.stdin.flush()
    *_, last = (jar.stdout.readline() for _ in range(lines))
    if not last:
        raise EOFError
    return last.rstrip("\n")
