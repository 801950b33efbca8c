/* node.c over instants that a test has written down, on a processor that qemu plays; what it says goes to the terminal.
 *
 * `instants_`: struct node_identity, struct node_start, salt and number of the first sample, then for each instant a struct instant and the bytes
 * that come off the line. Said of each: value and kind for the drive, then the frames.
 */
#include "node.h"

struct instant {
    uint32_t now_us;
    uint16_t n; /* bytes off the line */
    uint8_t stop_button, faults;
    struct node_readings readings;
};

__asm__(".section .rodata\n.global instants_, instants_end_\ninstants_:\n.incbin \"instants.bin\"\ninstants_end_:\n.text");
extern const uint8_t instants_[], instants_end_[];
extern uint32_t stack_top_[];

void reset(void);
__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack;
    void (*others[15])(void);
} vectors = {stack_top_, {reset, reset, reset, reset}};

enum { SYS_OPEN = 0x01, SYS_WRITE = 0x05, SYS_EXIT = 0x18, EXIT_GOOD = 0x20026 };

static uint32_t ask_host(uint32_t what, uint32_t with)
{
    register uint32_t r0 __asm__("r0") = what;
    register uint32_t r1 __asm__("r1") = with;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static void copy(void *to, const uint8_t **from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ((volatile uint8_t *)to)[i] = *(*from)++;
    }
}

void reset(void)
{
    static const char terminal[] = ":tt";
    const uint32_t open[] = {(uint32_t)(uintptr_t)terminal, 4, sizeof terminal - 1};
    const uint32_t out = ask_host(SYS_OPEN, (uint32_t)(uintptr_t)open);
    const uint8_t *from = instants_;
    static struct node_identity identity;
    static struct node_start start;
    static struct node node;
    uint32_t salt, seq;

    copy(&identity, &from, sizeof identity);
    copy(&start, &from, sizeof start);
    copy(&salt, &from, sizeof salt);
    copy(&seq, &from, sizeof seq);
    node_init(&node, &identity, &start);
    node.salt = salt;
    node.seq = seq;
    while (from < instants_end_) {
        static struct instant instant;
        static uint8_t said[8 + NODE_HELLO_FRAME + NODE_SAMPLE_FRAME];
        uint32_t value;
        size_t n = 8;

        copy(&instant, &from, sizeof instant);
        node_receive(&node, from, instant.n);
        from += instant.n;
        value = (uint32_t)node_latch(&node, instant.now_us, instant.stop_button != 0, instant.faults);
        for (uint32_t i = 0; i < 4; i++) {
            said[i] = (uint8_t)(value >> (8 * i));
        }
        said[4] = node.kind;
        said[5] = node.enabled;
        n += node_hello(&node, &said[n]);
        n += node_sample(&node, &instant.readings, &said[n]);
        {
            const uint32_t write[] = {out, (uint32_t)(uintptr_t)said, (uint32_t)n};
            (void)ask_host(SYS_WRITE, (uint32_t)(uintptr_t)write);
        }
    }
    (void)ask_host(SYS_EXIT, EXIT_GOOD);
    for (;;) {
    }
}
