import argparse
import tempfile

import torch
from peft import LoraConfig, TaskType, get_peft_model
from transformers import AutoModelForCausalLM, LlamaConfig, Trainer, TrainingArguments


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--lora_r", type=int, default=8)
    p.add_argument("--lora_alpha", type=int, default=32)
    p.add_argument("--seq_len", type=int, default=512)
    p.add_argument("--max_steps", type=int, default=6)
    p.add_argument("--batch", type=int, default=4)
    return p.parse_args()


class InstructData(torch.utils.data.Dataset):
    PROMPT = 128

    def __init__(self, n, seq_len, vocab):
        self.ids = torch.randint(10, vocab, (n, seq_len))

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        ids = self.ids[i]
        labels = ids.clone()
        labels[: self.PROMPT] = -100
        return dict(input_ids=ids, attention_mask=torch.ones_like(ids), labels=labels)


def main():
    args = parse_args()
    # TinyLlama-1.1B shape
    config = LlamaConfig(
        vocab_size=32000,
        hidden_size=2048,
        intermediate_size=5632,
        num_hidden_layers=22,
        num_attention_heads=32,
        num_key_value_heads=4,
        max_position_embeddings=2048,
    )
    with torch.device("cuda"):
        model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    model.config.use_cache = False
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    model.enable_input_require_grads()

    peft_config = LoraConfig(
        task_type=TaskType.CAUSAL_LM,
        r=args.lora_r,
        lora_alpha=args.lora_alpha,
        lora_dropout=0.05,
        target_modules=["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
    )
    model = get_peft_model(model, peft_config)
    model.print_trainable_parameters()

    out = tempfile.mkdtemp()
    targs = TrainingArguments(
        output_dir=out,
        per_device_train_batch_size=args.batch,
        gradient_accumulation_steps=2,
        max_steps=args.max_steps,
        learning_rate=2e-4,
        lr_scheduler_type="cosine",
        bf16=True,
        logging_steps=1,
        save_strategy="no",
        report_to=[],
        remove_unused_columns=False,
    )
    trainer = Trainer(model=model, args=targs, train_dataset=InstructData(128, args.seq_len, config.vocab_size))
    trainer.train()
    model.save_pretrained(out)


if __name__ == "__main__":
    main()
