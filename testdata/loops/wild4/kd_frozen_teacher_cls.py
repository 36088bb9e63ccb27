"""Distill a BERT teacher into a DistilBERT student: CE + KL + cosine of the hidden states; the teacher is frozen."""
import argparse
import torch
from torch import nn
from torch.utils.data import DataLoader
from transformers import AutoConfig, AutoModelForSequenceClassification, get_cosine_schedule_with_warmup
from tqdm.auto import tqdm

parser = argparse.ArgumentParser()
parser.add_argument("--teacher_config", default="models/bert-base-uncased")
parser.add_argument("--student_config", default="models/distilbert-base-uncased")
parser.add_argument("--batch_size", type=int, default=16)
parser.add_argument("--max_length", type=int, default=128)
parser.add_argument("--alpha", type=float, default=0.5)
parser.add_argument("--T", type=float, default=2.0)
args = parser.parse_args()
device = torch.device("cuda")
tcfg = AutoConfig.from_pretrained(args.teacher_config, num_labels=3)
scfg = AutoConfig.from_pretrained(args.student_config, num_labels=3)
teacher = AutoModelForSequenceClassification.from_config(tcfg).to(device).eval()
student = AutoModelForSequenceClassification.from_config(scfg).to(device)
for p in teacher.parameters():
    p.requires_grad = False


def batches(n):
    for _ in range(n):
        ids = torch.randint(1000, scfg.vocab_size, (args.batch_size, args.max_length))
        yield {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": torch.randint(0, 3, (args.batch_size,))}


data = list(batches(4))
kl = nn.KLDivLoss(reduction="batchmean")
cos = nn.CosineEmbeddingLoss()
optimizer = torch.optim.AdamW(student.parameters(), lr=5e-5, eps=1e-8)
scheduler = get_cosine_schedule_with_warmup(optimizer, 2, 8)
for epoch in range(2):
    student.train()
    bar = tqdm(data, desc=f"epoch {epoch}")
    for batch in bar:
        batch = {k: v.to(device) for k, v in batch.items()}
        with torch.no_grad():
            t_out = teacher(**batch, output_hidden_states=True)
        s_out = student(**batch, output_hidden_states=True)
        soft = kl(torch.log_softmax(s_out.logits / args.T, -1), torch.softmax(t_out.logits / args.T, -1)) * args.T ** 2
        s_h, t_h = s_out.hidden_states[-1], t_out.hidden_states[-1]
        target = torch.ones(s_h.size(0) * s_h.size(1), device=device)
        c = cos(s_h.view(-1, s_h.size(-1)), t_h.view(-1, t_h.size(-1)), target)
        loss = args.alpha * s_out.loss + (1 - args.alpha) * soft + 0.1 * c
        loss.backward()
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        bar.set_postfix(loss=f"{loss.item():.3f}")
