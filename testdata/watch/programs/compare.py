"""compare.py SNUG FOLDER: compares the samples of `snug watch` with NVML's at the same moments, and with nvidia-smi's, on an idle GPU and
on a busy one, and measures how much of a core snug uses."""
import ctypes, json, os, signal, subprocess, sys, threading, time

snug, folder = sys.argv[1:3]
nvml = ctypes.CDLL("libnvidia-ml.so.1")
nvml.nvmlInit_v2()
card = ctypes.c_void_p()
nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(card))


class Memory(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint)] + [(name, ctypes.c_ulonglong) for name in ("total", "reserved", "free", "used")]


class Use(ctypes.Structure):
    _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]


class Process(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint), ("used", ctypes.c_ulonglong), ("gpu_instance", ctypes.c_uint), ("compute_instance", ctypes.c_uint)]


class ProcessUse(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint), ("stamp", ctypes.c_ulonglong)] + [(name, ctypes.c_uint) for name in ("gpu", "memory", "encoder", "decoder")]


def process_memory():
    """Returns the memory of each process."""
    n, running = ctypes.c_uint(64), (Process * 64)()
    code = nvml.nvmlDeviceGetComputeRunningProcesses_v3(card, ctypes.byref(n), running)
    return {(p.pid, p.used) for p in running[:n.value]} if code == 0 else set()


def process_use(after):
    """Returns the loads of processes that the driver has measured after a time."""
    n, uses = ctypes.c_uint(256), (ProcessUse * 256)()
    code = nvml.nvmlDeviceGetProcessUtilization(card, uses, ctypes.byref(n), ctypes.c_ulonglong(after))
    return [u for u in uses[:n.value] if u.stamp > after] if code == 0 else []


def ask():
    """Returns used and total memory, utilization, power and temperature, as NVML reports them."""
    m, u, power, heat = Memory(version=ctypes.sizeof(Memory) | 2 << 24), Use(), ctypes.c_uint(), ctypes.c_uint()
    nvml.nvmlDeviceGetMemoryInfo_v2(card, ctypes.byref(m))
    nvml.nvmlDeviceGetUtilizationRates(card, ctypes.byref(u))
    nvml.nvmlDeviceGetPowerUsage(card, ctypes.byref(power))
    nvml.nvmlDeviceGetTemperature(card, 0, ctypes.byref(heat))
    return dict(used=m.used, total=m.total, gpu_util=u.gpu, power_w=power.value / 1000, temperature_c=heat.value)


def smi():
    """Returns used memory in MiB and the temperature, as nvidia-smi prints them."""
    text = subprocess.run(["nvidia-smi", "--query-gpu=memory.used,temperature.gpu", "--format=csv,noheader,nounits"], capture_output=True, text=True).stdout
    return dict(zip(("used", "temperature_c"), (float(x) for x in text.splitlines()[0].split(","))))


def watched(seconds, rate, name):
    """Returns snug's samples with the time of each, NVML's and nvidia-smi's, and the CPU seconds that snug took."""
    path = os.path.join(folder, name + ".jsonl")
    began = time.time()
    run = subprocess.Popen([snug, "watch", "--plain", "--rate", str(rate), "--record", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    asked, printed, end = [], [], began + seconds
    while time.time() < end:
        asked.append((time.time() - began, ask()))
        if len(asked) % 40 == 1:
            printed.append((time.time() - began, smi()))
        time.sleep(0.02)
    run.send_signal(signal.SIGINT)
    _, _, used = os.wait4(run.pid, 0)
    samples = [e for e in map(json.loads, open(path)) if e["kind"] == "gpu"]
    os.remove(path)
    return samples, asked, printed, used.ru_utime + used.ru_stime


def compare(name):
    samples, asked, printed, _ = watched(12, 10, "compare_" + name)
    for key in ("used", "total", "gpu_util", "power_w", "temperature_c"):
        same = sum(any(abs(t - s["t"]) < 0.4 and x[key] == s[key] for t, x in asked) for s in samples)
        print("%s: %s: %d of %d samples are equal to one of NVML's within 0.4 s" % (name, key, same, len(samples)))
    for key, unit in (("used", 2**20), ("temperature_c", 1)):
        same = sum(any(abs(t - s["t"]) < 1 and abs(s[key] / unit - x[key]) <= 1 for s in samples) for t, x in printed)
        print("%s: %s: %d of %d of nvidia-smi's numbers are snug's after rounding" % (name, key, same, len(printed)))


def busy(stop):
    import torch
    a, kept = torch.randn(4096, 4096, device="cuda"), []
    while not stop.is_set():
        for _ in range(50):
            a = (a @ a).clamp(-1, 1)
        torch.cuda.synchronize()
        kept.append(torch.empty(64 << 20, dtype=torch.uint8, device="cuda"))
        if len(kept) > 40:
            kept.clear()
            torch.cuda.empty_cache()


def compare_processes(seconds=12):
    path, began, after, loads = os.path.join(folder, "processes.jsonl"), time.time(), 0, []
    run = subprocess.Popen([snug, "watch", "--plain", "--rate", "10", "--record", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    memory, asked = set(), 0
    while time.time() < began + seconds:
        memory |= process_memory()
        if time.time() > asked + 1:
            asked, uses = time.time(), process_use(after)
            loads += [u.gpu for u in uses]
            after = max([after] + [u.stamp for u in uses])
        time.sleep(0.02)
    run.send_signal(signal.SIGINT)
    run.wait()
    procs = [p for e in map(json.loads, open(path)) if e["kind"] == "gpu" for p in e.get("procs", [])]
    os.remove(path)
    print("memory of processes: %d of %d samples are equal to one of NVML's" % (sum((p["pid"], p["used"]) in memory for p in procs), len(procs)))
    mine = [p["gpu_util"] for p in procs if "gpu_util" in p]
    for name, xs in ("snug", sorted(mine)), ("NVML, asked once a second", sorted(loads)):
        print("load of processes: %s: %d values, %s" % (name, len(xs), "from %g to %g, median %g" % (xs[0], xs[-1], xs[len(xs) // 2]) if xs else ""))


compare("idle")
stop = threading.Event()
work = threading.Thread(target=busy, args=(stop,))
work.start()
time.sleep(5)
compare("busy")
compare_processes()
for rate in (1, 10):
    cpu = watched(20, rate, "cost")[3]
    print("cost: %.2f %% of a core at %d samples a second, its start included" % (100 * cpu / 20, rate))
stop.set()
work.join()
