import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

rows = [{"input_ids": torch.randint(0, 50257, (512,)), "labels": torch.randint(0, 50257, (512,))} for _ in range(512)]
model = GPT2LMHeadModel(GPT2Config(n_layer=4, n_embd=512, n_head=8))
args = TrainingArguments("out", per_device_train_batch_size=4, per_device_eval_batch_size=8, max_steps=20, eval_strategy="steps", eval_steps=10, report_to=[], save_strategy="no", logging_steps=5)
Trainer(model, args, train_dataset=rows, eval_dataset=rows, compute_metrics=lambda p: {"n": len(p.predictions)}).train()
