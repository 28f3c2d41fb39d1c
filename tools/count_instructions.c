// Counts the instructions that a program under qemu-user executes between two marks, by function.
//
//   qemu-aarch64 -d plugin -plugin count.so,out=FILE PROGRAM ARGUMENT...
//
// A call of kazeia_count_begin() zeroes all counts, one of kazeia_count_end() appends "COUNT FUNCTION" lines to FILE
// and an empty one. `-d plugin` makes qemu read the program's symbols. One thread of the program only: the counts are
// not atomic. The interface is version 1 of QEMU's TCG plugins (https://www.qemu.org/docs/master/devel/tcg-plugins.html),
// declared here because distributions' packages leave its header out.
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef uint64_t PluginId;
enum { kAddU64 = 0, kNoRegisters = 0 };

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb* block);
struct qemu_plugin_insn* qemu_plugin_tb_get_insn(const struct qemu_plugin_tb* block, size_t index);
const char* qemu_plugin_insn_symbol(const struct qemu_plugin_insn* instruction);
void qemu_plugin_register_vcpu_tb_trans_cb(PluginId id, void (*translated)(PluginId, struct qemu_plugin_tb*));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb* block, int operation, void* at, uint64_t value);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb* block, void (*executed)(unsigned, void*), int registers,
                                          void* data);

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int qemu_plugin_version = 1;

// A block of instructions as QEMU translated it; one that is translated again is counted anew.
struct Block {
  struct Block* next;
  uint64_t count;
  char function[];
};

static struct Block* blocks = NULL;
static const char* out_path = NULL;

static void begin(unsigned processor, void* data) {
  (void)processor;
  (void)data;
  for (struct Block* block = blocks; block != NULL; block = block->next) block->count = 0;
}

static void end(unsigned processor, void* data) {
  (void)processor;
  (void)data;
  FILE* out = fopen(out_path, "a");
  if (out == NULL) {
    perror(out_path);
    exit(1);
  }
  for (const struct Block* block = blocks; block != NULL; block = block->next) {
    if (block->count > 0) fprintf(out, "%" PRIu64 " %s\n", block->count, block->function);
  }
  fprintf(out, "\n");
  fclose(out);
}

static void translated(PluginId id, struct qemu_plugin_tb* translated_block) {
  (void)id;
  const char* symbol = qemu_plugin_insn_symbol(qemu_plugin_tb_get_insn(translated_block, 0));
  if (symbol == NULL) symbol = "";
  if (strcmp(symbol, "kazeia_count_begin") == 0) {
    qemu_plugin_register_vcpu_tb_exec_cb(translated_block, begin, kNoRegisters, NULL);
  } else if (strcmp(symbol, "kazeia_count_end") == 0) {
    qemu_plugin_register_vcpu_tb_exec_cb(translated_block, end, kNoRegisters, NULL);
  } else {
    struct Block* block = malloc(sizeof *block + strlen(symbol) + 1);
    if (block == NULL) abort();
    block->next = blocks;
    block->count = 0;
    strcpy(block->function, symbol);
    blocks = block;
    qemu_plugin_register_vcpu_tb_exec_inline(translated_block, kAddU64, &block->count,
                                             qemu_plugin_tb_n_insns(translated_block));
  }
}

EXPORTED int qemu_plugin_install(PluginId id, const void* info, int n_arguments, char** arguments) {
  (void)info;
  for (int i = 0; i < n_arguments; ++i) {
    if (strncmp(arguments[i], "out=", 4) == 0) out_path = arguments[i] + 4;
  }
  if (out_path == NULL) {
    fprintf(stderr, "count: out=FILE is missing\n");
    return 1;
  }
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  return 0;
}
