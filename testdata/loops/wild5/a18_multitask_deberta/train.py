import json
import os
import tempfile

import torch
import torch.nn.functional as F

from model import MultiTaskModel, UncertaintyWeights

with open("params.json") as f:
    P = json.load(f)


def synth(bs, L):
    ids = torch.randint(5, 128000, (bs, L))
    mask = torch.ones(bs, L, dtype=torch.long)
    return {
        "ids": ids, "mask": mask,
        "ner": torch.randint(0, 17, (bs, L)),
        "intent": torch.randint(0, 64, (bs,)),
        "score": torch.rand(bs),
    }


def losses_for(out, b):
    return [
        F.cross_entropy(out["ner"].flatten(0, 1), b["ner"].flatten()),
        F.cross_entropy(out["intent"], b["intent"]),
        F.smooth_l1_loss(out["score"], b["score"]),
    ]


def main():
    torch.manual_seed(P["seed"])
    dev = torch.device("cuda")
    model = MultiTaskModel().to(dev)
    weights = UncertaintyWeights(3).to(dev)

    # layer-wise lr decay
    groups = [{"params": list(model.heads.parameters()) + list(weights.parameters()), "lr": P["lr"] * 5}]
    lr = P["lr"]
    for layer in reversed(model.encoder.encoder.layer):
        groups.append({"params": layer.parameters(), "lr": lr})
        lr *= P["llrd"]
    rest = [p for n, p in model.encoder.named_parameters() if "encoder.layer." not in n]
    groups.append({"params": rest, "lr": lr})
    opt = torch.optim.AdamW(groups, lr=P["lr"], weight_decay=0.01)

    model.train()
    for step in range(P["steps"]):
        opt.zero_grad()
        for _ in range(P["accum"]):
            b = {k: v.to(dev) for k, v in synth(P["batch"], P["len"]).items()}
            with torch.autocast("cuda", torch.bfloat16):
                out = model(b["ids"], b["mask"])
                parts = losses_for(out, b)
                loss = weights(parts) / P["accum"]
            loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), P["clip"])
        opt.step()
        print(step, [round(l.item(), 4) for l in parts], weights.log_vars.detach().cpu().tolist())

    path = os.path.join(tempfile.mkdtemp(), "ck.pt")
    torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "step": step}, path)
    ck = torch.load(path, map_location=dev)
    model.load_state_dict(ck["model"])
    opt.load_state_dict(ck["opt"])
    b = {k: v.to(dev) for k, v in synth(P["batch"], P["len"]).items()}
    loss = sum(losses_for(model(b["ids"], b["mask"]), b))
    loss.backward()
    opt.step()
    print("resumed step", ck["step"] + 1, loss.item())


if __name__ == "__main__":
    main()
