from dataclasses import dataclass, field

import torch
from datasets import Dataset
from transformers import AutoConfig, AutoModelForCausalLM, HfArgumentParser
from trl import KTOConfig, KTOTrainer, ModelConfig, get_peft_config
from words import text, tokenizer


@dataclass
class DataArguments:
    config: str = field(default="models/gpt2")
    seq_len: int = field(default=512)
    prompt_len: int = field(default=128)
    examples: int = field(default=32)


def main():
    parser = HfArgumentParser((DataArguments, KTOConfig, ModelConfig))
    data_args, training_args, model_args = parser.parse_args_into_dataclasses()
    config = AutoConfig.from_pretrained(data_args.config)
    model = AutoModelForCausalLM.from_config(config, dtype=getattr(torch, model_args.dtype))
    model.save_pretrained("saved")
    model.config._name_or_path = "saved"
    words = config.vocab_size
    answer = data_args.seq_len - data_args.prompt_len - 1
    data = {
        "prompt": [text(words, data_args.prompt_len) + " " for _ in range(data_args.examples)],
        "completion": [text(words, answer) for _ in range(data_args.examples)],
        "label": [i % 2 == 0 for i in range(data_args.examples)],
    }
    trainer = KTOTrainer(
        model=model,
        args=training_args,
        train_dataset=Dataset.from_dict(data),
        processing_class=tokenizer(words),
        peft_config=get_peft_config(model_args),
    )
    trainer.train()


if __name__ == "__main__":
    main()
