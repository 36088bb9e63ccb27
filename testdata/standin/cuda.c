// A stand-in for CUDA: it tells PyTorch that there is an H200, hands out addresses, and runs nothing. PyTorch's own host code (its caching
// allocator, autograd, the choice of attention kernels, temporary storage) is the real one, and so is every allocation and every free.
//
// Only functions that return something are written here. ./build adds the rest of CUDA, cuBLAS, cuDNN and NCCL as functions that do nothing and
// succeed. STANDIN_BYTES, STANDIN_MAJOR, STANDIN_MINOR, STANDIN_SMS and STANDIN_CONTEXT_MIB describe another card.

#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef struct { char bytes[16]; } uuid;
typedef struct {
  char name[256]; uuid id; char luid[8]; unsigned luidDeviceNodeMask;
  size_t totalGlobalMem, sharedMemPerBlock; int regsPerBlock, warpSize; size_t memPitch;
  int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3]; size_t totalConstMem; int major, minor;
  size_t textureAlignment, texturePitchAlignment; int multiProcessorCount, integrated, canMapHostMemory;
  int textures[1 + 1 + 2 + 2 + 3 + 2 + 3 + 3 + 1 + 2 + 3 + 2], surfaces[1 + 2 + 3 + 2 + 3 + 1 + 2];
  size_t surfaceAlignment; int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver, asyncEngineCount, unifiedAddressing;
  int memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize, maxThreadsPerMultiProcessor, streamPrioritiesSupported, globalL1CacheSupported, localL1CacheSupported;
  size_t sharedMemPerMultiprocessor; int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID, hostNativeAtomicSupported, pageableMemoryAccess,
  concurrentManagedAccess, computePreemptionSupported, canUseHostPointerForRegisteredMem, cooperativeLaunch; size_t sharedMemPerBlockOptin;
  int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost, maxBlocksPerMultiProcessor, accessPolicyMaxWindowSize; size_t reservedSharedMemPerBlock;
  int rest[20 + 56];
} properties;

static int lookup(const char *name, int usual) { const char *v = getenv(name); return v ? atoi(v) : usual; }
#define SMS lookup("STANDIN_SMS", 132)
static size_t total(void) { const char *v = getenv("STANDIN_BYTES"); return v ? strtoull(v, 0, 10) : 150110011392ULL; }

int cudaGetDeviceProperties(properties *p, int d) {
  memset(p, 0, sizeof *p);
  strcpy(p->name, "NVIDIA H200");
  p->totalGlobalMem = total(); p->sharedMemPerBlock = 49152; p->regsPerBlock = 65536; p->warpSize = 32; p->memPitch = 2147483647;
  p->maxThreadsPerBlock = 1024; p->maxThreadsDim[0] = 1024; p->maxThreadsDim[1] = 1024; p->maxThreadsDim[2] = 64;
  p->maxGridSize[0] = 2147483647; p->maxGridSize[1] = 65535; p->maxGridSize[2] = 65535; p->totalConstMem = 65536;
  p->major = lookup("STANDIN_MAJOR", 9); p->minor = lookup("STANDIN_MINOR", 0); p->textureAlignment = 512; p->multiProcessorCount = SMS; p->canMapHostMemory = 1;
  p->concurrentKernels = 1; p->asyncEngineCount = 3; p->unifiedAddressing = 1; p->memoryBusWidth = 6144; p->l2CacheSize = 62914560;
  p->maxThreadsPerMultiProcessor = 2048; p->streamPrioritiesSupported = 1; p->sharedMemPerMultiprocessor = 233472; p->regsPerMultiprocessor = 65536;
  p->cooperativeLaunch = 1; p->sharedMemPerBlockOptin = 232448; p->maxBlocksPerMultiProcessor = 32; p->reservedSharedMemPerBlock = 1024;
  return 0;
}
int cudaDeviceGetAttribute(int *v, int a, int d) {
  switch (a) {
  case 1: *v = 1024; break;  // threads in a block
  case 2: case 3: *v = 1024; break;
  case 4: *v = 64; break;
  case 5: *v = 2147483647; break;
  case 6: case 7: *v = 65535; break;
  case 8: *v = 49152; break;
  case 9: *v = 65536; break;
  case 10: *v = 32; break;
  case 12: *v = 65536; break;
  case 13: *v = 1980000; break;
  case 14: *v = 512; break;
  case 16: *v = SMS; break;
  case 36: *v = 3201000; break;
  case 37: *v = 6144; break;
  case 38: *v = 62914560; break;
  case 39: *v = 2048; break;
  case 41: *v = 1; break;
  case 75: *v = lookup("STANDIN_MAJOR", 9); break;
  case 76: *v = lookup("STANDIN_MINOR", 0); break;
  case 81: *v = 233472; break;
  case 82: *v = 65536; break;
  case 95: *v = 1; break;
  case 97: *v = 232448; break;
  case 106: *v = 32; break;
  default: *v = 0;
  }
  return 0;
}

// Memory. Addresses are where NVIDIA's driver puts them, by the rules in internal/allocator/placement.go. They are host memory that is
// never touched, except by small copies.
#define MIB (1ULL << 20)
#define PAGE (2 * MIB)
#define UNIT (32 * MIB)
#define RANGE (1ULL << 41)
typedef struct { uint64_t lo, hi; } span;
typedef struct { span all; span *holes; int n; } chunk;
static chunk *chunks; static int count; // oldest first
static span gaps[4096]; static int ngaps; // released ranges, by address
static uint64_t base, lowest; // all addresses below the lowest are unused
static struct { uint64_t at, size; } live[1 << 16]; static int nlive;
static int takes, launched, blas;
static size_t used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread int last;
static int fail(int e) { last = e; return e; }
static int device_pointer(const void *p) { return base && (uint64_t)p >= base && (uint64_t)p < base + RANGE; }
static uint64_t up(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

static void insert(span *v, int *n, span s) { // joins it with its neighbors
  int i = 0;
  while (i < *n && v[i].lo < s.lo) i++;
  if (i < *n && v[i].lo == s.hi) { s.hi = v[i].hi; memmove(v + i, v + i + 1, (--*n - i) * sizeof *v); }
  if (i > 0 && v[i - 1].hi == s.lo) { v[i - 1].hi = s.hi; return; }
  memmove(v + i + 1, v + i, ((*n)++ - i) * sizeof *v); v[i] = s;
}
static void put(chunk *c, span s) { c->holes = realloc(c->holes, (c->n + 1) * sizeof(span)); insert(c->holes, &c->n, s); }
static void add(uint64_t lo, uint64_t hi, uint64_t from) {
  chunks = realloc(chunks, (count + 1) * sizeof *chunks);
  chunks[count] = (chunk){{lo, hi}, 0, 0};
  if (from < hi) put(&chunks[count], (span){from, hi});
  count++;
}
static uint64_t place(uint64_t n) {
  for (int i = count - 1; i >= 0; i--)
    for (int k = 0; k < chunks[i].n; k++) {
      span *h = &chunks[i].holes[k];
      if (h->hi - h->lo < n) continue;
      uint64_t at = h->lo; h->lo += n;
      if (h->lo == h->hi) { memmove(h, h + 1, (chunks[i].n - k - 1) * sizeof(span)); chunks[i].n--; }
      return at;
    }
  uint64_t size = up(n, UNIT), lo = 0;
  for (int i = ngaps - 1; i >= 0 && !lo; i--)
    if (gaps[i].hi - gaps[i].lo >= size) {
      lo = gaps[i].hi -= size;
      if (gaps[i].lo == gaps[i].hi) { memmove(gaps + i, gaps + i + 1, (--ngaps - i) * sizeof(span)); }
    }
  if (!lo) lo = lowest -= size;
  add(lo, lo + size, lo + n);
  return lo;
}
static void enter(void) {
  base = (uint64_t)mmap(0, RANGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  uint64_t end = (base + RANGE - 1024 * MIB) / UNIT * UNIT;
  lowest = end - 416 * MIB;
  add(end + 64 * MIB, end + 96 * MIB, end + 72 * MIB);
  add(lowest, end, end - PAGE);
}
static uint64_t take(uint64_t n) {
  takes++;
  if (!launched && (takes == 3 || takes == 2 && n == PAGE)) {
    launched = 1;
    span context = chunks[1].all;
    place(PAGE); place(506 * MIB);
    put(&chunks[1], (span){context.lo, context.hi - PAGE});
  }
  if (n == 32 * MIB && launched && blas < 2) {
    int first = blas++ == 0;
    if (first) place(10 * MIB), place(PAGE);
    place(64 * MIB);
    uint64_t at = place(n);
    if (first) place(PAGE);
    return at;
  }
  return place(n);
}
int cudaMalloc(void **out, size_t size) {
  pthread_mutex_lock(&lock);
  if (!base) enter();
  uint64_t n = up(size, PAGE);
  if (used + n + ((size_t)lookup("STANDIN_CONTEXT_MIB", 520) << 20) > total()) { pthread_mutex_unlock(&lock); return fail(2); }
  used += n;
  live[nlive].at = take(n); live[nlive].size = n;
  *out = (void *)live[nlive++].at;
  pthread_mutex_unlock(&lock);
  return 0;
}
int cudaFree(void *p) {
  if (!p) return 0;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < nlive; i++) {
    if (live[i].at != (uint64_t)p) continue;
    span s = {live[i].at, live[i].at + live[i].size};
    live[i] = live[--nlive]; used -= s.hi - s.lo;
    madvise(p, s.hi - s.lo, MADV_DONTNEED);
    for (int k = 0; k < count; k++) {
      chunk *c = &chunks[k];
      if (s.lo < c->all.lo || s.lo >= c->all.hi) continue;
      put(c, s);
      if (c->n == 1 && c->holes[0].lo == c->all.lo && c->holes[0].hi == c->all.hi) {
        insert(gaps, &ngaps, c->all); free(c->holes);
        memmove(c, c + 1, (--count - k) * sizeof *c);
      }
      break;
    }
    break;
  }
  pthread_mutex_unlock(&lock);
  return 0;
}
int cudaMallocAsync(void **p, size_t n, void *s) { return cudaMalloc(p, n); }
int cudaFreeAsync(void *p, void *s) { return cudaFree(p); }
int cudaMemGetInfo(size_t *f, size_t *t) { *t = total(); *f = *t - used - ((size_t)lookup("STANDIN_CONTEXT_MIB", 520) << 20); return 0; }
int cudaHostAlloc(void **p, size_t n, unsigned f) { return posix_memalign(p, 4096, n ? n : 1) ? 2 : 0; }
int cudaFreeHost(void *p) { free(p); return 0; }
// Small copies are real, so that indices and flags that the host sent are read back; large ones carry nothing that anyone looks at.
static __thread int planted, taken; static __thread int64_t planted_value[4]; // what the next copies of a number to the host return
void standin_plant(int64_t v) { if (planted < 4) planted_value[planted++] = v; }
void standin_unplant(void) { planted = taken = 0; }
static void copy(void *d, const void *s, size_t n) { if (taken < planted && n <= 8 && device_pointer(s) && !device_pointer(d)) { memcpy(d, &planted_value[taken++], n); return; } if (n <= (size_t)lookup("STANDIN_COPY", 1 << 20)) memcpy(d, s, n); else if (!device_pointer(d)) memset(d, 0, n); }
int cudaMemcpy(void *d, const void *s, size_t n, int k) { copy(d, s, n); return 0; }
int cudaMemcpyAsync(void *d, const void *s, size_t n, int k, void *st) { copy(d, s, n); return 0; }
int cudaMemcpyPeerAsync(void *d, int dd, const void *s, int sd, size_t n, void *st) { copy(d, s, n); return 0; }
int cudaMemset(void *d, int v, size_t n) { if (n <= 1 << 20) memset(d, v, n); return 0; }
int cudaMemsetAsync(void *d, int v, size_t n, void *s) { return cudaMemset(d, v, n); }
int cudaPointerGetAttributes(int *a, const void *p) { // type, device, device pointer, host pointer
  int on = device_pointer(p);
  memset(a, 0, 24); a[0] = on ? 2 : 0; a[1] = on ? 0 : -2;
  ((const void **)a)[1] = on ? p : 0; ((const void **)a)[2] = on ? 0 : p;
  return 0;
}

// Streams, events
static long handles = 0x1000;
static int handle(void **h) { *h = (void *)__atomic_add_fetch(&handles, 16, __ATOMIC_SEQ_CST); return 0; }
int cudaStreamCreate(void **s) { return handle(s); }
int cudaStreamCreateWithFlags(void **s, unsigned f) { return handle(s); }
int cudaStreamCreateWithPriority(void **s, unsigned f, int p) { return handle(s); }
int cudaStreamGetPriority(void *s, int *p) { *p = 0; return 0; }
int cudaEventCreate(void **e) { return handle(e); }
int cudaEventCreateWithFlags(void **e, unsigned f) { return handle(e); }
int cudaEventElapsedTime(float *ms, void *a, void *b) { *ms = 1; return 0; }
int cudaStreamIsCapturing(void *s, int *c) { *c = 0; return 0; }
int cudaStreamGetCaptureInfo(void *s, int *c, unsigned long long *id, void **g, void **deps, void **e, size_t *n) { *c = 0; if (id) *id = 0; if (n) *n = 0; return 0; }
int cudaDeviceGetStreamPriorityRange(int *l, int *g) { if (l) *l = 0; if (g) *g = -5; return 0; }
int cudaLaunchHostFunc(void *s, void (*f)(void *), void *d) { f(d); return 0; }
int cudaStreamAddCallback(void *s, void (*f)(void *, int, void *), void *d, unsigned x) { f(s, 0, d); return 0; }

// The device
static __thread int current;
int cudaGetDeviceCount(int *n) { *n = 1; return 0; }
int cudaGetDevice(int *d) { *d = current; return 0; }
int cudaSetDevice(int d) { current = d; return 0; }
int cudaDriverGetVersion(int *v) { *v = 13000; return 0; }
int cudaRuntimeGetVersion(int *v) { *v = 13000; return 0; }
int cudaDeviceGetPCIBusId(char *s, int n, int d) { snprintf(s, n, "0000:00:00.0"); return 0; }
int cudaDeviceCanAccessPeer(int *can, int a, int b) { *can = 0; return 0; }
int cudaGetLastError(void) { int e = last; last = 0; return e; }
int cudaPeekAtLastError(void) { return last; }
const char *cudaGetErrorString(int e) { return e == 2 ? "out of memory" : e ? "the stand-in cannot do this" : "no error"; }
const char *cudaGetErrorName(int e) { return e == 2 ? "cudaErrorMemoryAllocation" : e ? "cudaErrorNotSupported" : "cudaSuccess"; }
int cudaGetSymbolAddress(void **p, const void *s) { *p = (void *)s; return 0; }
int cudaGetDriverEntryPointByVersion(const char *n, void **f, unsigned v, unsigned long long fl, int *r) { *f = 0; if (r) *r = 1; return 801; }
int cudaThreadExchangeStreamCaptureMode(int *m) { return 0; }

// Kernels: found, configured, launched, never run
typedef struct { size_t shared, constant, local; int maxThreads, regs, ptx, binary, cacheCA, maxDynamic, carveout, cluster[8]; } attributes;
int cudaFuncGetAttributes(attributes *a, const void *f) {
  memset(a, 0, 3 * sizeof(size_t) + 7 * sizeof(int));
  a->maxThreads = 1024; a->regs = 32; a->ptx = a->binary = 90; a->maxDynamic = 232448; return 0;
}
int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *n, const void *f, int block, size_t shared) { *n = block > 0 ? 2048 / block : 1; if (*n < 1) *n = 1; if (*n > 32) *n = 32; return 0; }
int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *n, const void *f, int block, size_t shared, unsigned fl) { return cudaOccupancyMaxActiveBlocksPerMultiprocessor(n, f, block, shared); }
void **__cudaRegisterFatBinary(void *f) { static void *h; return &h; }
int __cudaGetKernel(void **k, const void *f) { *k = (void *)f; return 0; }
int cudaGetFuncBySymbol(void **k, const void *f) { *k = (void *)f; return 0; }
char __cudaInitModule(void **h) { return 0; }
int __cudaPopCallConfiguration(void *g, void *b, size_t *s, void *st) { return 0; }

// cuBLAS
int cublasCreate_v2(void **h) { return handle(h); }
int cublasLtCreate(void **h) { return handle(h); }
int cublasGetMathMode(void *h, int *m) { *m = 0; return 0; }
int cublasGetPointerMode_v2(void *h, int *m) { *m = 0; return 0; }
int cublasLtMatmulDescCreate(void **d, int c, int s) { return handle(d); }
int cublasLtMatmulPreferenceCreate(void **d) { return handle(d); }
int cublasLtMatrixLayoutCreate(void **d, int t, uint64_t r, uint64_t c, int64_t ld) { return handle(d); }
int cublasLtMatmulAlgoGetHeuristic(void *h, void *d, void *a, void *b, void *c, void *dd, void *p, int n, uint64_t *results, int *found) {
  memset(results, 0, 8 * 8 + 8 + 4 + 4 + 16); *found = 1; return 0;
}
int cusparseCreate(void **h) { return handle(h); }
int cusolverDnCreate(void **h) { return handle(h); }
int cudnnCreate(void **h) { return handle(h); }
size_t cudnnGetVersion(void) { return 91900; }
size_t cudnnGetCudartVersion(void) { return 13000; }
const char *cudnnGetErrorString(int e) { return "cuDNN"; }
void cudnnGetLastErrorString(char *s, size_t n) { if (n) *s = 0; }
int cudnnGetProperty(int t, int *v) { int p[] = {9, 19, 0}; *v = p[t]; return 0; }
int cudnnGetStream(void *h, void **s) { *s = 0; return 0; }
// Batch norm needs neither a workspace nor a reserve.
int cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(void *h, int m, int o, void *x, void *z, void *y, void *b, void *a, size_t *n) { *n = 0; return 0; }
int cudnnGetBatchNormalizationBackwardExWorkspaceSize(void *h, int m, int o, void *x, void *y, void *dy, void *dz, void *dx, void *b, void *a, size_t *n) { *n = 0; return 0; }
int cudnnGetBatchNormalizationTrainingExReserveSpaceSize(void *h, int m, int o, void *a, void *x, size_t *n) { *n = 0; return 0; }
// cuDNN's graph interface: every graph has one engine. Attention needs a workspace of 256 bytes, plus what the caller sets
// with standin_workspace. The workspace of convolutions is not known, and none is used here.
static __thread int convolves, convolution; // the descriptors since the last graph, the graph
static __thread int64_t extra;
void standin_workspace(int64_t n) { extra = n; }
int cudnnBackendCreateDescriptor(int type, void **d) { if (type >= 10 && type <= 12) convolves = 1; return handle(d); }
int cudnnBackendSetAttribute(void *d, int name, int type, int64_t n, const void *v) { if (name == 801) convolution = convolves, convolves = 0; return 0; }
int cudnnBackendGetAttribute(void *d, int name, int type, int64_t want, int64_t *count, void *v) {
  int64_t n = 0;
  switch (name) {
  case 202: case 300: case 401: case 802: case 303: case 304: case 402: case 1301: n = 1; break; // results, engine, configuration, engines, workspaces, index
  }
  if (count) *count = n;
  if (v && want && n && type == 3) *(int64_t *)v = name == 802 ? 1 : (name == 402 || name == 303) && !convolution ? 256 + extra : 0;
  if (v && want && n && type == 23) *(int32_t *)v = 0;
  return 0;
}
int curandCreateGenerator(void **h, int t) { return handle(h); }
int ncclGetVersion(int *v) { *v = 22800; return 0; }

// The driver and the run-time compiler
int cuInit(unsigned f) { return 0; }
int cuDriverGetVersion(int *v) { *v = 13000; return 0; }
int cuDeviceGet(int *d, int i) { *d = i; return 0; }
int cuDeviceGetCount(int *n) { *n = 1; return 0; }
int cuDeviceGetAttribute(int *v, int a, int d) { return cudaDeviceGetAttribute(v, a, d); }
int cuDevicePrimaryCtxGetState(int d, unsigned *f, int *a) { *f = 0; *a = 1; return 0; }
int cuDevicePrimaryCtxRetain(void **c, int d) { return handle(c); }
int cuCtxGetCurrent(void **c) { *c = (void *)16; return 0; }
int cuGetErrorString(int e, const char **s) { *s = cudaGetErrorString(e); return 0; }
int cuMemGetAllocationGranularity(size_t *g, void *p, int o) { *g = PAGE; return 0; }
int cuModuleLoadData(void **m, const void *d) { return handle(m); }
int cuModuleLoadDataEx(void **m, const void *d, unsigned n, void *o, void *v) { return handle(m); }
int cuModuleGetFunction(void **f, void *m, const char *n) { return handle(f); }
int cuFuncGetAttribute(int *v, int a, void *f) { *v = a == 0 ? 1024 : 0; return 0; }
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, void *f, int block, size_t shared) { return cudaOccupancyMaxActiveBlocksPerMultiprocessor(n, f, block, shared); }
int cuPointerGetAttribute(void *v, int a, uint64_t p) { // context, memory type, device pointer, ...
  if (a == 2) *(unsigned *)v = device_pointer((void *)p) ? 2 : 1; else if (a == 9) *(int *)v = 0; else *(uint64_t *)v = p;
  return 0;
}
int nvrtcVersion(int *major, int *minor) { *major = 13; *minor = 0; return 0; }
const char *nvrtcGetErrorString(int e) { return "nvrtc"; }
int nvrtcCreateProgram(void **p, const char *s, const char *n, int c, void *h, void *i) { return handle(p); }
int nvrtcGetPTXSize(void *p, size_t *n) { *n = 16; return 0; }
int nvrtcGetCUBINSize(void *p, size_t *n) { *n = 16; return 0; }
int nvrtcGetProgramLogSize(void *p, size_t *n) { *n = 1; return 0; }
int nvrtcGetLoweredName(void *p, const char *e, const char **n) { *n = "kernel"; return 0; }
