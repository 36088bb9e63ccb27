from dataclasses import dataclass, field

import torch
from transformers import (AutoConfig, AutoModelForSeq2SeqLM, HfArgumentParser, Seq2SeqTrainer, Seq2SeqTrainingArguments)


@dataclass
class ScriptArguments:
    model_name: str = field(default="models/t5-small")
    max_source_length: int = field(default=256)
    max_target_length: int = field(default=64)
    batch_size: int = field(default=8)
    optim: str = field(default="adafactor", metadata={"help": "any optimizer name of the Trainer"})


class Pairs(torch.utils.data.Dataset):
    def __init__(self, n, vocab, src, tgt):
        self.n, self.vocab, self.src, self.tgt = n, vocab, src, tgt

    def __len__(self):
        return self.n

    def __getitem__(self, idx):
        return {"input_ids": torch.randint(3, self.vocab, (self.src,)), "labels": torch.randint(3, self.vocab, (self.tgt,))}


def collator(features):
    ids = torch.stack([f["input_ids"] for f in features])
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": torch.stack([f["labels"] for f in features])}


def main():
    (script_args,) = HfArgumentParser(ScriptArguments).parse_args_into_dataclasses()
    config = AutoConfig.from_pretrained(script_args.model_name)
    model = AutoModelForSeq2SeqLM.from_config(config)
    training_args = Seq2SeqTrainingArguments(
        output_dir="s2s",
        per_device_train_batch_size=script_args.batch_size,
        per_device_eval_batch_size=script_args.batch_size * 2,
        learning_rate=1e-3,
        optim=script_args.optim,
        max_steps=6,
        eval_strategy="steps",
        eval_steps=3,
        prediction_loss_only=True,
        save_strategy="no",
        logging_steps=3,
        report_to="none",
    )
    make = lambda n: Pairs(n, config.vocab_size, script_args.max_source_length, script_args.max_target_length)
    trainer = Seq2SeqTrainer(model=model, args=training_args, data_collator=collator,
                             train_dataset=make(6 * script_args.batch_size), eval_dataset=make(4 * script_args.batch_size))
    trainer.train()


if __name__ == "__main__":
    main()
