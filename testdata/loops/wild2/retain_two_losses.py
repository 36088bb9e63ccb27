# sentence order + masked LM; the two losses are backpropagated one after the other
import argparse
import torch
from torch import nn
from transformers import AutoConfig, AutoModel

parser = argparse.ArgumentParser()
parser.add_argument("--config")
parser.add_argument("--batch-size", type=int, default=8)
parser.add_argument("--seq-len", type=int, default=128)
parser.add_argument("--n-steps", type=int, default=5)
args = parser.parse_args()
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class TwoTasks(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.encoder = AutoModel.from_config(config)
        self.lm = nn.Sequential(nn.Linear(config.hidden_size, config.hidden_size), nn.GELU(),
                                nn.LayerNorm(config.hidden_size), nn.Linear(config.hidden_size, config.vocab_size))
        self.order = nn.Linear(config.hidden_size, 2)

    def forward(self, ids):
        hidden = self.encoder(ids).last_hidden_state
        return self.lm(hidden), self.order(hidden[:, 0])


config = AutoConfig.from_pretrained(args.config)
model = TwoTasks(config).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
ce = nn.CrossEntropyLoss(ignore_index=-1)

for step in range(args.n_steps):
    tokens = torch.randint(config.vocab_size, (args.batch_size, args.seq_len), device=device)
    target = tokens.masked_fill(torch.rand(tokens.shape, device=device) > 0.15, -1)
    order = torch.randint(2, (args.batch_size,), device=device)

    lm_logits, order_logits = model(tokens)
    lm_loss = ce(lm_logits.view(-1, config.vocab_size), target.view(-1))
    order_loss = ce(order_logits, order)

    optimizer.zero_grad()
    lm_loss.backward(retain_graph=True)
    order_loss.backward()
    optimizer.step()
    print("step %d lm %.3f order %.3f" % (step, lm_loss.item(), order_loss.item()))
