/* What happens before main(): vectors, the memory of C, the clocks. Symbols ending in _ are of stm32.ld. */
#include "board.h"

extern uint32_t stack_top_[], data_start_[], data_end_[], bss_start_[], bss_end_[];
extern const uint32_t data_load_[];

void reset(void);
int main(void);

#define SYSTEM_VECTORS 15u /* behind the first word */

struct vectors {
    uint32_t *stack;
    void (*reset)(void);
    void (*others[SYSTEM_VECTORS - 1 + TIM2_IRQ + 1])(void);
};

/* Faults, NMI (the crystal has failed) and every interrupt nobody asked for end in halt(). */
__attribute__((section(".vectors"), used)) static const struct vectors vectors = {
    stack_top_,
    reset,
    {
        halt, halt, halt, halt, halt, halt, halt, halt, halt, halt, halt, halt, halt, halt, /* 14 of the processor */
        halt, halt, halt, halt, halt, halt, halt, halt, halt, halt, halt, halt, halt, halt, /* 28 of the chip */
        halt, halt, halt, halt, halt, halt, halt, halt, halt, halt, halt, halt, halt, halt,
        tick, /* TIM2 */
    },
};

void reset(void)
{
    const uint32_t *from = data_load_;

    for (uint32_t *to = data_start_; to < data_end_; to++) {
        *to = *from++;
    }
    for (uint32_t *to = bss_start_; to < bss_end_; to++) {
        *to = 0;
    }
    if (clock_start()) { /* else neither baud rate nor clock is right; all pins are inputs still */
        RCC->CR |= RCC_CR_CSSON; /* from now on a failing crystal is a break of TIM1, then an NMI */
        (void)main();
    }
    halt();
}
