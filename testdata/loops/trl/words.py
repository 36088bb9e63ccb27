import os
import random

from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast


def tokenizer(vocab_size):
    words = {"<unk>": 0, "<eos>": 1, "<pad>": 2} | {f"w{i}": i for i in range(3, vocab_size)}
    made = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<eos>", pad_token="<pad>", unk_token="<unk>")


def text(vocab_size, length):
    return " ".join(f"w{random.randrange(3, vocab_size)}" for _ in range(length))


class Kernel:
    """A kernel of Triton's, which allocates nothing: the stand-in for a GPU runs none."""

    cdiv = staticmethod(lambda a, b: -(-a // b))

    def __getitem__(self, grid):
        return lambda *args, **kwargs: None


def without_triton():
    import trl.trainer.utils
    from trl.kernels import chunked_logprob

    chunked_logprob._forward_kernel = chunked_logprob._backward_kernel = chunked_logprob.triton = Kernel()
    chunked_logprob._use_triton = trl.trainer.utils._use_triton = lambda device: True


if os.environ.get("SNUG_STANDIN"):
    try:
        without_triton()
    except ImportError:  # TRL before 1.15
        pass
