import argparse

import torch
from torch.utils.data import DataLoader
from transformers import Adafactor, T5Config, T5ForConditionalGeneration


def make_collate(vocab, src_len, tgt_len):
    def collate(items):
        b = len(items)
        src = torch.randint(3, vocab, (b, src_len))
        tgt = torch.randint(3, vocab, (b, tgt_len))
        tgt[:, -1] = 1
        src_mask = torch.ones_like(src)
        for i, seed in enumerate(items):
            cut = src_len - (seed % 50)
            src[i, cut:] = 0
            src_mask[i, cut:] = 0
            t_cut = tgt_len - (seed % 17)
            tgt[i, t_cut:] = -100
        return src, src_mask, tgt
    return collate


def run_eval(model, loader):
    model.eval()
    losses = []
    gen_lens = []
    with torch.no_grad():
        for src, mask, tgt in loader:
            out = model(input_ids=src.cuda(), attention_mask=mask.cuda(), labels=tgt.cuda())
            losses.append(out.loss.item())
        ids = model.generate(input_ids=src[:4].cuda(), attention_mask=mask[:4].cuda(), max_new_tokens=8, min_new_tokens=8,
                             do_sample=False)
        gen_lens.append(ids.shape[1])
    model.train()
    return sum(losses) / len(losses), gen_lens


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--bs", type=int, default=8)
    p.add_argument("--src", type=int, default=512)
    p.add_argument("--tgt", type=int, default=128)
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--per_epoch", type=int, default=5)
    p.add_argument("--label_smoothing", type=float, default=0.1)
    p.add_argument("--adafactor", action="store_true")
    a = p.parse_args()

    torch.manual_seed(0)
    cfg = T5Config(d_model=768, d_kv=64, d_ff=2048, num_layers=12, num_heads=12, vocab_size=32128,
                   feed_forward_proj="gated-gelu", tie_word_embeddings=False, decoder_start_token_id=0)
    model = T5ForConditionalGeneration(cfg).cuda()
    print("parameters:", model.num_parameters())

    # the tail of the epoch is a smaller batch
    train = DataLoader(list(range(a.bs * (a.per_epoch - 1) + 3)), batch_size=a.bs, shuffle=True,
                       collate_fn=make_collate(cfg.vocab_size, a.src, a.tgt))
    val = DataLoader(list(range(24)), batch_size=a.bs * 2, collate_fn=make_collate(cfg.vocab_size, a.src, a.tgt))

    if a.adafactor:
        opt = Adafactor(model.parameters(), lr=1e-3, scale_parameter=False, relative_step=False, warmup_init=False)
    else:
        opt = torch.optim.AdamW(model.parameters(), lr=1e-4)
    lossf = torch.nn.CrossEntropyLoss(ignore_index=-100, label_smoothing=a.label_smoothing)

    for ep in range(a.epochs):
        tot = 0.0
        for src, mask, tgt in train:
            src, mask, tgt = src.cuda(), mask.cuda(), tgt.cuda()
            dec_in = model._shift_right(tgt)
            logits = model(input_ids=src, attention_mask=mask, decoder_input_ids=dec_in).logits
            loss = lossf(logits.reshape(-1, logits.size(-1)), tgt.reshape(-1))
            opt.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            tot += loss.item()
        print(f"epoch {ep}: train {tot/len(train):.4f}, val {run_eval(model, val)}")


if __name__ == "__main__":
    main()
