import math
from timeit import default_timer as timer
from typing import Iterable, List

import torch
import torch.nn as nn
from torch import Tensor
from torch.nn import Transformer
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, IterableDataset

UNK_IDX, PAD_IDX, BOS_IDX, EOS_IDX = 0, 1, 2, 3
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class PositionalEncoding(nn.Module):
    def __init__(self, emb_size: int, dropout: float, maxlen: int = 5000):
        super().__init__()
        den = torch.exp(-torch.arange(0, emb_size, 2) * math.log(10000) / emb_size)
        pos = torch.arange(0, maxlen).reshape(maxlen, 1)
        pe = torch.zeros((maxlen, emb_size))
        pe[:, 0::2] = torch.sin(pos * den)
        pe[:, 1::2] = torch.cos(pos * den)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("pos_embedding", pe.unsqueeze(-2))

    def forward(self, tok: Tensor):
        return self.dropout(tok + self.pos_embedding[:tok.size(0), :])


class TokenEmbedding(nn.Module):
    def __init__(self, vocab_size: int, emb_size):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, emb_size)
        self.emb_size = emb_size

    def forward(self, tokens: Tensor):
        return self.embedding(tokens.long()) * math.sqrt(self.emb_size)


class Seq2SeqTransformer(nn.Module):
    def __init__(self, n_enc, n_dec, emb_size, nhead, src_vocab, tgt_vocab, ffn=512, dropout=0.1):
        super().__init__()
        self.transformer = Transformer(d_model=emb_size, nhead=nhead, num_encoder_layers=n_enc,
                                       num_decoder_layers=n_dec, dim_feedforward=ffn, dropout=dropout)
        self.generator = nn.Linear(emb_size, tgt_vocab)
        self.src_tok_emb = TokenEmbedding(src_vocab, emb_size)
        self.tgt_tok_emb = TokenEmbedding(tgt_vocab, emb_size)
        self.positional_encoding = PositionalEncoding(emb_size, dropout=dropout)

    def forward(self, src, trg, src_mask, tgt_mask, src_pad, tgt_pad, mem_pad):
        src_emb = self.positional_encoding(self.src_tok_emb(src))
        tgt_emb = self.positional_encoding(self.tgt_tok_emb(trg))
        outs = self.transformer(src_emb, tgt_emb, src_mask, tgt_mask, None, src_pad, tgt_pad, mem_pad)
        return self.generator(outs)

    def encode(self, src, src_mask):
        return self.transformer.encoder(self.positional_encoding(self.src_tok_emb(src)), src_mask)

    def decode(self, tgt, memory, tgt_mask):
        return self.transformer.decoder(self.positional_encoding(self.tgt_tok_emb(tgt)), memory, tgt_mask)


def square_mask(sz):
    mask = (torch.triu(torch.ones((sz, sz), device=DEVICE)) == 1).transpose(0, 1)
    return mask.float().masked_fill(mask == 0, float("-inf")).masked_fill(mask == 1, 0.0)


def create_mask(src, tgt):
    tgt_mask = square_mask(tgt.shape[0])
    src_mask = torch.zeros((src.shape[0], src.shape[0]), device=DEVICE).type(torch.bool)
    return src_mask, tgt_mask, (src == PAD_IDX).transpose(0, 1), (tgt == PAD_IDX).transpose(0, 1)


SRC_VOCAB_SIZE = 19214
TGT_VOCAB_SIZE = 10837
EMB_SIZE = 512
NHEAD = 8
FFN_HID_DIM = 2048
BATCH_SIZE = 64
SRC_LEN, TGT_LEN = 120, 110
NUM_ENC, NUM_DEC = 6, 6
NUM_EPOCHS = 2


class Pairs(IterableDataset):
    def __init__(self, split, n):
        self.seed = {"train": 0, "valid": 1}[split]
        self.n = n

    def __len__(self):
        return self.n

    def __iter__(self) -> Iterable:
        g = torch.Generator().manual_seed(self.seed)
        for i in range(self.n):
            ls = SRC_LEN if i % BATCH_SIZE == 0 else SRC_LEN - int(torch.randint(0, 40, (1,), generator=g))
            lt = TGT_LEN if i % BATCH_SIZE == 0 else TGT_LEN - int(torch.randint(0, 40, (1,), generator=g))
            yield (torch.randint(4, SRC_VOCAB_SIZE, (ls,), generator=g).tolist(),
                   torch.randint(4, TGT_VOCAB_SIZE, (lt,), generator=g).tolist())


def tensor_transform(ids: List[int]):
    return torch.cat((torch.tensor([BOS_IDX]), torch.tensor(ids), torch.tensor([EOS_IDX])))


def collate_fn(batch):
    src, tgt = [], []
    for s, t in batch:
        src.append(tensor_transform(s))
        tgt.append(tensor_transform(t))
    return pad_sequence(src, padding_value=PAD_IDX), pad_sequence(tgt, padding_value=PAD_IDX)


torch.manual_seed(0)
transformer = Seq2SeqTransformer(NUM_ENC, NUM_DEC, EMB_SIZE, NHEAD, SRC_VOCAB_SIZE, TGT_VOCAB_SIZE, FFN_HID_DIM)
for p in transformer.parameters():
    if p.dim() > 1:
        nn.init.xavier_uniform_(p)
transformer = transformer.to(DEVICE)
loss_fn = torch.nn.CrossEntropyLoss(ignore_index=PAD_IDX, label_smoothing=0.1)
optimizer = torch.optim.Adam(transformer.parameters(), lr=0.0001, betas=(0.9, 0.98), eps=1e-9)


def train_epoch(model, optimizer):
    model.train()
    losses = 0
    loader = DataLoader(Pairs("train", BATCH_SIZE * 5), batch_size=BATCH_SIZE, collate_fn=collate_fn)
    for src, tgt in loader:
        src, tgt = src.to(DEVICE), tgt.to(DEVICE)
        tgt_input = tgt[:-1, :]
        src_mask, tgt_mask, src_pad, tgt_pad = create_mask(src, tgt_input)
        logits = model(src, tgt_input, src_mask, tgt_mask, src_pad, tgt_pad, src_pad)
        optimizer.zero_grad()
        tgt_out = tgt[1:, :]
        loss = loss_fn(logits.reshape(-1, logits.shape[-1]), tgt_out.reshape(-1))
        loss.backward()
        optimizer.step()
        losses += loss.item()
    return losses / len(loader)


def evaluate(model):
    model.eval()
    losses = 0
    loader = DataLoader(Pairs("valid", BATCH_SIZE + 20), batch_size=BATCH_SIZE, collate_fn=collate_fn)
    with torch.no_grad():
        for src, tgt in loader:
            src, tgt = src.to(DEVICE), tgt.to(DEVICE)
            tgt_input = tgt[:-1, :]
            src_mask, tgt_mask, src_pad, tgt_pad = create_mask(src, tgt_input)
            logits = model(src, tgt_input, src_mask, tgt_mask, src_pad, tgt_pad, src_pad)
            losses += loss_fn(logits.reshape(-1, logits.shape[-1]), tgt[1:, :].reshape(-1)).item()
    return losses / len(loader)


@torch.no_grad()
def greedy_decode(model, src, max_len=12):
    model.eval()
    memory = model.encode(src, torch.zeros(src.shape[0], src.shape[0], device=DEVICE).bool())
    ys = torch.ones(1, 1, device=DEVICE).fill_(BOS_IDX).long()
    for _ in range(max_len - 1):
        out = model.decode(ys, memory, square_mask(ys.size(0)))
        prob = model.generator(out.transpose(0, 1)[:, -1])
        nxt = prob.argmax(dim=1)
        ys = torch.cat([ys, nxt.view(1, 1)], dim=0)
    return ys


for epoch in range(1, NUM_EPOCHS + 1):
    start = timer()
    train_loss = train_epoch(transformer, optimizer)
    end = timer()
    val_loss = evaluate(transformer)
    print(f"Epoch: {epoch}, Train loss: {train_loss:.3f}, Val loss: {val_loss:.3f}, Epoch time = {end - start:.3f}s")
print(greedy_decode(transformer, torch.randint(4, SRC_VOCAB_SIZE, (20, 1), device=DEVICE)).flatten().tolist())
