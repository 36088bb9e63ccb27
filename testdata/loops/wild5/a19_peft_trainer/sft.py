import os

import torch
from peft import LoraConfig, get_peft_model
from transformers import (AutoModelForCausalLM, HfArgumentParser, MistralConfig, Trainer, TrainingArguments,
                          default_data_collator)
from dataclasses import dataclass, field

os.environ["WANDB_DISABLED"] = "true"


@dataclass
class ModelArgs:
    hidden: int = field(default=2048)
    layers: int = field(default=16)
    lora_r: int = 8
    lora_alpha: int = 16
    use_dora: bool = False


@dataclass
class DataArgs:
    max_seq_length: int = 512
    n_train: int = 64


class ChatData(torch.utils.data.Dataset):
    def __init__(self, n, L, vocab):
        self.rows = torch.randint(3, vocab, (n, L))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        ids = self.rows[i]
        labels = ids.clone()
        labels[:100] = -100
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": labels}


class LossLoggingTrainer(Trainer):
    def __init__(self, *a, **k):
        super().__init__(*a, **k)
        self.hist = []

    def training_step(self, *args, **kwargs):
        loss = super().training_step(*args, **kwargs)
        self.hist.append(loss.item())
        return loss


def main():
    parser = HfArgumentParser((ModelArgs, DataArgs, TrainingArguments))
    margs, dargs, targs = parser.parse_args_into_dataclasses()
    cfg = MistralConfig(vocab_size=32000, hidden_size=margs.hidden, intermediate_size=margs.hidden * 7 // 2,
                        num_hidden_layers=margs.layers, num_attention_heads=margs.hidden // 128,
                        num_key_value_heads=4, sliding_window=None, use_cache=False)
    with torch.device("cuda"):
        model = AutoModelForCausalLM.from_config(cfg, dtype=torch.bfloat16)
    model = get_peft_model(model, LoraConfig(r=margs.lora_r, lora_alpha=margs.lora_alpha, lora_dropout=0.0,
                                             target_modules=["q_proj", "v_proj"], modules_to_save=["lm_head"],
                                             use_dora=margs.use_dora, task_type="CAUSAL_LM"))
    model.print_trainable_parameters()
    trainer = LossLoggingTrainer(model=model, args=targs, data_collator=default_data_collator,
                                 train_dataset=ChatData(dargs.n_train, dargs.max_seq_length, cfg.vocab_size))
    trainer.train()
    print("losses", [round(x, 3) for x in trainer.hist])


if __name__ == "__main__":
    main()
