import argparse
from typing import Iterator

import torch
from torch.utils.data import DataLoader, IterableDataset
from transformers import AutoConfig, AutoModelForCausalLM


class PackedStream(IterableDataset):
    """Concatenates documents of random length and cuts the stream in blocks."""

    def __init__(self, vocab_size: int, block_size: int, blocks: int, eos: int = 1):
        self.vocab_size = vocab_size
        self.block_size = block_size
        self.blocks = blocks
        self.eos = eos

    def documents(self) -> Iterator[torch.Tensor]:
        while True:
            length = int(torch.randint(20, 400, ()))
            yield torch.randint(0, self.vocab_size, (length,))

    def __iter__(self):
        buffer = []
        emitted = 0
        for doc in self.documents():
            buffer.extend(doc.tolist())
            buffer.append(self.eos)
            while len(buffer) >= self.block_size:
                yield torch.tensor(buffer[: self.block_size])
                buffer = buffer[self.block_size :]
                emitted += 1
                if emitted == self.blocks:
                    return


def prefetch_to_gpu(loader):
    for block in loader:
        yield block.to("cuda", non_blocking=True)


def main(args):
    config = AutoConfig.from_pretrained(args.config)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    model.to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    stream = PackedStream(config.vocab_size, args.seq_len, args.batch_size * args.steps)
    loader = DataLoader(stream, batch_size=args.batch_size)
    model.train()
    seen = 0
    for block in prefetch_to_gpu(loader):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            out = model(input_ids=block, labels=block, use_cache=False)
        out.loss.backward()
        torch.nn.utils.clip_grad_value_(model.parameters(), 0.5)
        optimizer.step()
        optimizer.zero_grad()
        seen += block.numel()
        print(f"{seen} tokens, loss {out.loss.item():.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    parser.add_argument("--batch-size", type=int, default=2)
    parser.add_argument("--seq-len", type=int, default=512)
    parser.add_argument("--steps", type=int, default=6)
    main(parser.parse_args())
