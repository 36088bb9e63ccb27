"""Distil a RoBERTa-large MLM into a 6 layer student."""
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F
import yaml
from transformers import RobertaConfig, RobertaForMaskedLM


def mask_tokens(ids, mask_id, vocab_size, p):
    labels = ids.clone()
    probs = torch.full(labels.shape, p)
    masked = torch.bernoulli(probs).bool()
    labels[~masked] = -100
    replaced = torch.bernoulli(torch.full(labels.shape, 0.8)).bool() & masked
    ids = ids.clone()
    ids[replaced] = mask_id
    rand = torch.bernoulli(torch.full(labels.shape, 0.5)).bool() & masked & ~replaced
    ids[rand] = torch.randint(vocab_size, labels.shape)[rand]
    return ids, labels


class Distiller:
    def __init__(self, conf):
        self.t = conf["train"]
        self.device = "cuda"
        tcfg = RobertaConfig(vocab_size=50265, max_position_embeddings=514, type_vocab_size=1, **conf["teacher"])
        scfg = RobertaConfig(vocab_size=50265, max_position_embeddings=514, type_vocab_size=1, **conf["student"])
        self.teacher = RobertaForMaskedLM(tcfg).half().to(self.device).eval()
        for p in self.teacher.parameters():
            p.requires_grad_(False)
        self.student = RobertaForMaskedLM(scfg).to(self.device)
        self.bridge = nn.Linear(scfg.hidden_size, tcfg.hidden_size).to(self.device)
        self.opt = torch.optim.AdamW(list(self.student.parameters()) + list(self.bridge.parameters()), lr=self.t["lr"],
                                     eps=1e-6, betas=(0.9, 0.98))
        self.scaler = torch.amp.GradScaler()
        self.vocab = scfg.vocab_size

    def step(self, ids, labels):
        T = self.t["temperature"]
        mask = torch.ones_like(ids)
        with torch.no_grad():
            t_out = self.teacher(input_ids=ids, attention_mask=mask, output_hidden_states=True)
        with torch.autocast("cuda", dtype=torch.float16):
            s_out = self.student(input_ids=ids, attention_mask=mask, output_hidden_states=True)
            sel = labels != -100
            s_log = s_out.logits
            t_log = t_out.logits
            kd = F.kl_div(F.log_softmax(s_log / T, dim=-1), F.softmax(t_log.float() / T, dim=-1),
                          reduction="none").sum(-1)
            kd = (kd * sel).sum() / sel.sum() * T * T
            mlm = F.cross_entropy(s_log.view(-1, self.vocab), labels.view(-1), ignore_index=-100)
            sh = self.bridge(s_out.hidden_states[-1]).flatten(0, 1)
            th = t_out.hidden_states[-1].flatten(0, 1)
            cos = F.cosine_embedding_loss(sh.float(), th.float(), torch.ones(sh.size(0), device=sh.device))
            loss = self.t["alpha_kd"] * kd + self.t["alpha_mlm"] * mlm + self.t["alpha_cos"] * cos
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.opt)
        nn.utils.clip_grad_norm_(self.student.parameters(), 5.0)
        self.scaler.step(self.opt)
        self.scaler.update()
        self.opt.zero_grad()
        return {"loss": loss.item(), "kd": kd.item(), "mlm": mlm.item(), "cos": cos.item()}

    def fit(self):
        self.student.train()
        for i in range(self.t["steps"]):
            ids = torch.randint(5, self.vocab, (self.t["batch_size"], self.t["seq_len"]))
            ids, labels = mask_tokens(ids, 50264, self.vocab, self.t["mlm_prob"])
            logs = self.step(ids.to(self.device), labels.to(self.device))
            print(i, " ".join(f"{k}={v:.4f}" for k, v in logs.items()))


if __name__ == "__main__":
    path = sys.argv[1] if len(sys.argv) > 1 else "config.yaml"
    with open(path) as fh:
        conf = yaml.safe_load(fh)
    torch.manual_seed(0)
    Distiller(conf).fit()
