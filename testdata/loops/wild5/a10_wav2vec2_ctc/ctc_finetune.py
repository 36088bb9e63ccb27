import torch
import torch.nn as nn
from transformers import Wav2Vec2Config, Wav2Vec2Model

SR = 16000
SECONDS = 10
BATCH = 8
N_STEPS = 9
VOCAB = 32
BLANK = 0


class CTCNet(nn.Module):
    def __init__(self):
        super().__init__()
        cfg = Wav2Vec2Config(
            hidden_size=768, num_hidden_layers=12, num_attention_heads=12, intermediate_size=3072,
            mask_time_prob=0.065, layerdrop=0.0, gradient_checkpointing=False,
        )
        self.w2v = Wav2Vec2Model(cfg)
        self.dropout = nn.Dropout(0.1)
        self.lm_head = nn.Linear(cfg.hidden_size, VOCAB)

    def freeze_extractor(self):
        self.w2v.feature_extractor._freeze_parameters()

    def forward(self, wav):
        h = self.w2v(wav).last_hidden_state
        return self.lm_head(self.dropout(h))


def fake_batch(bs):
    wav = torch.randn(bs, SR * SECONDS)
    wav = (wav - wav.mean(-1, keepdim=True)) / (wav.std(-1, keepdim=True) + 1e-7)
    tgt_len = torch.randint(30, 90, (bs,))
    tgt = torch.randint(1, VOCAB, (bs, 90))
    return wav, tgt, tgt_len


def greedy(logits):
    ids = logits.argmax(-1)
    outs = []
    for row in ids:
        row = torch.unique_consecutive(row)
        outs.append(row[row != BLANK].tolist())
    return outs


def train():
    torch.manual_seed(0)
    dev = "cuda:0"
    net = CTCNet().to(dev)
    net.freeze_extractor()
    ctc = nn.CTCLoss(blank=BLANK, zero_infinity=True)
    params = [p for p in net.parameters() if p.requires_grad]
    optim = torch.optim.Adam(params, lr=1e-4, betas=(0.9, 0.98))
    tri = torch.optim.lr_scheduler.LambdaLR(
        optim, lambda s: min((s + 1) / 3, 1.0) if s < 6 else max(0.0, (N_STEPS - s) / 3))
    scaler = torch.amp.GradScaler("cuda")
    net.train()
    for it in range(N_STEPS):
        wav, tgt, tl = fake_batch(BATCH)
        wav, tgt, tl = wav.to(dev), tgt.to(dev), tl.to(dev)
        with torch.amp.autocast("cuda", dtype=torch.float16):
            logits = net(wav)
        logp = logits.float().log_softmax(-1).transpose(0, 1)
        in_len = torch.full((BATCH,), logp.size(0), dtype=torch.long, device=dev)
        loss = ctc(logp, tgt, in_len, tl)
        optim.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optim)
        nn.utils.clip_grad_norm_(params, 5.0)
        scaler.step(optim)
        scaler.update()
        tri.step()
        print(f"it {it} ctc {loss.item():.3f} scale {scaler.get_scale()}")

    net.eval()
    with torch.inference_mode():
        wav, _, _ = fake_batch(4)
        hyp = greedy(net(wav.to(dev)))
    print([len(h) for h in hyp])


if __name__ == "__main__":
    train()
