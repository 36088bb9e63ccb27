// A library with NVML's symbols and layouts that reports one H200, one A100 with
// two slices, and the processes on them. With FAIL, its initialization fails, and
// every later call ends the process, as the real library might.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct { int which; } *dev;
static struct { int which; } gpus[2] = {{0}, {1}}, slices[2] = {{10}, {11}};
static int started = 0;
#define GUARD if (!started) abort()

int nvmlInit_v2(void) {
#ifdef FAIL
  return 9;
#endif
  started = 1;
  return 0;
}
int nvmlShutdown(void) { GUARD; started = 0; return 0; }
const char *nvmlErrorString(int c) { return c == 9 ? "Driver Not Loaded" : "Some Error"; }
int nvmlSystemGetDriverVersion(char *b, unsigned n) { GUARD; strncpy(b, "580.159.04", n); return 0; }
int nvmlSystemGetCudaDriverVersion_v2(int *v) { GUARD; *v = 13000; return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { GUARD; *n = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, dev *h) {
  GUARD;
#ifdef MISSING /* until it has been asked for this often */
  static int asked = 0;
  if (i == 1 && ++asked <= MISSING) return 15;
#endif
  *h = (dev)&gpus[i];
  return 0;
}
int nvmlDeviceGetName(dev h, char *b, unsigned n) {
  GUARD;
  strncpy(b, h->which ? "NVIDIA A100-SXM4-40GB" : "NVIDIA H200", n);
  return 0;
}
int nvmlDeviceGetUUID(dev h, char *b, unsigned n) {
  GUARD;
  strncpy(b, h->which == 0 ? "GPU-aaaa" : h->which == 1 ? "GPU-bbbb" : h->which == 10 ? "MIG-cccc" : "MIG-dddd", n);
  return 0;
}
typedef struct { char legacy[16]; unsigned domain, bus, device, id, sub; char busId[32]; } pci;
int nvmlDeviceGetPciInfo_v3(dev h, pci *p) { GUARD; strcpy(p->busId, h->which ? "00000000:41:00.0" : "00000000:04:00.0"); return 0; }
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } memory2;
int nvmlDeviceGetMemoryInfo_v2(dev h, memory2 *m) {
  GUARD;
#ifdef LOST
  if (h->which == LOST || h->which >= 10 && LOST == 1 || LOST < 0) return LOST < 0 ? 999 : 15; /* 10 and more are slices of 1 */
#endif
  if (m->version != (sizeof(memory2) | (2u << 24))) return 25;
  const unsigned long long M = 1 << 20;
  switch (h->which) {
  case 0: m->total = 143771 * M; m->reserved = 614 * M; m->used = 1000 * M; break;
  case 1: m->total = 40960 * M; m->reserved = 600 * M; m->used = 100 * M; break;
  case 10: m->total = 19968 * M; m->reserved = 0; m->used = 80 * M; break;
  default: m->total = 4864 * M; m->reserved = 0; m->used = 20 * M;
  }
  m->free = m->total - m->reserved - m->used;
  return 0;
}
int nvmlDeviceGetCudaComputeCapability(dev h, int *a, int *b) { GUARD; *a = h->which ? 8 : 9; *b = 0; return 0; }
int nvmlDeviceGetEccMode(dev h, int *now, int *next) { GUARD; *now = *next = 1; return 0; }
int nvmlDeviceGetMigMode(dev h, unsigned *now, unsigned *next) { GUARD; *now = *next = h->which == 1; return 0; }
int nvmlDeviceGetMaxMigDeviceCount(dev h, unsigned *n) { GUARD; *n = 7; return 0; }
int nvmlDeviceGetMigDeviceHandleByIndex(dev h, unsigned i, dev *s) {
  GUARD;
  if (i > 1) return 6;
  *s = (dev)&slices[i];
  return 0;
}
int nvmlDeviceGetGpuInstanceId(dev h, unsigned *n) { GUARD; *n = h->which == 10 ? 2 : 9; return 0; }
int nvmlDeviceGetComputeInstanceId(dev h, unsigned *n) { GUARD; *n = 0; return 0; }
typedef struct { unsigned sms, copy, dec, enc, jpeg, ofa, gpuSlices, computeSlices; unsigned long long mb; } attributes;
int nvmlDeviceGetAttributes_v2(dev h, attributes *a) {
  GUARD;
  memset(a, 0, sizeof *a);
  a->sms = h->which == 10 ? 42 : 14;
  a->gpuSlices = a->computeSlices = h->which == 10 ? 3 : 1;
  a->mb = h->which == 10 ? 19968 : 4864;
  return 0;
}
typedef struct { unsigned pid; unsigned long long used; unsigned gi, ci; } proc;
int nvmlDeviceGetComputeRunningProcesses_v3(dev h, unsigned *n, proc *p) {
  GUARD;
  unsigned count = h->which ? 1 : 100; // more than fits at first
  if (*n < count) { *n = count; return 7; }
  *n = h->which ? 1 : 2;
  if (h->which) { p[0] = (proc){77, 70ull << 20, 2, 0}; return 0; }
  p[0] = (proc){4321, 900ull << 20, ~0u, ~0u};
  p[1] = (proc){4322, ~0ull, ~0u, ~0u};
  return 0;
}
int nvmlDeviceGetGraphicsRunningProcesses_v3(dev h, unsigned *n, proc *p) {
  GUARD;
  *n = h->which ? 0 : 1;
  if (*n) p[0] = (proc){4321, 900ull << 20, ~0u, ~0u};
  return 0;
}
int nvmlSystemGetProcessName(unsigned pid, char *b, unsigned n) {
  GUARD;
  if (pid == 4322) return 6;
  strncpy(b, pid == 77 ? "python3" : "/usr/bin/python3", n);
  return 0;
}
typedef struct { unsigned gpu, memory; } rates;
int nvmlDeviceGetUtilizationRates(dev h, rates *r) {
  GUARD;
  if (h->which) return 3; // not supported on a card that is cut into slices
  *r = (rates){37, 12};
  return 0;
}
typedef struct { unsigned pid; unsigned long long stamp; unsigned sm, memory, encoder, decoder; } use;
int nvmlDeviceGetProcessUtilization(dev h, use *u, unsigned *n, unsigned long long after) {
  GUARD;
  if (h->which) return 3;
  if (*n < 100) { *n = 100; return 7; }
  if (after >= 1700000000000000ull) return 6; // nothing new
  *n = 2;
  u[0] = (use){4321, 1700000000000000ull, 35, 9, 1, 0};
  u[1] = (use){9, 1700000000000000ull, 2, 0, 0, 0};
  return 0;
}
int nvmlDeviceGetPowerUsage(dev h, unsigned *mw) { GUARD; *mw = 351234; return 0; }
int nvmlDeviceGetEnforcedPowerLimit(dev h, unsigned *mw) { GUARD; *mw = 700000; return 0; }
int nvmlDeviceGetTemperature(dev h, unsigned sensor, unsigned *t) { GUARD; *t = sensor ? 0 : 54; return 0; }
int nvmlDeviceGetCurrentClocksThrottleReasons(dev h, unsigned long long *bits) { GUARD; *bits = h->which ? 1 : 0x44; return 0; }
