# SPDX-License-Identifier: Apache-2.0
"""TRL's supervised fine-tuning (trl 1.16): trainer/base_config.py, sft_config.py, model_config.py, sft_trainer.py."""
from dataclasses import dataclass

import snug
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


@dataclass
class SFTConfig(TrainingArguments):
    logging_steps: float = 10
    gradient_checkpointing: bool = True
    bf16: bool = None
    learning_rate: float = 2e-5
    model_init_kwargs: dict = None
    router_aux_loss_coef: float = None
    dataset_text_field: str = "text"
    dataset_kwargs: dict = None
    max_length: int = 1024
    truncation_mode: str = "keep_start"
    shuffle_dataset: bool = False
    packing: bool = False
    packing_strategy: str = "bfd"
    padding_free: bool = False
    pad_to_multiple_of: int = None
    eval_packing: bool = None
    completion_only_loss: bool = None
    assistant_only_loss: bool = False
    loss_type: str = "nll"
    activation_offloading: bool = False


@dataclass
class ModelConfig:
    model_name_or_path: str = None
    model_revision: str = "main"
    dtype: str = "float32"
    attn_implementation: str = None
    trust_remote_code: bool = False
    use_peft: bool = False
    lora_r: int = 16
    lora_alpha: int = 32
    lora_dropout: float = 0.05
    lora_target_modules: list = None
    lora_modules_to_save: list = None
    lora_task_type: str = "CAUSAL_LM"
    use_rslora: bool = False
    use_dora: bool = False
    load_in_8bit: bool = False
    load_in_4bit: bool = False


@dataclass
class ScriptArguments:
    dataset_name: str = None
    dataset_config: str = None
    dataset_train_split: str = "train"
    dataset_test_split: str = "test"
    dataset_streaming: bool = False


def get_peft_config(model_args):
    if not model_args.use_peft:
        return None
    return LoraConfig(
        task_type=model_args.lora_task_type,
        r=model_args.lora_r,
        target_modules=model_args.lora_target_modules,
        lora_alpha=model_args.lora_alpha,
        lora_dropout=model_args.lora_dropout,
        use_dora=model_args.use_dora,
        modules_to_save=model_args.lora_modules_to_save,
    )


def get_quantization_config(model_args):
    if model_args.load_in_4bit or model_args.load_in_8bit:
        snug.note("quantized weights are taken from the setup, not from TRL's ModelConfig")
    return None


def get_kbit_device_map():
    return None


class SFTTrainer(Trainer):
    # SFTTrainer.__init__: the model by its name, adapters before the Trainer moves it, a loss that makes no logits.
    def __init__(self, model=None, args=None, data_collator=None, train_dataset=None, eval_dataset=None, processing_class=None,
                 compute_loss_func=None, compute_metrics=None, callbacks=None, optimizers=(None, None),
                 optimizer_cls_and_kwargs=None, preprocess_logits_for_metrics=None, peft_config=None, formatting_func=None):
        if args is None:
            args = SFTConfig(output_dir="out")
        if args.bf16 is None:
            args.bf16 = not args.fp16
        if isinstance(model, str):
            model = AutoModelForCausalLM.from_pretrained(model)
        if args.activation_offloading:
            snug.note("offloaded activations are counted on the card; the run takes less")
        if args.packing or args.padding_free:
            snug.note("packed samples are counted as one sample each, as long as the setup says")
        if peft_config is not None:
            model = get_peft_model(model, peft_config)
        if args.loss_type not in ("nll", "chunked_nll"):
            snug.note("this loss_type of TRL is counted as nll")
        if not args.use_liger_kernel:
            snug.trl_loss(model)
        super().__init__(model=model, args=args, data_collator=data_collator, train_dataset=train_dataset,
                         eval_dataset=eval_dataset, processing_class=processing_class, compute_loss_func=compute_loss_func,
                         compute_metrics=compute_metrics, callbacks=callbacks, optimizers=optimizers,
                         preprocess_logits_for_metrics=preprocess_logits_for_metrics)
