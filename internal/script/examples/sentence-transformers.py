# SPDX-License-Identifier: Apache-2.0
# sentence-transformers' trainer, with MultipleNegativesRankingLoss over an anchor and the texts it is compared
# with.
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments, losses, models
from snug import eval_loader, load_model, loader, settings

word = models.Transformer("model")
if settings.checkpointing:
    word.auto_model.gradient_checkpointing_enable()
model = SentenceTransformer(modules=[word, models.Pooling(word.get_word_embedding_dimension())])
loss = losses.MultipleNegativesRankingLoss(model)
loss._columns = 1 + max(settings.positives, 1) + settings.negatives
loss._any_columns = False
args = SentenceTransformerTrainingArguments(
    output_dir="out",
    per_device_train_batch_size=settings.batch,
    gradient_accumulation_steps=settings.accumulation,
    max_grad_norm=1.0 if settings.clip else 0.0,
    bf16=settings.precision == "amp-bf16",
    fp16=settings.precision == "amp-fp16",
    eval_strategy="steps" if settings.evaluation else "no",
    eval_steps=settings.evaluation.every if settings.evaluation else None,
    per_device_eval_batch_size=settings.evaluation.batch if settings.evaluation else 8,
)
trainer = SentenceTransformerTrainer(model=model, args=args, train_dataset=loader.dataset, loss=loss,
                                     eval_dataset=eval_loader.dataset if settings.evaluation else None)
trainer.train()
