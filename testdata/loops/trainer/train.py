"""Train a causal language model with the Trainer on blocks of tokens."""
from dataclasses import dataclass, field
from typing import Optional

import torch
from torch.utils.data import Dataset
from transformers import AutoConfig, AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments, set_seed


@dataclass
class ModelArguments:
    config_name: Optional[str] = field(default=None, metadata={"help": "train from scratch with this config"})
    model_name_or_path: Optional[str] = field(default=None, metadata={"help": "weights to start from"})
    dtype: Optional[str] = field(default=None, metadata={"help": "the weights' type: auto, bfloat16, float32"})
    attn_implementation: Optional[str] = field(default=None)
    lora_r: int = field(default=0, metadata={"help": "train a LoRA of this rank instead of all weights"})


@dataclass
class DataArguments:
    block_size: int = field(default=512)
    train_blocks: int = field(default=256)
    eval_blocks: int = field(default=32)
    compute_accuracy: bool = field(default=False)
    keep_predictions_only: bool = field(default=False)


class Blocks(Dataset):
    def __init__(self, vocab_size, blocks, block_size, seed):
        generator = torch.Generator().manual_seed(seed)
        self.tokens = torch.randint(0, vocab_size, (blocks, block_size), generator=generator)

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, i):
        return {"input_ids": self.tokens[i], "attention_mask": torch.ones_like(self.tokens[i]), "labels": self.tokens[i]}


def accuracy(prediction):
    logits, labels = prediction
    tokens = logits if logits.ndim == 2 else logits.argmax(-1)
    return {"accuracy": float((tokens[:, :-1] == labels[:, 1:]).mean())}


def only_tokens(logits, labels):
    if isinstance(logits, tuple):
        logits = logits[0]
    return logits.argmax(dim=-1)


def main():
    parser = HfArgumentParser((ModelArguments, DataArguments, TrainingArguments))
    model_args, data_args, training_args = parser.parse_args_into_dataclasses()
    set_seed(training_args.seed)

    extra = {"attn_implementation": model_args.attn_implementation} if model_args.attn_implementation else {}
    if model_args.model_name_or_path:
        if model_args.dtype:
            extra["dtype"] = model_args.dtype
        model = AutoModelForCausalLM.from_pretrained(model_args.model_name_or_path, **extra)
    else:
        config = AutoConfig.from_pretrained(model_args.config_name)
        model = AutoModelForCausalLM.from_config(config, **extra)
    if model_args.lora_r:
        from peft import LoraConfig, get_peft_model

        model = get_peft_model(model, LoraConfig(r=model_args.lora_r, task_type="CAUSAL_LM"))

    vocab_size = model.config.vocab_size
    trainer = Trainer(
        model=model,
        args=training_args,
        train_dataset=Blocks(vocab_size, data_args.train_blocks, data_args.block_size, 0),
        eval_dataset=Blocks(vocab_size, data_args.eval_blocks, data_args.block_size, 1),
        compute_metrics=accuracy if data_args.compute_accuracy else None,
        preprocess_logits_for_metrics=only_tokens if data_args.keep_predictions_only else None,
    )
    trainer.train(resume_from_checkpoint=training_args.resume_from_checkpoint)
    if training_args.do_eval:
        trainer.evaluate()
    if training_args.do_predict:
        trainer.predict(Blocks(vocab_size, data_args.eval_blocks, data_args.block_size, 2))


if __name__ == "__main__":
    main()
