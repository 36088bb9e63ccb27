import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
from transformers import AutoConfig, AutoModelForCausalLM


def build_student_config(config, layers):
    student = copy.deepcopy(config)
    student.num_hidden_layers = layers
    if getattr(student, "layer_types", None):
        student.layer_types = student.layer_types[:layers]
    return student


class DistillationLoss(nn.Module):
    def __init__(self, temperature=2.0, alpha=0.5):
        super().__init__()
        self.T = temperature
        self.alpha = alpha
        self.kl = nn.KLDivLoss(reduction="batchmean")
        self.ce = nn.CrossEntropyLoss()

    def forward(self, student_logits, teacher_logits, labels):
        s = student_logits[:, :-1].reshape(-1, student_logits.size(-1))
        t = teacher_logits[:, :-1].reshape(-1, teacher_logits.size(-1))
        y = labels[:, 1:].reshape(-1)
        soft = self.kl(F.log_softmax(s / self.T, dim=-1), F.softmax(t / self.T, dim=-1)) * self.T ** 2
        hard = self.ce(s, y)
        return self.alpha * soft + (1 - self.alpha) * hard, soft, hard


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config")
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--seq-len", type=int, default=256)
    parser.add_argument("--student-layers", type=int, default=4)
    parser.add_argument("--steps", type=int, default=8)
    args = parser.parse_args()

    device = "cuda"
    config = AutoConfig.from_pretrained(args.config)
    teacher = AutoModelForCausalLM.from_config(config).to(device)
    teacher.eval()
    for param in teacher.parameters():
        param.requires_grad = False
    student = AutoModelForCausalLM.from_config(build_student_config(config, args.student_layers)).to(device)
    student.train()

    criterion = DistillationLoss()
    optimizer = torch.optim.AdamW(student.parameters(), lr=2e-4)
    data = torch.randint(0, config.vocab_size, (args.steps * args.batch_size, args.seq_len))
    dataloader = DataLoader(data, batch_size=args.batch_size)

    for step, input_ids in enumerate(dataloader):
        input_ids = input_ids.to(device)
        with torch.autocast(device_type=device, dtype=torch.bfloat16):
            with torch.no_grad():
                teacher_logits = teacher(input_ids).logits
            student_logits = student(input_ids).logits
            loss, soft, hard = criterion(student_logits, teacher_logits, input_ids)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        optimizer.step()
        print(f"[{step}] loss {loss.item():.4f} soft {soft.item():.4f} hard {hard.item():.4f}")


if __name__ == "__main__":
    main()
