from dataclasses import dataclass, field

import torch
from datasets import Dataset
from transformers import AutoConfig, AutoModelForCausalLM, HfArgumentParser
from trl import DPOConfig, DPOTrainer, ModelConfig, get_peft_config
from words import text, tokenizer


@dataclass
class DataArguments:
    config: str = field(default="models/gpt2")
    seq_len: int = field(default=512)
    prompt_len: int = field(default=128)
    examples: int = field(default=32)
    given: bool = field(default=False, metadata={"help": "the reference model is made here, not by the trainer"})
    by_name: bool = field(default=False, metadata={"help": "the trainer loads the model"})


def main():
    # DPOConfig comes last: under ZeRO-3 it partitions every model that is made after it
    data_args, model_args, rest = HfArgumentParser((DataArguments, ModelConfig)).parse_args_into_dataclasses(return_remaining_strings=True)
    config = AutoConfig.from_pretrained(data_args.config)
    dtype = getattr(torch, model_args.dtype)
    model = AutoModelForCausalLM.from_config(config, dtype=dtype)
    reference = AutoModelForCausalLM.from_config(config, dtype=dtype) if data_args.given else None
    model.save_pretrained("saved")
    model.config._name_or_path = "saved"
    (training_args,) = HfArgumentParser(DPOConfig).parse_args_into_dataclasses(rest)
    if data_args.by_name:
        training_args.model_init_kwargs = {"dtype": model_args.dtype}
        model = "saved"
    words = config.vocab_size
    prompts = [text(words, data_args.prompt_len) + " " for _ in range(data_args.examples)]
    answer = data_args.seq_len - data_args.prompt_len - 1
    data = {
        "prompt": prompts,
        "chosen": [text(words, answer) for _ in prompts],
        "rejected": [text(words, answer) for _ in prompts],
    }
    trainer = DPOTrainer(
        model=model,
        ref_model=reference,
        args=training_args,
        train_dataset=Dataset.from_dict(data),
        processing_class=tokenizer(words),
        peft_config=get_peft_config(model_args),
    )
    trainer.train()


if __name__ == "__main__":
    main()
