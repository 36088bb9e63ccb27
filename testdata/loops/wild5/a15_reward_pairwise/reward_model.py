import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from tqdm import trange
from transformers import AutoConfig, AutoModel, get_linear_schedule_with_warmup

device = "cuda"
max_len = 512
bs = 6          # pairs
grad_acc = 2
n_steps = 6
pad_id = 1


class PairDataset(Dataset):
    def __init__(self, n):
        self.n = n

    def _one(self):
        L = int(torch.randint(max_len // 2, max_len, (1,)))
        ids = torch.full((max_len,), pad_id)
        ids[:L] = torch.randint(4, 50000, (L,))
        return ids

    def __getitem__(self, i):
        return {"chosen": self._one(), "rejected": self._one(), "margin": torch.rand(1)}

    def __len__(self):
        return self.n


class RewardModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.transformer = AutoModel.from_config(config)
        self.v_head = nn.Linear(config.hidden_size, 1, bias=False)

    def forward(self, ids):
        mask = (ids != pad_id).long()
        h = self.transformer(input_ids=ids, attention_mask=mask).last_hidden_state
        values = self.v_head(h).squeeze(-1)
        last = mask.sum(-1) - 1
        return values[torch.arange(len(ids), device=ids.device), last]


def pairwise_loss(r_c, r_r, margin):
    return -F.logsigmoid(r_c - r_r - margin.squeeze(-1)).mean() + 0.001 * (r_c ** 2 + r_r ** 2).mean()


def main():
    torch.manual_seed(11)
    config = AutoConfig.for_model(
        "opt", vocab_size=50272, hidden_size=1024, word_embed_proj_dim=1024, ffn_dim=4096, num_hidden_layers=24,
        num_attention_heads=16, max_position_embeddings=2048, do_layer_norm_before=True, pad_token_id=pad_id)
    config.use_cache = False
    model = RewardModel(config).to(device)
    # freeze first 70% of the layers
    layers = model.transformer.decoder.layers
    num_unfrozen = int(0.3 * len(layers))
    for layer in layers[:-num_unfrozen]:
        layer.requires_grad_(False)

    loader = DataLoader(PairDataset(bs * grad_acc * n_steps), batch_size=bs, shuffle=True)
    opt = torch.optim.AdamW(filter(lambda p: p.requires_grad, model.parameters()), lr=1e-5, betas=(0.9, 0.95))
    sch = get_linear_schedule_with_warmup(opt, 1, n_steps)
    it = iter(loader)
    losses, accs = [], []
    bar = trange(n_steps)
    for _ in bar:
        for _ in range(grad_acc):
            b = {k: v.to(device) for k, v in next(it).items()}
            with torch.autocast(device_type="cuda", dtype=torch.bfloat16):
                both = torch.cat([b["chosen"], b["rejected"]], dim=0)
                r = model(both)
                r_c, r_r = r.chunk(2)
                loss = pairwise_loss(r_c, r_r, b["margin"])
            (loss / grad_acc).backward()
            losses.append(loss.detach())
            accs.append((r_c > r_r).float().mean())
        opt.step()
        sch.step()
        opt.zero_grad(set_to_none=True)
        bar.set_description(f"loss {losses[-1].item():.3f}")
    print("mean", torch.stack(losses).mean().item(), "acc", torch.stack(accs).mean().item())


if __name__ == "__main__":
    main()
