/* What happens before main(): vectors, the memory of C, the clocks. Symbols ending in _ are of stm32f103.ld. */
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

/* 72 MHz from a crystal of 8 MHz; 36 MHz on APB1, whose timers run at twice that. */
static void clock_start(void)
{
    bool good;

    RCC->CR |= RCC_CR_HSEON;
    good = waited_for(&RCC->CR, RCC_CR_HSERDY, RCC_CR_HSERDY);
    FLASH_ACR = FLASH_ACR_PRFTBE | FLASH_ACR_LATENCY_2;
    RCC->CFGR = RCC_CFGR_PLLSRC_HSE | RCC_CFGR_PLLMUL_9 | RCC_CFGR_PPRE1_DIV2 | RCC_CFGR_ADCPRE_DIV6;
    RCC->CR |= RCC_CR_PLLON;
    good = good && waited_for(&RCC->CR, RCC_CR_PLLRDY, RCC_CR_PLLRDY);
    if (good) {
        RCC->CFGR |= RCC_CFGR_SW_PLL;
        good = waited_for(&RCC->CFGR, RCC_CFGR_SWS, RCC_CFGR_SWS_PLL);
    }
    RCC->AHBENR |= RCC_AHBENR_DMA1;
    RCC->APB2ENR = RCC_APB2ENR_AFIO | RCC_APB2ENR_GPIOA | RCC_APB2ENR_GPIOB | RCC_APB2ENR_GPIOC | RCC_APB2ENR_ADC1 |
                   RCC_APB2ENR_TIM1 | RCC_APB2ENR_SPI1 | RCC_APB2ENR_USART1;
    RCC->APB1ENR = RCC_APB1ENR_TIM2 | RCC_APB1ENR_TIM4;
    if (!good) {
        halt(); /* without the crystal neither baud rate nor clock is right; all pins are inputs still */
    }
    RCC->CR |= RCC_CR_CSSON; /* from now on a failing crystal is a break of TIM1, then an NMI */
}

void reset(void)
{
    const uint32_t *from = data_load_;

    for (uint32_t *to = data_start_; to < data_end_; to++) {
        *to = *from++;
    }
    for (uint32_t *to = bss_start_; to < bss_end_; to++) {
        *to = 0;
    }
    clock_start();
    (void)main();
    halt();
}
