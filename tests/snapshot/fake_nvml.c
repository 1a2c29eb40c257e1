/* libnvidia-ml.so.1 for machines without a GPU: it answers what a file named "state" beside it says.
 *
 * Each line of that file is SCOPE KEY VALUE, where SCOPE is "system" or the index of a GPU ("any" = every GPU that has
 * no line of its own). The file is read anew at every call, so a test can change it under a running program.
 * A value "!N" makes the call that asks for the key return the NVML error N. Signatures and structures are those of
 * nvml.h; only what sm120kit asks is here.
 *
 *   system init    ok | !N | hang | crash | noise       any cc      12.0
 *   system driver  580.95.05                            any memory  TOTAL_MIB FREE_MIB
 *   system cuda    13000                                any mig     0 | 1
 *   system count   8                                    any handle  ok | !N
 *                                                       any nvlink  COUNT of links that are up | !N
 *                                                       any process PID MIB, of the one that computes there | !N
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7 };
enum { MOST_GPUS = 16, MIG_SLOTS = 4, TEXT = 256 };

typedef struct { int index, mig; } Device;
typedef struct { unsigned long long total, free, used; } Memory;
typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; } Pci;

static Device gpus[MOST_GPUS], instances[MOST_GPUS][MIG_SLOTS];

/* Copies the value of a key and returns 0, or the error that the state demands. */
static int ask(int gpu, const char *key, const char *otherwise, char *value) {
    char path[4096], line[TEXT], scope[32], own[32], name[64], rest[TEXT];
    Dl_info here;
    int own_found = 0;
    snprintf(value, TEXT, "%s", otherwise);
    if (!dladdr(gpus, &here)) return 999;
    snprintf(path, sizeof path - 8, "%s", here.dli_fname);
    char *slash = strrchr(path, '/');
    strcpy(slash ? slash + 1 : path, "state");
    FILE *file = fopen(path, "r");
    snprintf(own, sizeof own, gpu < 0 ? "system" : "%d", gpu);
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "%31s %63s %255[^\n]", scope, name, rest) != 3 || strcmp(name, key)) continue;
        if (!strcmp(scope, own)) own_found = 1;
        else if (own_found || gpu < 0 || strcmp(scope, "any")) continue;
        strcpy(value, rest);
    }
    if (file) fclose(file);
    return *value == '!' ? atoi(value + 1) : SUCCESS;
}

static int text(int gpu, const char *key, const char *otherwise, char *out, unsigned room) {
    char value[TEXT];
    int error = ask(gpu, key, otherwise, value);
    if (error) return error;
    if (strlen(value) >= room) return INSUFFICIENT_SIZE;
    strcpy(out, value);
    return SUCCESS;
}

static int number(int gpu, const char *key, const char *otherwise, int *out) {
    char value[TEXT];
    int error = ask(gpu, key, otherwise, value);
    *out = atoi(value);
    return error;
}

int nvmlInitWithFlags(unsigned flags) {
    char value[TEXT];
    int error = ask(-1, "init", "ok", value);
    (void)flags;
    for (int i = 0; i < MOST_GPUS; i++) {
        gpus[i] = (Device){ i, -1 };
        for (int slot = 0; slot < MIG_SLOTS; slot++) instances[i][slot] = (Device){ i, slot };
    }
    if (!strcmp(value, "hang")) for (;;) pause();
    if (!strcmp(value, "crash")) raise(SIGSEGV);
    if (!strcmp(value, "noise")) { puts("\xff\xfe no JSON {"); fflush(stdout); _exit(0); }
    return error;
}

int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
int nvmlShutdown(void) { return SUCCESS; }

const char *nvmlErrorString(int code) {
    static char words[64];
    snprintf(words, sizeof words, "error %d of the stand-in", code);
    return words;
}

int nvmlSystemGetDriverVersion(char *out, unsigned room) { return text(-1, "driver", "580.95.05", out, room); }
int nvmlSystemGetCudaDriverVersion_v2(int *out) { return number(-1, "cuda", "13000", out); }
int nvmlDeviceGetCount_v2(unsigned *out) { return number(-1, "count", "8", (int *)out); }

int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device **out) {
    char value[TEXT];
    if (index >= MOST_GPUS) return INVALID_ARGUMENT;
    *out = &gpus[index];
    return ask((int)index, "handle", "ok", value);
}

int nvmlDeviceGetName(Device *gpu, char *out, unsigned room) {
    return text(gpu->index, "name", "NVIDIA RTX PRO 6000 Blackwell Server Edition", out, room);
}

int nvmlDeviceGetUUID(Device *gpu, char *out, unsigned room) {
    if (gpu->mig >= 0) snprintf(out, room, "MIG-0000000%d-0000-0000-0000-00000000000%d", gpu->index, gpu->mig);
    else snprintf(out, room, "GPU-0000000%x-0000-0000-0000-000000000000", gpu->index);
    return SUCCESS;
}

int nvmlDeviceGetCudaComputeCapability(Device *gpu, int *major, int *minor) {
    char value[TEXT];
    int error = ask(gpu->index, "cc", "12.0", value);
    if (!error) sscanf(value, "%d.%d", major, minor);
    return error;
}

int nvmlDeviceGetMemoryInfo(Device *gpu, Memory *out) {
    char value[TEXT];
    unsigned long long total = 0, left = 0;
    int error = ask(gpu->index, "memory", "97887 97245", value);
    if (!error) sscanf(value, "%llu %llu", &total, &left);
    *out = (Memory){ total << 20, left << 20, (total - left) << 20 };
    return error;
}

int nvmlDeviceGetPciInfo_v3(Device *gpu, Pci *out) {
    memset(out, 0, sizeof *out);
    snprintf(out->bus_id, sizeof out->bus_id, "00000000:%02X:00.0", 1 + 16 * gpu->index);
    return SUCCESS;
}

int nvmlDeviceGetNvLinkState(Device *gpu, unsigned link, int *active) {
    int up = 0, error = number(gpu->index, "nvlink", "!3", &up);
    *active = (int)link < up;
    return error;
}

typedef struct { unsigned pid; unsigned long long used; unsigned gpu_instance, compute_instance; } Process;

/* NVML is asked twice: first how many there are, with no room, then for them. */
int nvmlDeviceGetComputeRunningProcesses_v3(Device *gpu, unsigned *count, Process *out) {
    char value[TEXT];
    unsigned pid = 0;
    unsigned long long mib = 0;
    int error = ask(gpu->index, "process", "", value);
    unsigned found = !error && sscanf(value, "%u %llu", &pid, &mib) == 2, room = *count;
    *count = found;
    if (error || !found) return error;
    if (!out || room < found) return INSUFFICIENT_SIZE;
    out[0] = (Process){ pid, mib << 20, 0, 0 };
    return SUCCESS;
}

int nvmlDeviceGetMigMode(Device *gpu, unsigned *current, unsigned *pending) {
    int error = number(gpu->index, "mig", "!3", (int *)current);
    *pending = *current;
    return error;
}

int nvmlDeviceGetMaxMigDeviceCount(Device *gpu, unsigned *out) { (void)gpu; *out = MIG_SLOTS; return SUCCESS; }

/* Two instances are made, in the first and the third slot, as happens after one was destroyed. */
int nvmlDeviceGetMigDeviceHandleByIndex(Device *gpu, unsigned slot, Device **out) {
    if (slot >= MIG_SLOTS || slot % 2) return NOT_FOUND;
    *out = &instances[gpu->index][slot];
    return SUCCESS;
}
