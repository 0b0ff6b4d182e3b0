/* A libnvidia-ml.so.1 for tests, loaded by the real pynvml by its normal path.
 *
 * Its whole world is the struct below, in a file that a test maps and changes while a reader
 * runs. It refuses what a real GPU with MIG refuses. No vendor header: own definitions only.
 * tests/support/nvml.py mirrors the layout; LAYOUT changes when it does.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAGIC 0x6c6d766eu
#define LAYOUT 5u
#define GPUS 8
#define SLOTS 8

enum { OK = 0, UNINITIALIZED = 1, INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, TIMEOUT = 10, MISMATCH = 18 };

struct slot {
  uint32_t present, code, gi, start, size, slices, util, pad;
  uint64_t total, used;
  char uuid[96], name[96];
};
#define PROCESSES 8
struct process { uint32_t pid, gi; uint64_t used; };
struct gpu {
  uint32_t code, mig, util, util_code, memory_code, gpm, info_code;
  uint32_t xid, registered, ecc, ecc_code, recovery, recovery_code; /* xid: told once, then 0 */
  uint32_t processes, process_code, sm, dram; /* process_code: of the whole GPU alone */
  uint32_t virtualised; /* 0: the driver does not tell; else NVML's mode + 1 */
  uint32_t hang; /* calls about this GPU alone do not come back */
  uint64_t total, used, energy;
  struct process process[PROCESSES];
  char uuid[96], name[96];
  struct slot slots[SLOTS];
};
struct world {
  uint32_t magic, layout, code, gpus, delay_us, hang, crash, topology_code;
  uint64_t calls;
  uint32_t ancestor[GPUS][GPUS], nvlink[GPUS][GPUS]; /* NVML's levels; 1 where NVLink joins two */
  struct gpu gpu[GPUS];
};

static struct world *w;
static int opened;

static int enter(void) {
  if (!opened) return UNINITIALIZED;
  w->calls++;
  while (w->hang) usleep(10000);
  if (w->crash) abort();
  if (w->delay_us) usleep(w->delay_us);
  return (int)w->code;
}

/* A handle is a number: 256 per GPU, the GPU itself first, then its MIG devices. */
static void *handle(unsigned gpu, unsigned slot) { return (void *)(uintptr_t)(0x10000 + gpu * 256 + slot); }
static struct gpu *gpu_of(void *h) {
  uintptr_t n = (uintptr_t)h - 0x10000;
  return n / 256 < w->gpus ? &w->gpu[n / 256] : NULL;
}
static struct slot *slot_of(void *h) {
  uintptr_t n = ((uintptr_t)h - 0x10000) % 256;
  struct gpu *g = gpu_of(h);
  return g && n >= 1 && n <= SLOTS ? &g->slots[n - 1] : NULL;
}
static int is_slot(void *h) { return ((uintptr_t)h - 0x10000) % 256 != 0; }

#define ENTER do { int code_ = enter(); if (code_) return code_; } while (0)
#define DEVICE(h) \
  ENTER; struct gpu *g = gpu_of(h); if (!g) return INVALID; \
  while (g->hang) usleep(10000); \
  if (g->code) return (int)g->code; \
  struct slot *s = is_slot(h) ? slot_of(h) : NULL; \
  if (is_slot(h) && (!s || !s->present || !g->mig)) return INVALID; \
  if (s && s->code) { return (int)s->code; } \
  (void)s

int nvmlInitWithFlags(unsigned flags) {
  (void)flags;
  if (!w) {
    const char *path = getenv("NVML_STUB_WORLD");
    int file = path ? open(path, O_RDWR) : -1;
    if (file < 0) return 9; /* driver not loaded */
    w = mmap(NULL, sizeof *w, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (w == MAP_FAILED) { w = NULL; return 9; }
  }
  if (w->magic != MAGIC || w->layout != LAYOUT) return MISMATCH;
  opened = 1;
  return enter();
}
int nvmlShutdown(void) { opened = 0; return OK; }
const char *nvmlErrorString(int code) { static char text[32]; snprintf(text, sizeof text, "stub error %d", code); return text; }
int nvmlDeviceGetCount_v2(unsigned *count) { ENTER; *count = w->gpus; return OK; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **out) {
  ENTER;
  if (i >= w->gpus) return INVALID;
  while (w->gpu[i].hang) usleep(10000);
  if (w->gpu[i].code) return (int)w->gpu[i].code;
  *out = handle(i, 0);
  return OK;
}
int nvmlDeviceGetTopologyCommonAncestor(void *h, void *other, unsigned *level) {
  DEVICE(h);
  if (w->topology_code) return (int)w->topology_code;
  struct gpu *o = gpu_of(other);
  if (!o || s || is_slot(other)) return INVALID;
  *level = w->ancestor[g - w->gpu][o - w->gpu];
  return OK;
}
int nvmlDeviceGetP2PStatus(void *h, void *other, unsigned index, unsigned *status) {
  DEVICE(h);
  if (w->topology_code) return (int)w->topology_code;
  struct gpu *o = gpu_of(other);
  if (!o || s || is_slot(other)) return INVALID;
  *status = index == 2 && w->nvlink[g - w->gpu][o - w->gpu] ? 0 : 5; /* 5: not supported */
  return OK;
}
int nvmlDeviceGetName(void *h, char *out, unsigned n) {
  DEVICE(h);
  snprintf(out, n, "%s", s ? s->name : g->name);
  return OK;
}
int nvmlDeviceGetUUID(void *h, char *out, unsigned n) {
  DEVICE(h);
  snprintf(out, n, "%s", s ? s->uuid : g->uuid);
  return OK;
}
int nvmlDeviceGetMigMode(void *h, unsigned *now, unsigned *later) {
  DEVICE(h);
  if (s) return INVALID;
  *now = *later = g->mig;
  return OK;
}
int nvmlDeviceGetVirtualizationMode(void *h, unsigned *mode) {
  DEVICE(h);
  if (s || !g->virtualised) return NOT_SUPPORTED;
  *mode = g->virtualised - 1;
  return OK;
}
int nvmlDeviceGetMaxMigDeviceCount(void *h, unsigned *count) { DEVICE(h); *count = SLOTS; return OK; }
int nvmlDeviceGetMigDeviceHandleByIndex(void *h, unsigned i, void **out) {
  DEVICE(h);
  if (!g->mig || s) return NOT_SUPPORTED;
  if (i >= SLOTS || !g->slots[i].present) return NOT_FOUND;
  *out = handle((unsigned)(g - w->gpu), i + 1);
  return OK;
}
int nvmlDeviceGetGpuInstanceId(void *h, unsigned *out) { DEVICE(h); if (!s) return INVALID; *out = s->gi; return OK; }
int nvmlDeviceGetAttributes_v2(void *h, void *out) {
  DEVICE(h);
  if (!s) return NOT_SUPPORTED;
  memset(out, 0, 40);
  ((uint32_t *)out)[6] = s->slices;
  *(uint64_t *)((char *)out + 32) = s->total >> 20;
  return OK;
}
int nvmlDeviceGetGpuInstanceById(void *h, unsigned id, void **out) {
  DEVICE(h);
  if (g->info_code) return (int)g->info_code;
  for (unsigned i = 0; i < SLOTS; i++)
    if (g->slots[i].present && g->slots[i].gi == id) {
      *out = handle((unsigned)(g - w->gpu), i + 1);
      return OK;
    }
  return NOT_FOUND;
}
int nvmlGpuInstanceGetInfo(void *h, void *out) {
  DEVICE(h);
  if (!s) return INVALID;
  struct { void *device; uint32_t id, profile, start, size; } *info = out;
  info->device = handle((unsigned)(g - w->gpu), 0);
  info->id = s->gi;
  info->profile = 0;
  info->start = s->start;
  info->size = s->size;
  return OK;
}
int nvmlDeviceGetMemoryInfo(void *h, uint64_t *out) { /* total, free, used */
  DEVICE(h);
  if (!s && g->memory_code) return (int)g->memory_code;
  uint64_t total = s ? s->total : g->total, used = s ? s->used : g->used;
  out[0] = total; out[1] = total - used; out[2] = used;
  return OK;
}
int nvmlDeviceGetMemoryInfo_v2(void *h, void *out) { /* version, total, reserved, free, used */
  DEVICE(h);
  if (*(uint32_t *)out != 0x02000028u) return 25;
  if (!s && g->memory_code) return (int)g->memory_code;
  uint64_t *field = (uint64_t *)((char *)out + 8);
  uint64_t total = s ? s->total : g->total, used = s ? s->used : g->used;
  field[0] = total; field[1] = 0; field[2] = total - used; field[3] = used;
  return OK;
}
int nvmlDeviceGetUtilizationRates(void *h, uint32_t *out) {
  DEVICE(h);
  if (s || g->mig) return NOT_SUPPORTED;
  if (g->util_code) return (int)g->util_code;
  out[0] = g->util; out[1] = 0;
  return OK;
}

struct info { uint32_t pid; uint64_t used; uint32_t gi, ci; };
int nvmlDeviceGetComputeRunningProcesses_v3(void *h, unsigned *count, struct info *out) {
  DEVICE(h);
  if (!s && g->process_code) return (int)g->process_code;
  unsigned found = 0, room = *count;
  for (unsigned i = 0; i < g->processes && i < PROCESSES; i++) {
    if (s && g->process[i].gi != s->gi) continue;
    if (found < room && out) {
      out[found].pid = g->process[i].pid;
      out[found].used = g->process[i].used;
      out[found].gi = g->mig ? g->process[i].gi : 0xffffffffu;
      out[found].ci = 0;
    }
    found++;
  }
  *count = found;
  return found > room ? 7 : OK;
}
int nvmlDeviceGetTotalEnergyConsumption(void *h, unsigned long long *out) {
  DEVICE(h);
  if (s || !g->energy) return NOT_SUPPORTED;
  *out = g->energy;
  return OK;
}

/* GPM: a sample remembers its device; a difference of two gives what the device shows now. */
struct gpm_sample { struct slot *slot; struct gpu *gpu; };
struct gpm_metric { uint32_t id; int code; double value; void *info[3]; };
struct gpm_request { uint32_t version, count; struct gpm_sample *first, *second; struct gpm_metric metrics[]; };

int nvmlGpmQueryDeviceSupport(void *h, uint32_t *out) { DEVICE(h); out[1] = g->gpm; return OK; }
int nvmlGpmSampleAlloc(struct gpm_sample **out) { ENTER; *out = calloc(1, sizeof **out); return OK; }
int nvmlGpmSampleFree(struct gpm_sample *sample) { free(sample); return OK; }
int nvmlGpmMigSampleGet(void *h, unsigned gi, struct gpm_sample *sample) {
  DEVICE(h);
  if (!g->gpm) return NOT_SUPPORTED;
  for (unsigned i = 0; i < SLOTS; i++)
    if (g->slots[i].present && g->slots[i].gi == gi) { sample->slot = &g->slots[i]; return OK; }
  return NOT_FOUND;
}
int nvmlGpmSampleGet(void *h, struct gpm_sample *sample) {
  DEVICE(h);
  if (!g->gpm || s) return NOT_SUPPORTED;
  sample->gpu = g;
  return OK;
}
int nvmlGpmMetricsGet(struct gpm_request *request) {
  ENTER;
  for (uint32_t i = 0; i < request->count; i++) {
    struct gpm_sample *one = request->first, *two = request->second;
    int same = (one->slot || one->gpu) && one->slot == two->slot && one->gpu == two->gpu;
    struct gpm_metric *m = &request->metrics[i];
    m->code = same ? OK : INVALID;
    m->value = 0;
    if (!same) continue;
    struct gpu *g = two->gpu;
    if (m->id == 1) m->value = g ? g->util : two->slot->util;
    else if (m->id == 2 || m->id == 10) m->value = g ? (m->id == 2 ? g->sm : g->dram) : 0;
    else if (g && (m->id == 20 || m->id == 21)) m->value = 1.5;
    else m->code = NOT_SUPPORTED;
  }
  return OK;
}

/* Faults: counters of the whole GPU, and events that are told once to whoever has registered. */
struct field_value { uint32_t field, scope; int64_t at, took; uint32_t type; int code; uint64_t value; };
struct event { void *device; uint64_t type, data; uint32_t gi, ci; };

int nvmlDeviceGetTotalEccErrors(void *h, unsigned kind, unsigned counter, uint64_t *out) {
  DEVICE(h);
  (void)counter;
  if (s) return NOT_SUPPORTED;
  if (g->ecc_code) return (int)g->ecc_code;
  *out = kind == 1 ? g->ecc : 0;
  return OK;
}
int nvmlDeviceGetFieldValues(void *h, int count, struct field_value *out) {
  DEVICE(h);
  for (int i = 0; i < count; i++) {
    out[i].code = out[i].field == 230 ? (int)g->recovery_code : NOT_SUPPORTED;
    out[i].value = g->recovery;
  }
  return OK;
}
int nvmlEventSetCreate(void **out) {
  ENTER;
  for (unsigned i = 0; i < GPUS; i++) w->gpu[i].registered = 0;
  *out = (void *)0x1;
  return OK;
}
int nvmlEventSetFree(void *set) { (void)set; return OK; }
int nvmlDeviceRegisterEvents(void *h, uint64_t types, void *set) {
  DEVICE(h);
  (void)set;
  if (s || !(types & 8)) return NOT_SUPPORTED;
  g->registered = 1;
  return OK;
}
int nvmlEventSetWait_v2(void *set, struct event *out, unsigned wait_ms) {
  ENTER;
  (void)set;
  (void)wait_ms;
  for (unsigned i = 0; i < w->gpus; i++)
    if (w->gpu[i].registered && w->gpu[i].xid) {
      out->device = handle(i, 0);
      out->type = 8;
      out->data = w->gpu[i].xid;
      out->gi = out->ci = 0xffffffffu;
      w->gpu[i].xid = 0;
      return OK;
    }
  return TIMEOUT;
}
