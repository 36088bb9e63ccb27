import argparse
import torch
import torch.nn.functional as F
from transformers import AutoConfig, AutoModelForCausalLM


class LanguageModel(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        self.lm = AutoModelForCausalLM.from_config(config)

    @torch.autocast("cuda", dtype=torch.bfloat16)
    def forward(self, x, y):
        logits = self.lm(input_ids=x, use_cache=False).logits
        loss = F.cross_entropy(logits.view(-1, logits.size(-1)), y.view(-1))
        return logits, loss


def batches(vocab, b, t, n):
    for _ in range(n):
        chunk = torch.randint(vocab, (b, t + 1))
        yield chunk[:, :-1].contiguous(), chunk[:, 1:].contiguous()


def accuracy(logits, y):
    return (logits.argmax(-1) == y).float().mean()


parser = argparse.ArgumentParser()
parser.add_argument("--config")
parser.add_argument("--batch-size", type=int, default=8)
parser.add_argument("--seq-len", type=int, default=512)
args = parser.parse_args()

config = AutoConfig.from_pretrained(args.config)
model = LanguageModel(config).cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, amsgrad=True)
accs, losses = [], []
for i, (x, y) in enumerate(batches(config.vocab_size, args.batch_size, args.seq_len, 8)):
    x, y = x.cuda(), y.cuda()
    logits, loss = model(x, y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    accs.append(accuracy(logits, y))
    losses.append(loss)
    print(i, losses[-1].item())
print("mean accuracy", torch.stack(accs).mean().item())
