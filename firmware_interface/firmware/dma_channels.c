/* The line and the wheel by the DMA of the STM32F103 and G431: channels 4 and 5, and 1. */
#include "board.h"

static void dma_start(uint32_t channel, const volatile void *unit, const volatile void *memory, uint32_t n,
                      uint32_t flags)
{
    DMA1_CHANNEL(channel)->CPAR = address(unit);
    DMA1_CHANNEL(channel)->CMAR = address(memory);
    DMA1_CHANNEL(channel)->CNDTR = n;
    DMA1_CHANNEL(channel)->CCR = DMA_CCR_MINC | flags;
}

void line_dma_start(uint8_t *rx, uint32_t rx_size, const uint8_t *tx)
{
    dma_start(4, USART1_OUT, tx, 0, DMA_CCR_FROM_MEMORY);
    dma_start(5, USART1_IN, rx, rx_size, DMA_CCR_CIRC | DMA_CCR_EN);
}

uint32_t line_left(void)
{
    return DMA1_CHANNEL(5)->CNDTR;
}

void line_send(uint32_t n)
{
    DMA1_CHANNEL(4)->CCR &= ~DMA_CCR_EN;
    DMA1_CHANNEL(4)->CNDTR = n;
    DMA1_CHANNEL(4)->CCR |= DMA_CCR_EN;
}

void captures_start(uint16_t *captures, uint32_t n)
{
    dma_start(1, &TIM2->CCR3, captures, n, DMA_CCR_PSIZE_16 | DMA_CCR_MSIZE_16 | DMA_CCR_CIRC | DMA_CCR_EN);
}

uint32_t captures_left(void)
{
    return DMA1_CHANNEL(1)->CNDTR;
}
