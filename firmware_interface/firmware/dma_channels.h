/* DMA by channels: that of the STM32F103 and G431. */
#ifndef DMA_CHANNELS_H
#define DMA_CHANNELS_H

#include "stm32.h"

struct dma_channel {
    reg CCR, CNDTR, CPAR, CMAR, reserved;
};

#define DMA1_CHANNEL(k) (&((struct dma_channel *)0x40020008u)[(k)-1])

#define DMA_CCR_EN BIT(0)
#define DMA_CCR_FROM_MEMORY BIT(4)
#define DMA_CCR_CIRC BIT(5)
#define DMA_CCR_MINC BIT(7)
#define DMA_CCR_PSIZE_16 (0x1u << 8)
#define DMA_CCR_MSIZE_16 (0x1u << 10)

#endif
