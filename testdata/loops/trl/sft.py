import torch
from datasets import Dataset
from transformers import AutoConfig, AutoModelForCausalLM, HfArgumentParser, PreTrainedTokenizerFast
from trl import ModelConfig, SFTConfig, SFTTrainer, get_peft_config
from dataclasses import dataclass, field


@dataclass
class DataArguments:
    config: str = field(default="models/gpt2")
    seq_len: int = field(default=512)
    examples: int = field(default=64)


def tokenizer(vocab_size):
    from tokenizers import Tokenizer, models

    words = {f"w{i}": i for i in range(vocab_size)}
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel(words, unk_token="w0")), eos_token="w1", pad_token="w2", unk_token="w0")


def main():
    parser = HfArgumentParser((DataArguments, SFTConfig, ModelConfig))
    data_args, training_args, model_args = parser.parse_args_into_dataclasses()
    config = AutoConfig.from_pretrained(data_args.config)
    model = AutoModelForCausalLM.from_config(config)
    tokens = torch.randint(3, config.vocab_size, (data_args.examples, data_args.seq_len)).tolist()
    trainer = SFTTrainer(
        model=model,
        args=training_args,
        train_dataset=Dataset.from_dict({"input_ids": tokens}),
        processing_class=tokenizer(config.vocab_size),
        peft_config=get_peft_config(model_args),
    )
    trainer.train()


if __name__ == "__main__":
    main()
