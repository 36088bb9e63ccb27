import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
from transformers import AutoConfig, AutoModel


class RewardModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.transformer = AutoModel.from_config(config)
        self.v_head = nn.Linear(config.hidden_size, 1, bias=False)

    def forward(self, input_ids, attention_mask=None):
        hidden_states = self.transformer(input_ids, attention_mask=attention_mask, use_cache=False)[0]
        rewards = self.v_head(hidden_states).squeeze(-1)
        return rewards[:, -1]


def train_step(model, optimizer, chosen, rejected):
    input_ids = torch.cat((chosen, rejected), dim=0)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        rewards = model(input_ids)
    r_chosen, r_rejected = rewards.float().chunk(2)
    loss = -F.logsigmoid(r_chosen - r_rejected).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss, (r_chosen > r_rejected).float().mean()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    parser.add_argument("--batch-size", type=int, default=2)
    parser.add_argument("--seq-len", type=int, default=512)
    parser.add_argument("--freeze-ratio", type=float, default=0.5)
    args = parser.parse_args()

    config = AutoConfig.from_pretrained(args.config)
    model = RewardModel(config)
    blocks = model.transformer.layers if hasattr(model.transformer, "layers") else model.transformer.h
    frozen = int(len(blocks) * args.freeze_ratio)
    for block in blocks[:frozen]:
        block.requires_grad_(False)
    model.to("cuda")
    model.train()

    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trainable, lr=1e-5, fused=True)
    n = 8 * args.batch_size
    pairs = TensorDataset(*(torch.randint(config.vocab_size, (n, args.seq_len)) for _ in range(2)))
    for i, (chosen, rejected) in enumerate(DataLoader(pairs, batch_size=args.batch_size)):
        loss, acc = train_step(model, optimizer, chosen.cuda(), rejected.cuda())
        print(i, "loss", loss.item(), "accuracy", acc.item())
