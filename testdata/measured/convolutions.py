"""Measures convolution workspaces: what each call allocates and frees before it returns.

usage: OUT=dir python3 convolutions.py [SECONDS] [PROCESSES] [TYPE,...] [CONVOLUTIONS]
Collects the convolutions of about 180 networks, or uses those in an earlier run's conv_log.txt.
Writes $OUT/conv.txt, one line per (type, convolution, product):
  type layout kind C H W K R S strideH strideW padH padW dilH dilW groups backend  batch:bytes[+bytes...] ...
(bytes: allocations freed before the call returned, in order; 0 none; x failed). Layout: nchw or nhwc.
Also writes $OUT/conv_kernels.txt, the names of the kernels that ran for some of them, and $OUT/conv_log.txt, the failures.
"""
import collections, multiprocessing as mp, os, sys, time, traceback
import torch
import torch.nn as nn

T0 = time.time()
LIMIT = float(sys.argv[1]) if len(sys.argv) > 1 else 225.0
PROCS = int(sys.argv[2]) if len(sys.argv) > 2 else 11
TYPES = sys.argv[3].split(",") if len(sys.argv) > 3 else ["bfloat16", "float32", "float16"]
OUT = os.environ.get("OUT", ".")
BATCHES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
MARK = 70001

TIMM = """resnet18 resnet50 resnet50d resnext50_32x4d seresnext50_32x4d seresnet50 wide_resnet50_2 resnet26d resnet34 resnet101d ecaresnet50d
efficientnet_b0 efficientnet_b1 efficientnet_b2 efficientnet_b3 efficientnet_b4 efficientnet_lite0 tf_efficientnetv2_s efficientnetv2_rw_t
mobilenetv3_large_100 mobilenetv3_small_100 mobilenetv2_100 mobilenetv2_140 mobilenetv4_conv_small mobilenetv4_conv_medium mobilenetv4_conv_large mobilenetv4_hybrid_medium
mnasnet_100 mnasnet_small fbnetc_100 spnasnet_100 mixnet_s ghostnet_100 rexnet_100 hardcorenas_a tinynet_a lcnet_100
regnety_016 regnety_002 regnety_004 regnety_008 regnety_032 regnety_040 regnetx_002 regnetx_004 regnetx_008 regnetx_016 regnetx_032 regnetx_064
vgg16 vgg16_bn vgg19 vgg11 vgg13 densenet121 densenet161 densenet169 densenet201 inception_v3 inception_v4 xception41 xception65 legacy_xception
convnext_atto convnext_nano convnext_tiny convnext_small convnext_base convnext_large convnextv2_tiny convnextv2_base convmixer_768_32
maxvit_tiny_rw_224 coatnet_0_rw_224 coatnet_1_rw_224 maxxvit_rmlp_nano_rw_256 mobilevit_s mobilevit_xs mobilevitv2_100 edgenext_small efficientformer_l1 efficientformerv2_s1 levit_128 levit_256 poolformer_s12 poolformerv2_s12 pvt_v2_b1 pvt_v2_b2 twins_svt_small twins_pcpvt_small
repvgg_a0 repvgg_b0 hrnet_w18 hrnet_w32 dla34 dla60 dpn68 dpn92 res2net50_26w_4s skresnet18 skresnet34 cspresnet50 cspresnext50 cspdarknet53 darknet53 dm_nfnet_f0 nfnet_l0 eca_nfnet_l0 gernet_m gernet_s selecsls42b fastvit_t8 fastvit_sa12 repghostnet_100 starnet_s1 inception_next_tiny caformer_s18 convformer_s18 focalnet_tiny_srf davit_tiny gcvit_tiny crossvit_small_240 mvitv2_tiny visformer_small xcit_small_12_p16_224 resnetv2_50x1_bit resnetv2_50 resnetrs50 botnet26t_256 halonet26t lambda_resnet26t tresnet_m vovnet39a ese_vovnet19b_dw ese_vovnet39b
vit_small_patch16_224 vit_tiny_patch16_224 vit_base_patch16_224 vit_base_patch32_224 vit_large_patch16_224 vit_base_patch8_224 vit_huge_patch14_224 mixer_s16_224 mixer_b16_224 deit_small_patch16_224 deit3_base_patch16_224 beit_base_patch16_224 swin_tiny_patch4_window7_224 swin_base_patch4_window7_224 swin_large_patch4_window7_224 swinv2_tiny_window8_256 gmlp_s16_224 resmlp_12_224 cait_s24_224 eva02_tiny_patch14_224""".split()
VISION = """resnet50 resnet101 resnet152 mobilenet_v2 mobilenet_v3_large mobilenet_v3_small efficientnet_b0 efficientnet_b3 efficientnet_v2_s vgg16 vgg19_bn densenet121 densenet161 squeezenet1_0 squeezenet1_1 alexnet googlenet inception_v3 shufflenet_v2_x1_0 shufflenet_v2_x0_5 mnasnet1_0 mnasnet0_5 regnet_y_400mf regnet_y_1_6gf regnet_y_8gf regnet_x_1_6gf regnet_x_3_2gf wide_resnet50_2 wide_resnet101_2 resnext101_32x8d resnext50_32x4d convnext_tiny convnext_base swin_t swin_v2_t vit_b_16 maxvit_t""".split()
SEGMENT = "fcn_resnet50 fcn_resnet101 deeplabv3_resnet50 deeplabv3_resnet101 deeplabv3_mobilenet_v3_large lraspp_mobilenet_v3_large".split()


# ---------------------------------------------------------------- the convolutions
def collect(model, x, found, tag):
    def hook(mod, args, out=None):
        t = args[0]
        if t.dim() == 3: t = t.unsqueeze(2)
        if t.dim() != 4 or not torch.is_tensor(t): return
        two = lambda v, fill: tuple(v) if len(v) == 2 else (fill,) + tuple(v)
        pad = mod.padding
        if isinstance(pad, str):
            pad = tuple(0 if pad == "valid" else d * (k - 1) // 2 for d, k in zip(mod.dilation, mod.kernel_size))
        last = t.is_contiguous(memory_format=torch.channels_last) and not t.is_contiguous()
        C, H, W = t.shape[1:]
        if "Same" in type(mod).__name__ and pad in ((0, 0), 0):
            same = lambda n, k, st, d: n + max((-(-n // st) - 1) * st + (k - 1) * d + 1 - n, 0)
            H, W = (same(n, k, st, d) for n, k, st, d in zip((H, W), mod.kernel_size, mod.stride, mod.dilation))
        key = ("nhwc" if last else "nchw", C, H, W, mod.out_channels) + two(mod.kernel_size, 1) + two(mod.stride, 1) + two(pad, 0) + two(mod.dilation, 1) + (mod.groups,)
        found.setdefault(tuple(int(v) if not isinstance(v, str) else v for v in key), tag)
    hs = [m.register_forward_pre_hook(hook) for m in model.modules() if isinstance(m, (nn.Conv2d, nn.Conv1d)) and not isinstance(m, nn.ConvTranspose2d)]
    model.train()
    try:
        with torch.no_grad(): model(x)
    finally:
        for h in hs: h.remove()


def gather(job):
    """Returns the convolutions of one network; runs in a pool process."""
    lib, n, side = job
    torch.set_num_threads(1)
    def make():
        if lib == "timm":
            import timm
            return timm.create_model(n)
        import torchvision
        if lib == "seg": return getattr(torchvision.models.segmentation, n)(weights=None, weights_backbone=None, num_classes=21)
        return getattr(torchvision.models, n)()
    found, err = collections.OrderedDict(), ""
    for how in ("meta", "cpu"):
        try:
            with torch.device(how): m = make()
            with torch.device("meta"): collect(m.to("meta"), torch.empty(2, 3, side, side, device="meta"), found, "%s.%s" % (lib, n))
            return list(found.items()), ""
        except Exception as e: err += "%s.%s %s: %s; " % (lib, n, how, repr(e)[:150])
    try:  # otherwise, run one image on the CPU
        collect(make(), torch.randn(2, 3, side, side), found, "%s.%s" % (lib, n))
        return list(found.items()), ""
    except Exception as e: err += repr(e)[:150]
    return list(found.items()), err


def networks(log):
    side = lambda n: 256 if "256" in n.split("_") or "256" in n else 240 if "_240" in n else 224
    jobs = [("timm", n, side(n)) for n in TIMM[:45]] + [("seg", n, 320) for n in SEGMENT] + [("tv", n, 224) for n in VISION] + [("timm", n, side(n)) for n in TIMM[45:]]
    jobs += [("seg", n, 512) for n in ("fcn_resnet50", "deeplabv3_resnet50", "deeplabv3_mobilenet_v3_large")]
    found = collections.OrderedDict()
    pool = mp.get_context("fork").Pool(14)
    waits = [(j, pool.apply_async(gather, (j,))) for j in jobs]
    for j, w in waits:
        try:
            items, err = w.get(timeout=max(0.05, 55 - (time.time() - T0)))
            for key, tag in items: found.setdefault(key, tag)
            if err: log.append(err)
        except Exception as e: log.append("collect %s: %r" % (j, e))
    pool.terminate()
    for key in written(): found.setdefault(key, "written")
    return found


def earlier(path):
    found = collections.OrderedDict()
    for l in open(path):
        w = l.split()
        if len(w) == 16 and w[0] == "#": found[(w[2],) + tuple(int(v) for v in w[3:])] = w[1]
    return found


def written():
    """Shapes from networks that neither timm nor torchvision has."""
    out = []
    c = lambda C, H, W, K, R, S, st=1, p=0, d=1, g=1, one=False: out.append(
        ("nchw", C, H, W, K, R, S, 1 if one else st, st, 0 if one else p, p, 1 if one else d, d, g))
    for d in (384, 512, 768, 1024, 1280):  # whisper
        c(80, 1, 3000, d, 1, 3, 1, 1, one=True); c(d, 1, 3000, d, 1, 3, 2, 1, one=True)
    c(128, 1, 3000, 1280, 1, 3, 1, 1, one=True)
    n = 80000  # wav2vec2, hubert: five seconds
    for C, k, s in ((1, 10, 5), (512, 3, 2), (512, 3, 2), (512, 3, 2), (512, 3, 2), (512, 2, 2), (512, 2, 2)):
        c(C, 1, n, 512, 1, k, s, 0, one=True); n = (n - k) // s + 1
    c(768, 1, n, 768, 1, 128, 1, 64, 1, 16, one=True)
    for side in (256, 320, 512):  # unets, 64 to 1024 channels
        h, ch = side, 64
        c(3, h, h, 64, 3, 3, 1, 1); c(1, h, h, 64, 3, 3, 1, 1)
        while ch <= 1024:
            c(ch, h, h, ch, 3, 3, 1, 1); c(ch, h, h, 2 * ch, 3, 3, 1, 1); c(2 * ch, h, h, ch, 3, 3, 1, 1)
            if h > 16: c(ch, h // 2, h // 2, 2 * ch, 3, 3, 1, 1)
            c(ch, h, h, 2 * ch, 2, 2, 2, 0)
            h //= 2; ch *= 2
        c(64, side, side, 21, 1, 1); c(64, side, side, 1, 1, 1)
    for side in (32, 64):  # diffusion unets
        h = side
        for ch in (128, 320, 640, 1280):
            c(4, side, side, ch, 3, 3, 1, 1); c(ch, h, h, ch, 3, 3, 1, 1); c(ch, h, h, ch, 3, 3, 2, 1); c(ch, h, h, 2 * ch, 3, 3, 1, 1); c(2 * ch, h, h, ch, 3, 3, 1, 1); c(ch, h, h, ch, 1, 1)
            if ch >= 320: h //= 2
    for side in (320, 640):  # yolo-like
        h = side; c(3, h, h, 32, 3, 3, 2, 1); c(3, h, h, 16, 3, 3, 2, 1)
        for ch in (32, 64, 128, 256, 512):
            h //= 2
            c(ch, h, h, 2 * ch, 3, 3, 2, 1); c(2 * ch, h // 2, h // 2, 2 * ch, 1, 1); c(ch, h // 2, h // 2, ch, 3, 3, 1, 1); c(2 * ch, h // 2, h // 2, ch, 1, 1); c(4 * ch, h // 2, h // 2, 2 * ch, 1, 1); c(2 * ch, h // 2, h // 2, 255, 1, 1)
    for h in (32, 28):  # small images
        c(3 if h == 32 else 1, h, h, 64, 3, 3, 1, 1); c(3 if h == 32 else 1, h, h, 32, 3, 3, 1, 1)
        for i, ch in enumerate((16, 32, 64, 128, 256, 512)):
            s = max(4, h >> max(0, i - 2)); c(ch, s, s, ch, 3, 3, 1, 1); c(ch, s, s, 2 * ch, 3, 3, 2, 1); c(ch, s, s, 2 * ch, 3, 3, 1, 1)
    for C, K in ((64, 64), (128, 128), (256, 256), (512, 512), (96, 96), (192, 192), (384, 384), (48, 48), (24, 24)):  # a grid, to see the effect of side and channels
        for h in (7, 10, 14, 20, 28, 40, 56, 80):
            c(C, h, h, K, 3, 3, 1, 1); c(C, h, h, K, 1, 1)
    for h in (20, 40, 64):
        for d in (2, 4, 6, 12, 18, 24, 36): c(512, h, h, 512, 3, 3, 1, d, d); c(2048, h, h, 256, 3, 3, 1, d, d)
    return out


# ---------------------------------------------------------------- measuring
DTYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32}
ROOM = 2 << 30  # maximum bytes of one image tensor


def sizes(key, n, esize):
    _, C, H, W, K, R, S, sh, sw, ph, pw, dh, dw, g = key
    P, Q = (H + 2 * ph - dh * (R - 1) - 1) // sh + 1, (W + 2 * pw - dw * (S - 1) - 1) // sw + 1
    return (n, C, H, W), (K, C // g, R, S), (n, K, P, Q)


def numel(s):
    r = 1
    for v in s: r *= v
    return r


class Meter:
    def __init__(self):
        self.dev = torch.device("cuda:0")
        self.x = torch.empty(ROOM, dtype=torch.uint8, device=self.dev)
        self.w = torch.empty(512 << 20, dtype=torch.uint8, device=self.dev)
        self.y = torch.empty(ROOM, dtype=torch.uint8, device=self.dev)
        warm = torch.empty(4 << 30, dtype=torch.uint8, device=self.dev); del warm
        torch.cuda.memory._record_memory_history("all", context=None, max_entries=4000)

    def view(self, buf, shape, dt, last):
        t = buf[:numel(shape) * dt.itemsize].view(dt)
        if last:
            n, c, h, w = shape
            return t.view(n, h, w, c).permute(0, 3, 1, 2)
        return t.view(shape)

    def row(self, key, dtname, kind):
        dt = DTYPES[dtname]
        layout, C, H, W, K, R, S, sh, sw, ph, pw, dh, dw, g = key
        last = layout == "nhwc"
        done, results, backend = [], {}, "?"
        for i, n in enumerate(BATCHES):
            xs, ws, ys = sizes(key, n, dt.itemsize)
            if min(ys) <= 0 or max(numel(xs), numel(ys)) * dt.itemsize > ROOM or numel(ws) * dt.itemsize > 512 << 20: break
            if 2 * numel(ys) * numel(ws) / ws[0] > (3e12 if dtname != "float32" else 1.5e12): break
            if g > 1 and numel(xs) + numel(ys) > 400e6: break
            x, w, y = self.view(self.x, xs, dt, last), self.view(self.w, ws, dt, False), self.view(self.y, ys, dt, last)
            if i == 0:
                try: backend = str(torch._C._select_conv_backend(x, w, None, (sh, sw), (ph, pw), (dh, dw), False, (0, 0), g, None)).split(".")[-1]
                except Exception: backend = "?"
            mark = torch.empty(MARK + i, dtype=torch.uint8, device=self.dev); del mark
            try:
                if kind == "fprop": r = torch.ops.aten.convolution.default(x, w, None, (sh, sw), (ph, pw), (dh, dw), False, (0, 0), g)
                else:
                    r = torch.ops.aten.convolution_backward.default(y, x, w, None, (sh, sw), (ph, pw), (dh, dw), False, (0, 0), g, (kind == "dgrad", kind == "wgrad", False))
                # the end is marked before the result is freed, so that the result is not between the marks
                mark = torch.empty(MARK + 1000 + i, dtype=torch.uint8, device=self.dev); del mark
                del r
                done.append(n)
            except torch.OutOfMemoryError: break
            except RuntimeError as e:
                if "illegal" in str(e) or "CUDA error" in str(e): raise
                results[n] = "x"; done.append(n)
        torch.cuda.synchronize()
        trace = torch.cuda.memory._snapshot()["device_traces"][0]
        start = 0
        for j in range(len(trace) - 1, -1, -1):
            if trace[j]["action"] == "alloc" and trace[j]["size"] == MARK: start = j; break
        at, live, got = None, {}, []
        for e in trace[start:]:
            a, s = e["action"], e["size"]
            if a == "alloc":
                if MARK <= s < MARK + len(BATCHES): at, live, got = BATCHES[s - MARK], {}, []
                elif MARK + 1000 <= s < MARK + 1000 + len(BATCHES):
                    if at is not None: results.setdefault(at, "+".join(str(v) for _, v in sorted(got)) or "0")
                    at = None
                elif at is not None: live[e["addr"]] = (len(live) + len(got), s)
            elif a == "free_completed" and at is not None and e["addr"] in live: got.append(live.pop(e["addr"]))
        return backend, [(n, results.get(n, "?")) for n in done]


def line(key, dtname, kind, backend, points):
    return " ".join([dtname, key[0], kind] + [str(v) for v in key[1:]] + [backend]) + "  " + " ".join("%d:%s" % p for p in points) + "\n"


def worker(k, jobs, counter):
    try:
        with torch.no_grad(): work(k, jobs, counter)
    except BaseException:
        with open(os.path.join(OUT, "log.%d" % k), "a") as f: f.write(traceback.format_exc()[-1500:] + "\n")
        os._exit(1)
    os._exit(0)


def work(k, jobs, counter):
    m = Meter()
    out = open(os.path.join(OUT, "part.%d" % k), "a")
    names = open(os.path.join(OUT, "kern.%d" % k), "a")
    while time.time() - T0 < LIMIT:
        with counter.get_lock():
            i = counter.value; counter.value += 1
        if i >= len(jobs): return
        key, dtname, kernels = jobs[i]
        if kernels:
            kernel_names(m, key, dtname, names); continue
        for kind in ("fprop", "dgrad", "wgrad"):
            if time.time() - T0 > LIMIT: return
            try: out.write(line(key, dtname, kind, *m.row(key, dtname, kind)))
            except RuntimeError as e:
                with open(os.path.join(OUT, "log.%d" % k), "a") as f: f.write("%s %s %s: %s\n" % (dtname, key, kind, str(e)[:300]))
                if "CUDA" in str(e): raise
            out.flush()


def kernel_names(m, key, dtname, names):
    from torch.profiler import profile, ProfilerActivity
    dt = DTYPES[dtname]
    layout, C, H, W, K, R, S, sh, sw, ph, pw, dh, dw, g = key
    for n in (4, 32):
        xs, ws, ys = sizes(key, n, dt.itemsize)
        if max(numel(xs), numel(ys)) * dt.itemsize > ROOM: return
        x, w, y = m.view(m.x, xs, dt, layout == "nhwc"), m.view(m.w, ws, dt, False), m.view(m.y, ys, dt, layout == "nhwc")
        for kind in ("fprop", "dgrad", "wgrad"):
            torch.cuda.synchronize()
            with profile(activities=[ProfilerActivity.CUDA]) as p:
                if kind == "fprop": torch.ops.aten.convolution.default(x, w, None, (sh, sw), (ph, pw), (dh, dw), False, (0, 0), g)
                else: torch.ops.aten.convolution_backward.default(y, x, w, None, (sh, sw), (ph, pw), (dh, dw), False, (0, 0), g, (kind == "dgrad", kind == "wgrad", False))
                torch.cuda.synchronize()
            got = [e.name for e in p.events() if "Memcpy" not in e.name]
            names.write(" ".join([dtname, key[0], kind] + [str(v) for v in key[1:]]) + "  %d  %s\n" % (n, " | ".join(got)))
            names.flush()


if __name__ == "__main__":
    os.makedirs(OUT, exist_ok=True)
    log = []
    found = earlier(sys.argv[4]) if len(sys.argv) > 4 else networks(log)
    configs = list(found)
    print("convolutions:", len(configs), "collected in %.0f s" % (time.time() - T0), flush=True)
    weights = [tag for tag in found.values()]
    jobs = [(c, TYPES[0], False) for c in configs]
    few = [c for c, tag in found.items() if tag.startswith(("timm.resnet50", "timm.regnety_016", "timm.efficientnet_b0", "timm.mobilenetv3", "tv.vgg16", "timm.vgg16", "timm.resnext", "timm.densenet121", "seg."))][:260]
    jobs += [(c, TYPES[0], True) for c in few[:40]]
    for t in TYPES[1:]: jobs += [(c, t, False) for c in configs]
    jobs += [(c, TYPES[0], True) for c in few[40:]]
    mp.set_start_method("fork", force=True)
    counter = mp.Value("i", 0)
    procs, nth = [], 0
    def start():
        global nth
        p = mp.Process(target=worker, args=(nth, jobs, counter)); nth += 1; p.start(); return p
    procs = [start() for _ in range(PROCS)]
    while procs:
        time.sleep(0.5)
        for p in list(procs):
            if not p.is_alive():
                p.join(); procs.remove(p)
                if p.exitcode != 0 and time.time() - T0 < LIMIT - 20 and nth < 60: procs.append(start())
                elif p.exitcode != 0: log.append("process ended with %s" % p.exitcode)
        if time.time() - T0 > LIMIT + 25:
            for p in procs: p.kill(); p.join()
            procs = []
    n = 0
    with open(os.path.join(OUT, "conv.txt"), "w") as f:
        f.write("# torch %s cudnn %s %s, %d convolutions, %d of %d jobs\n" % (torch.__version__, torch.backends.cudnn.version(), "sm", len(configs), min(counter.value, len(jobs)), len(jobs)))
        for k in range(nth):
            p = os.path.join(OUT, "part.%d" % k)
            if os.path.exists(p):
                for l in open(p):
                    if l.endswith("\n"): f.write(l); n += 1
                os.remove(p)
    with open(os.path.join(OUT, "conv_kernels.txt"), "w") as f:
        for k in range(nth):
            p = os.path.join(OUT, "kern.%d" % k)
            if os.path.exists(p): f.write(open(p).read()); os.remove(p)
    with open(os.path.join(OUT, "conv_log.txt"), "w") as f:
        f.write("\n".join(log) + "\n")
        for c, tag in found.items(): f.write("# %s %s\n" % (tag, " ".join(map(str, c))))
        for k in range(nth):
            p = os.path.join(OUT, "log.%d" % k)
            if os.path.exists(p): f.write(open(p).read()); os.remove(p)
    print("rows", n, "jobs", counter.value, "of", len(jobs), "in %.0f s" % (time.time() - T0), flush=True)
