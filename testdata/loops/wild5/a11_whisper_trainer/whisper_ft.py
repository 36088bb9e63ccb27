from dataclasses import dataclass
from typing import Any, Dict, List

import torch
from transformers import (Seq2SeqTrainer, Seq2SeqTrainingArguments, WhisperConfig,
                          WhisperForConditionalGeneration)


class SpeechSet(torch.utils.data.Dataset):
    def __init__(self, n, label_len=64):
        self.n = n
        self.label_len = label_len

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return {"input_features": torch.randn(80, 3000), "labels": torch.randint(0, 50000, (self.label_len,)).tolist()}


@dataclass
class Collator:
    decoder_start_token_id: int
    max_label: int = 96

    def __call__(self, features: List[Dict[str, Any]]):
        batch = {"input_features": torch.stack([f["input_features"] for f in features])}
        labels = torch.full((len(features), self.max_label), -100, dtype=torch.long)
        for i, f in enumerate(features):
            labels[i, : len(f["labels"])] = torch.tensor(f["labels"])
        batch["labels"] = labels
        return batch


def main():
    config = WhisperConfig(
        vocab_size=51865, d_model=768, encoder_layers=12, decoder_layers=12, encoder_attention_heads=12,
        decoder_attention_heads=12, encoder_ffn_dim=3072, decoder_ffn_dim=3072, num_mel_bins=80,
        max_source_positions=1500, max_target_positions=448,
    )
    model = WhisperForConditionalGeneration(config)
    model.config.use_cache = False
    args = Seq2SeqTrainingArguments(
        output_dir="whisper-out",
        per_device_train_batch_size=8,
        per_device_eval_batch_size=4,
        gradient_accumulation_steps=1,
        gradient_checkpointing=True,
        gradient_checkpointing_kwargs={"use_reentrant": False},
        learning_rate=1e-5,
        warmup_steps=2,
        max_steps=8,
        bf16=True,
        optim="adamw_torch",
        eval_strategy="no",
        save_strategy="no",
        logging_steps=1,
        report_to=[],
        remove_unused_columns=False,
        label_names=["labels"],
        prediction_loss_only=True,
    )
    trainer = Seq2SeqTrainer(
        model=model,
        args=args,
        train_dataset=SpeechSet(80),
        eval_dataset=SpeechSet(12),
        data_collator=Collator(config.decoder_start_token_id),
    )
    trainer.train()
    print(trainer.evaluate())


if __name__ == "__main__":
    main()
