# SPDX-License-Identifier: Apache-2.0
"""TrainingArguments with their defaults (transformers 5.17, training_args.py)."""
from dataclasses import dataclass, field

import snug


class IntervalStrategy:
    NO = "no"
    STEPS = "steps"
    EPOCH = "epoch"


class SaveStrategy:
    NO = "no"
    STEPS = "steps"
    EPOCH = "epoch"
    BEST = "best"


@dataclass
class TrainingArguments:
    output_dir: str = None
    per_device_train_batch_size: int = 8
    num_train_epochs: float = 3.0
    max_steps: int = -1
    learning_rate: float = 5e-5
    lr_scheduler_type: str = "linear"
    lr_scheduler_kwargs: dict = None
    warmup_steps: float = 0
    warmup_ratio: float = None
    optim: str = "adamw_torch_fused"
    optim_args: str = None
    weight_decay: float = 0.0
    adam_beta1: float = 0.9
    adam_beta2: float = 0.999
    adam_epsilon: float = 1e-8
    optim_target_modules: list = None
    gradient_accumulation_steps: int = 1
    average_tokens_across_devices: bool = True
    max_grad_norm: float = 1.0
    label_smoothing_factor: float = 0.0
    bf16: bool = False
    fp16: bool = False
    bf16_full_eval: bool = False
    fp16_full_eval: bool = False
    tf32: bool = None
    gradient_checkpointing: bool = False
    gradient_checkpointing_kwargs: dict = None
    torch_compile: bool = False
    torch_compile_backend: str = None
    torch_compile_mode: str = None
    use_liger_kernel: bool = False
    liger_kernel_config: dict = None
    use_cache: bool = False
    neftune_noise_alpha: float = None
    torch_empty_cache_steps: int = None
    auto_find_batch_size: bool = False
    logging_strategy: str = "steps"
    logging_steps: float = 500
    logging_first_step: bool = False
    log_on_each_node: bool = True
    logging_nan_inf_filter: bool = True
    include_num_input_tokens_seen: str = "no"
    log_level: str = "passive"
    log_level_replica: str = "warning"
    disable_tqdm: bool = None
    report_to: list = "none"
    run_name: str = None
    project: str = "huggingface"
    eval_strategy: str = "no"
    eval_steps: float = None
    eval_delay: float = 0
    per_device_eval_batch_size: int = 8
    prediction_loss_only: bool = False
    eval_on_start: bool = False
    eval_do_concat_batches: bool = True
    eval_use_gather_object: bool = False
    eval_accumulation_steps: int = None
    include_for_metrics: list = field(default_factory=list)
    batch_eval_metrics: bool = False
    save_only_model: bool = False
    save_strategy: str = "steps"
    save_steps: float = 500
    save_on_each_node: bool = False
    save_total_limit: int = None
    enable_jit_checkpoint: bool = False
    push_to_hub: bool = False
    hub_token: str = None
    hub_private_repo: bool = None
    hub_model_id: str = None
    hub_strategy: str = "every_save"
    hub_always_push: bool = False
    hub_revision: str = None
    load_best_model_at_end: bool = False
    metric_for_best_model: str = None
    greater_is_better: bool = None
    ignore_data_skip: bool = False
    restore_callback_states_from_checkpoint: bool = False
    full_determinism: bool = False
    seed: int = 42
    data_seed: int = None
    use_cpu: bool = False
    accelerator_config: dict = None
    parallelism_config: dict = None
    dataloader_drop_last: bool = False
    dataloader_num_workers: int = 0
    dataloader_pin_memory: bool = True
    dataloader_persistent_workers: bool = False
    dataloader_prefetch_factor: int = None
    dataloader_multiprocessing_context: str = None
    dataloader_in_order: bool = True
    remove_unused_columns: bool = True
    label_names: list = None
    train_sampling_strategy: str = "random"
    length_column_name: str = "length"
    group_by_length: bool = False
    ddp_find_unused_parameters: bool = None
    ddp_bucket_cap_mb: int = None
    ddp_broadcast_buffers: bool = None
    ddp_static_graph: bool = None
    ddp_backend: str = None
    ddp_timeout: int = 1800
    fsdp: str = None
    fsdp_config: dict = None
    deepspeed: dict = None
    debug: str = ""
    skip_memory_metrics: bool = True
    do_train: bool = False
    do_eval: bool = False
    do_predict: bool = False
    resume_from_checkpoint: str = None
    local_rank: int = -1

    def __post_init__(self):
        if isinstance(self.include_num_input_tokens_seen, bool):
            self.include_num_input_tokens_seen = "all" if self.include_num_input_tokens_seen else "no"
        if hasattr(self, "evaluation_strategy"):  # its name before 4.41
            self.eval_strategy = self.evaluation_strategy
        if isinstance(self.include_for_metrics, str):
            self.include_for_metrics = [self.include_for_metrics]
        if isinstance(self.label_names, str):
            self.label_names = [self.label_names]
        if not self.do_eval and self.eval_strategy != "no":
            self.do_eval = True
        if self.eval_strategy == "steps" and not self.eval_steps:
            self.eval_steps = self.logging_steps
        self.mixed_precision = "no"
        if self.fp16:
            self.mixed_precision = "fp16"
        elif self.bf16:
            self.mixed_precision = "bf16"
        if self.torch_compile_mode is not None or self.torch_compile_backend is not None:
            self.torch_compile = True
        self.device = "cuda"
        self.n_gpu = 1
        self.world_size = 1
        self.process_index = 0
        self.local_process_index = 0
        self.parallel_mode = "not_distributed"
        self.place_model_on_device = None
        self.should_save = True
        self.should_log = True

    @property
    def train_batch_size(self):
        return self.per_device_train_batch_size

    @property
    def eval_batch_size(self):
        return self.per_device_eval_batch_size

    def get_warmup_steps(self, num_training_steps):
        return 0

    def to_dict(self):
        return {}

    def main_process_first(self, local=True, desc="work"):
        return snug.no_context()

    def get_process_log_level(self):
        return 30


# training_args_seq2seq.py
@dataclass
class Seq2SeqTrainingArguments(TrainingArguments):
    sortish_sampler: bool = False
    predict_with_generate: bool = False
    generation_max_length: int = None
    generation_num_beams: int = None
    generation_config: str = None
