import argparse
from typing import Dict, Tuple

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from transformers import AutoConfig, AutoModelForCausalLM


class PreferencePairs(Dataset):
    def __init__(self, n: int, length: int, vocab: int):
        self.n, self.length, self.vocab = n, length, vocab

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, i: int) -> Dict[str, torch.Tensor]:
        prompt = torch.randint(0, self.vocab, (self.length // 2,))
        rest = self.length - self.length // 2
        chosen = torch.cat([prompt, torch.randint(0, self.vocab, (rest,))])
        rejected = torch.cat([prompt, torch.randint(0, self.vocab, (rest,))])
        mask = torch.zeros(self.length, dtype=torch.bool)
        mask[self.length // 2:] = True
        return {"chosen": chosen, "rejected": rejected, "mask": mask}


def sequence_logps(logits: torch.Tensor, labels: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    logits = logits[:, :-1, :]
    labels = labels[:, 1:]
    mask = mask[:, 1:]
    per_token = torch.gather(logits.log_softmax(-1), dim=2, index=labels.unsqueeze(2)).squeeze(2)
    return (per_token * mask).sum(-1)


def concatenated_forward(model, batch) -> Tuple[torch.Tensor, torch.Tensor]:
    ids = torch.cat([batch["chosen"], batch["rejected"]], dim=0)
    mask = torch.cat([batch["mask"], batch["mask"]], dim=0)
    logits = model(input_ids=ids, use_cache=False).logits
    logps = sequence_logps(logits, ids, mask)
    n = batch["chosen"].shape[0]
    return logps[:n], logps[n:]


def dpo_loss(policy, reference, beta=0.1):
    pi = policy[0] - policy[1]
    ref = reference[0] - reference[1]
    losses = -F.logsigmoid(beta * (pi - ref))
    rewards = beta * (policy[0] - reference[0]).detach(), beta * (policy[1] - reference[1]).detach()
    return losses.mean(), rewards


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--config", required=True)
    ap.add_argument("--batch-size", type=int, default=2)
    ap.add_argument("--seq-len", type=int, default=512)
    ap.add_argument("--max-steps", type=int, default=6)
    args = ap.parse_args()

    config = AutoConfig.from_pretrained(args.config)
    policy_model = AutoModelForCausalLM.from_config(config).to("cuda")
    reference_model = AutoModelForCausalLM.from_config(config)
    reference_model.load_state_dict(policy_model.state_dict())
    reference_model = reference_model.to("cuda").eval().requires_grad_(False)

    loader = DataLoader(PreferencePairs(args.batch_size * args.max_steps, args.seq_len, config.vocab_size), batch_size=args.batch_size)
    optimizer = torch.optim.RMSprop(policy_model.parameters(), lr=5e-7)

    policy_model.train()
    metrics = {"loss": [], "margin": []}
    for batch in loader:
        batch = {k: v.to("cuda") for k, v in batch.items()}
        with torch.autocast("cuda", dtype=torch.bfloat16):
            policy_logps = concatenated_forward(policy_model, batch)
            with torch.no_grad():
                reference_logps = concatenated_forward(reference_model, batch)
            loss, (r_chosen, r_rejected) = dpo_loss(policy_logps, reference_logps)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(policy_model.parameters(), 10.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        metrics["loss"].append(loss.item())
        metrics["margin"].append((r_chosen - r_rejected).mean().cpu().item())
    print(metrics)
