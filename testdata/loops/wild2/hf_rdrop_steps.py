# Trainer subclass: training_step override (adds an FGM-free consistency pass), custom create_optimizer with two rates
import argparse
import torch
import torch.nn.functional as F
from transformers import AutoConfig, AutoModelForTokenClassification, Trainer, TrainingArguments


class ConsistencyTrainer(Trainer):
    alpha = 0.5

    def create_optimizer(self, *args, **kwargs):
        if self.optimizer is None:
            head = [p for n, p in self.model.named_parameters() if n.startswith("classifier")]
            body = [p for n, p in self.model.named_parameters() if not n.startswith("classifier")]
            self.optimizer = torch.optim.AdamW([{"params": body, "lr": self.args.learning_rate},
                                                {"params": head, "lr": self.args.learning_rate * 10}], weight_decay=0.01)
        return self.optimizer

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        first = model(**inputs)
        if not model.training:
            return (first.loss, first) if return_outputs else first.loss
        second = model(**inputs)
        p, q = F.log_softmax(first.logits, -1), F.log_softmax(second.logits, -1)
        kl = F.kl_div(p, q, log_target=True, reduction="batchmean") + F.kl_div(q, p, log_target=True, reduction="batchmean")
        loss = (first.loss + second.loss) / 2 + self.alpha * kl / p.size(1)
        return (loss, first) if return_outputs else loss


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--config")
    p.add_argument("--train-batch-size", type=int, default=8)
    p.add_argument("--max-seq-length", type=int, default=128)
    a = p.parse_args()
    cfg = AutoConfig.from_pretrained(a.config, num_labels=13)
    model = AutoModelForTokenClassification.from_config(cfg)

    def make(n):
        return [dict(input_ids=torch.randint(cfg.vocab_size, (a.max_seq_length,)), labels=torch.randint(13, (a.max_seq_length,))) for _ in range(n)]

    def metrics(p):
        return {"token_acc": float((p.predictions.argmax(-1) == p.label_ids).mean())}

    args = TrainingArguments("ner", per_device_train_batch_size=a.train_batch_size, per_device_eval_batch_size=a.train_batch_size,
                             max_steps=6, eval_strategy="steps", eval_steps=3, learning_rate=3e-5, report_to="none",
                             save_strategy="no", logging_steps=3, gradient_accumulation_steps=1)
    trainer = ConsistencyTrainer(model=model, args=args, train_dataset=make(6 * a.train_batch_size), eval_dataset=make(2 * a.train_batch_size), compute_metrics=metrics)
    trainer.train()


main()
