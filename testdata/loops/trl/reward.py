from dataclasses import dataclass, field

import torch
from datasets import Dataset
from transformers import AutoConfig, AutoModelForSequenceClassification, HfArgumentParser
from trl import ModelConfig, RewardConfig, RewardTrainer, get_peft_config
from words import text, tokenizer


@dataclass
class DataArguments:
    config: str = field(default="models/gpt2")
    seq_len: int = field(default=512)
    examples: int = field(default=32)


def main():
    parser = HfArgumentParser((DataArguments, RewardConfig, ModelConfig))
    data_args, training_args, model_args = parser.parse_args_into_dataclasses()
    config = AutoConfig.from_pretrained(data_args.config, num_labels=1)
    model = AutoModelForSequenceClassification.from_config(config, dtype=getattr(torch, model_args.dtype))
    words = config.vocab_size
    answer = data_args.seq_len - 1
    data = {
        "chosen": [text(words, answer) for _ in range(data_args.examples)],
        "rejected": [text(words, answer) for _ in range(data_args.examples)],
    }
    trainer = RewardTrainer(
        model=model,
        args=training_args,
        train_dataset=Dataset.from_dict(data),
        processing_class=tokenizer(words),
        peft_config=get_peft_config(model_args),
    )
    trainer.train()


if __name__ == "__main__":
    main()
