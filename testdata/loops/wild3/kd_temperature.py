"""A two-layer student learns from a larger teacher: KL of softened logits plus the ordinary loss."""
import argparse
import copy

import torch
import torch.nn.functional as F
from transformers import AutoConfig, AutoModelForCausalLM


def kd_loss(student, teacher, labels, T=2.0, alpha=0.7):
    s, t = student[:, :-1].reshape(-1, student.size(-1)), teacher[:, :-1].reshape(-1, teacher.size(-1))
    soft = F.kl_div(F.log_softmax(s / T, dim=-1), F.softmax(t / T, dim=-1), reduction="batchmean") * T * T
    hard = F.cross_entropy(s, labels[:, 1:].reshape(-1))
    return alpha * soft + (1 - alpha) * hard


def main(args):
    teacher_config = AutoConfig.from_pretrained(args.config)
    student_config = copy.deepcopy(teacher_config)
    student_config.num_hidden_layers = 2
    teacher = AutoModelForCausalLM.from_config(teacher_config).to("cuda").eval()
    student = AutoModelForCausalLM.from_config(student_config).to("cuda").train()
    opt = torch.optim.AdamW(student.parameters(), lr=1e-4)
    scaler = torch.amp.GradScaler("cuda", enabled=False)
    for step in range(5):
        ids = torch.randint(0, teacher_config.vocab_size, (args.batch_size, args.seq_len)).cuda()
        with torch.autocast("cuda", torch.bfloat16):
            with torch.no_grad():
                t_logits = teacher(ids).logits
            s_logits = student(ids).logits
            loss = kd_loss(s_logits.float(), t_logits.float(), ids)
        opt.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="gpt2")
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--seq-len", type=int, default=256)
    main(parser.parse_args())
