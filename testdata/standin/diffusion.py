"""Records what one step of diffusers' train_text_to_image.py or train_text_to_image_lora.py requests from the
allocator, on models with random weights, or measures the peaks of a whole run.

usage: diffusion.py ops CASES.jsonl OUTDIR ID     writes a recording like those of opslog.py
       diffusion.py run CASES.jsonl ID            prints the case's row

A case has the configs of the U-Net, the VAE and the text encoder, and the programs' flags under snug's names."""
import gzip, json, os, sys
import torch, torch.nn.functional as F, transformers, diffusers, accelerate
from accelerate.utils import convert_outputs_to_fp32
from diffusers import AutoencoderKL, DDPMScheduler, UNet2DConditionModel
from diffusers.training_utils import cast_training_params
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "measured"))
import opslog

TYPES = {"amp-fp16": torch.float16, "amp-bf16": torch.bfloat16}
plain = lambda c: {k: v for k, v in c.items() if k not in ("model_type", "_class_name", "_diffusers_version", "architectures", "torch_dtype", "transformers_version")}


class Models:
    """the three models, on the card as the programs put them there"""

    def __init__(self, c, dev):
        parts = c["config"]
        self.amp = TYPES.get(c["precision"])
        weights = self.amp or torch.float32
        self.weights = weights
        self.text = transformers.CLIPTextModel(transformers.CLIPTextConfig(**plain(parts["text_encoder"])))
        self.vae = AutoencoderKL(**plain(parts["vae"]))
        self.unet = UNet2DConditionModel(**plain(parts["unet"]))
        self.text.eval(), self.vae.eval(), self.unet.eval()  # as from_pretrained leaves them
        self.vae.requires_grad_(False)
        self.text.requires_grad_(False)
        self.scheduler = DDPMScheduler(prediction_type=parts.get("prediction_type", "epsilon"))
        if c.get("lora"):
            import peft
            self.unet.requires_grad_(False)
            self.unet.to(dev, dtype=weights)
            self.vae.to(dev, dtype=weights)
            self.text.to(dev, dtype=weights)
            r = c["lora"]["r"]
            self.unet.add_adapter(peft.LoraConfig(r=r, lora_alpha=r, init_lora_weights="gaussian", target_modules=c["lora"]["targets"]))
            if self.amp is torch.float16: cast_training_params(self.unet, dtype=torch.float32)
        else:
            self.unet.train()
        if c.get("checkpointing"): self.unet.enable_gradient_checkpointing()
        self.trained = [p for p in self.unet.parameters() if p.requires_grad]

    def finish(self, dev):
        """what full training moves after the optimizer exists: accelerator.prepare, then the frozen models"""
        self.unet.to(dev)
        self.text.to(dev, dtype=self.weights)
        self.vae.to(dev, dtype=self.weights)
        self.unet.train()

    def autocast(self):
        """accelerator.prepare_model: the forward under autocast, its outputs in float32"""
        if self.amp: self.unet.forward = convert_outputs_to_fp32(torch.autocast("cuda", dtype=self.amp)(self.unet.forward))


def batch_of(c, dev):
    side = c["resolution"]
    return dict(pixel_values=torch.randn(c["batch"], 3, side, side, device=dev), input_ids=torch.randint(0, 30000, (c["batch"], 77), device=dev))


def loss_of(c, m, batch):
    """the body of the programs' loop, up to the loss"""
    latents = m.vae.encode(batch["pixel_values"].to(m.weights)).latent_dist.sample()
    latents = latents * m.vae.config.scaling_factor
    noise = torch.randn_like(latents)
    timesteps = torch.randint(0, m.scheduler.config.num_train_timesteps, (latents.shape[0],), device=latents.device)
    timesteps = timesteps.long()
    noisy_latents = m.scheduler.add_noise(latents, noise, timesteps)
    encoder_hidden_states = m.text(batch["input_ids"], return_dict=False)[0]
    target = noise if m.scheduler.config.prediction_type == "epsilon" else m.scheduler.get_velocity(latents, noise, timesteps)
    model_pred = m.unet(noisy_latents, timesteps, encoder_hidden_states, return_dict=False)[0]
    return F.mse_loss(model_pred.float(), target.float(), reduction="mean")


def ops(c, path):
    dev = torch.device("cuda:0"); torch.cuda.init(); torch.empty(1, device=dev)
    torch.cuda.memory._record_memory_history(max_entries=1_000_000, context=None)
    m = Models(c, dev)
    m.finish(dev)
    m.autocast()
    m.scheduler.alphas_cumprod = m.scheduler.alphas_cumprod.to(dev)
    opt = torch.optim.AdamW(m.trained, lr=1e-4)
    sc = torch.amp.GradScaler("cuda", enabled=m.amp is torch.float16)
    t = opslog.Tag()
    with t:
        for i in range(2):
            t.note("step %d: batch" % (i + 1)); b = batch_of(c, dev)
            t.note("forward"); loss = loss_of(c, m, b)
            t.note("backward"); sc.scale(loss).backward(); t.note("backward done, loss and batch dropped"); del loss, b
            if c.get("clip"): t.note("clip"); sc.unscale_(opt); torch.nn.utils.clip_grad_norm_(m.trained, 1.0)
            t.note("optimizer"); sc.step(opt); sc.update()
            t.note("zero_grad"); opt.zero_grad(set_to_none=True); t.note("step ends")
    write(c, path, t, sum(p.numel() for p in m.unet.parameters()))


def write(c, path, t, parameters):
    """writes the recording; of each op of PyTorch only the name, because there are thousands"""
    t.lines = [l.split("(")[0] if l.startswith("op aten.") else l for l in t.lines]
    names, n, order = {}, 0, []
    for e in torch.cuda.memory._snapshot()["device_traces"][0]:
        tag = int(e.get("user_metadata") or 0)
        if e["action"] == "alloc":
            n += 1; names[e["addr"]] = n; order.append((tag, "    + %d  #%d%s" % (e["size"], n, "" if not e["stream"] else " stream %x" % e["stream"])))
        elif e["action"] == "free_completed": order.append((tag, "    - #%s" % names.pop(e["addr"], "?")))
    out, at = [], -1
    for tag, text in order:
        while at < tag: at += 1; out.append(t.lines[at])
        out.append(text if tag == at else text + "   (tag %d)" % tag)
    while at < len(t.lines) - 1: at += 1; out.append(t.lines[at])
    with gzip.open(path, "wt", compresslevel=9) as f:
        f.write("# %s\n# recorded on the stand-in for a GPU (testdata/standin); torch %s, diffusers %s, transformers %s; %d parameters\n" % (
            json.dumps(c), torch.__version__, diffusers.__version__, transformers.__version__, parameters))
        f.write("\n".join(out) + "\n")
    print(c["id"], len(out), flush=True)


def run(c):
    """the programs' main(): its variables live from one iteration to the next"""
    dev = torch.device("cuda:0"); torch.cuda.init(); torch.empty(1, device=dev)
    accelerator = accelerate.Accelerator(gradient_accumulation_steps=c.get("accumulation", 1), mixed_precision={"amp-fp16": "fp16", "amp-bf16": "bf16"}.get(c["precision"], "no"))
    for name in [n for n in dir(torch.nn.init) if n.endswith("_") and n[0] != "_"]: setattr(torch.nn.init, name, lambda t, *a, **k: t)
    m = Models(c, dev)
    layers = filter(lambda p: p.requires_grad, m.unet.parameters())  # which the optimizer uses up, so that nothing is clipped
    optimizer = torch.optim.AdamW(layers if c.get("lora") else m.unet.parameters(), lr=1e-4)
    if c.get("optimizer") == "adamw-8bit": raise SystemExit("not on the stand-in")
    unet, optimizer = accelerator.prepare(m.unet, optimizer)
    m.unet = unet
    if not c.get("lora"):
        m.text.to(dev, dtype=m.weights)
        m.vae.to(dev, dtype=m.weights)
    unet.train()
    peaks, train_loss = [], 0.0
    for step in range(c.get("steps", 3) * c.get("accumulation", 1)):
        batch = batch_of(c, dev)
        with accelerator.accumulate(unet):
            latents = m.vae.encode(batch["pixel_values"].to(m.weights)).latent_dist.sample()
            latents = latents * m.vae.config.scaling_factor
            noise = torch.randn_like(latents)
            timesteps = torch.randint(0, m.scheduler.config.num_train_timesteps, (latents.shape[0],), device=latents.device)
            timesteps = timesteps.long()
            noisy_latents = m.scheduler.add_noise(latents, noise, timesteps)
            encoder_hidden_states = m.text(batch["input_ids"], return_dict=False)[0]
            target = noise if m.scheduler.config.prediction_type == "epsilon" else m.scheduler.get_velocity(latents, noise, timesteps)
            model_pred = unet(noisy_latents, timesteps, encoder_hidden_states, return_dict=False)[0]
            loss = F.mse_loss(model_pred.float(), target.float(), reduction="mean")
            avg_loss = accelerator.gather(loss.repeat(c["batch"])).mean()
            train_loss += avg_loss.item() / c.get("accumulation", 1)
            accelerator.backward(loss)
            if accelerator.sync_gradients: accelerator.clip_grad_norm_(layers if c.get("lora") else unet.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        loss.detach().item()
    print(json.dumps({"case": c["id"], "params": sum(p.numel() for p in unet.parameters()), "trainable": sum(p.numel() for p in unet.parameters() if p.requires_grad),
        "peak_allocated": torch.cuda.max_memory_allocated(), "peak_reserved": torch.cuda.max_memory_reserved()}), flush=True)


if __name__ == "__main__":
    cases = {c["id"]: c for c in map(json.loads, open(sys.argv[2]))}
    if sys.argv[1] == "run": run(cases[sys.argv[3]])
    else: ops(cases[sys.argv[4]], os.path.join(sys.argv[3], sys.argv[4] + ".txt.gz"))
