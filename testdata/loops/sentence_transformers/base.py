"""A BERT of a few layers with a tokenizer of its own, and texts for it: nothing is downloaded."""
import argparse
import os

import torch
from transformers import BertConfig, BertForMaskedLM, BertTokenizerFast


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--seq-len", type=int, default=128)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--loss", default="mnrl")
    parser.add_argument("--accumulation", type=int, default=1)
    parser.add_argument("--mini-batch-size", type=int, default=8)
    parser.add_argument("--docs", type=int, default=4)
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--fp16", action="store_true")
    return parser.parse_args()


def save_base(folder, layers):
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + [f"w{i}" for i in range(30517)]
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/vocab.txt", "w") as f:
        f.write("\n".join(words))
    BertTokenizerFast(f"{folder}/vocab.txt").save_pretrained(folder)
    BertForMaskedLM(BertConfig(num_hidden_layers=layers)).save_pretrained(folder)


def text(args):
    return " ".join(f"w{i}" for i in torch.randint(0, 30000, (args.seq_len + 10,)).tolist())


def texts(args):
    return [text(args) for _ in range(args.batch_size * args.steps)]
