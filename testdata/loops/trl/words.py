from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
import random


def tokenizer(vocab_size):
    words = {"<unk>": 0, "<eos>": 1, "<pad>": 2} | {f"w{i}": i for i in range(3, vocab_size)}
    made = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<eos>", pad_token="<pad>", unk_token="<unk>")


def text(vocab_size, length):
    return " ".join(f"w{random.randrange(3, vocab_size)}" for _ in range(length))
