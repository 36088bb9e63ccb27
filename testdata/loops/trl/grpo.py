from dataclasses import dataclass, field

import torch
from datasets import Dataset
from transformers import AutoConfig, AutoModelForCausalLM, HfArgumentParser
from trl import GRPOConfig, GRPOTrainer, ModelConfig, get_peft_config
from words import text, tokenizer


@dataclass
class DataArguments:
    config: str = field(default="models/gpt2")
    prompt_len: int = field(default=128)
    examples: int = field(default=32)
    by_name: bool = field(default=False, metadata={"help": "the trainer loads the model"})


def length(completions, **kwargs):
    return [float(len(c) % 7) for c in completions]


def main():
    # the trainer's arguments come last: under ZeRO-3 they partition every model that is made after them
    data_args, model_args, rest = HfArgumentParser((DataArguments, ModelConfig)).parse_args_into_dataclasses(return_remaining_strings=True)
    config = AutoConfig.from_pretrained(data_args.config)
    model = AutoModelForCausalLM.from_config(config, dtype=getattr(torch, model_args.dtype))
    model.save_pretrained("saved")
    model.config._name_or_path = "saved"
    (training_args,) = HfArgumentParser(GRPOConfig).parse_args_into_dataclasses(rest)
    if data_args.by_name:
        training_args.model_init_kwargs = {"dtype": model_args.dtype}
        model = "saved"
    prompts = [text(config.vocab_size, data_args.prompt_len) for _ in range(data_args.examples)]
    trainer = GRPOTrainer(
        model=model,
        reward_funcs=length,
        args=training_args,
        train_dataset=Dataset.from_dict({"prompt": prompts}),
        processing_class=tokenizer(config.vocab_size),
        peft_config=get_peft_config(model_args),
    )
    trainer.train()
    print([(row.get("completions/min_length"), row.get("completions/max_length")) for row in trainer.state.log_history])


if __name__ == "__main__":
    main()
