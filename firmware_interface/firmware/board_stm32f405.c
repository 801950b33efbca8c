/* STM32F405RG at 168 MHz, with a crystal of CRYSTAL_MHz: clocks, pins, converter and DMA, after RM0090. Its pins, units and
 * timers are used as those of the STM32F103; a board of its own must lead these pins out.
 */
#include "board.h"

/* Flash wants five wait states. APB2 is half, APB1 a quarter; their timers run at twice that. */
bool clock_start(void)
{
    bool good;

    RCC->CR |= RCC_CR_HSEON;
    good = waited_for(&RCC->CR, RCC_CR_HSERDY, RCC_CR_HSERDY);
    FLASH_ACR = FLASH_ACR_CACHES | FLASH_ACR_LATENCY_5;
    RCC->PLLCFGR = RCC_PLLCFGR_168_MHz;
    RCC->CFGR = RCC_CFGR_PPRE1_DIV4 | RCC_CFGR_PPRE2_DIV2;
    RCC->CR |= RCC_CR_PLLON;
    good = good && waited_for(&RCC->CR, RCC_CR_PLLRDY, RCC_CR_PLLRDY);
    if (good) {
        RCC->CFGR |= RCC_CFGR_SW_PLL;
        good = waited_for(&RCC->CFGR, RCC_CFGR_SWS, RCC_CFGR_SWS_PLL);
    }
    RCC->AHB1ENR |= RCC_AHB1ENR_GPIO_A_TO_C | RCC_AHB1ENR_DMA1 | RCC_AHB1ENR_DMA2;
    RCC->APB2ENR = RCC_APB2ENR_TIM1 | RCC_APB2ENR_USART1 | RCC_APB2ENR_ADC1 | RCC_APB2ENR_SPI1;
    RCC->APB1ENR = RCC_APB1ENR_TIM2 | RCC_APB1ENR_TIM4;
    return good;
}

void adc_start(void)
{
    ADC_CCR = ADC_CCR_ADCPRE_DIV4;
    ADC1->SMPR2 = ADC_SMPR2_84(0) | ADC_SMPR2_84(1);
    ADC1->CR2 = ADC_CR2_ADON;
    delay_ms(1);
}

uint32_t adc_read(uint32_t channel)
{
    ADC1->SQR3 = channel;
    ADC1->CR2 |= ADC_CR2_SWSTART;
    return waited_for(&ADC1->SR, ADC_SR_EOC, ADC_SR_EOC) ? ADC1->DR & 0xFFFu : 0;
}

static void dma_start(struct dma_stream *stream, const volatile void *unit, const volatile void *memory, uint32_t n,
                      uint32_t flags)
{
    stream->PAR = address(unit);
    stream->M0AR = address(memory);
    stream->NDTR = n;
    stream->CR = DMA_CR_MINC | flags;
}

void line_dma_start(uint8_t *rx, uint32_t rx_size, const uint8_t *tx)
{
    dma_start(&DMA2->stream[7], &USART1->DR, tx, 0, DMA_CR_CHANNEL(4) | DMA_CR_FROM_MEMORY);
    dma_start(&DMA2->stream[5], &USART1->DR, rx, rx_size, DMA_CR_CHANNEL(4) | DMA_CR_CIRC | DMA_CR_EN);
}

uint32_t line_left(void)
{
    return DMA2->stream[5].NDTR;
}

void line_send(uint32_t n)
{
    DMA2->stream[7].CR &= ~DMA_CR_EN;
    (void)waited_for(&DMA2->stream[7].CR, DMA_CR_EN, 0);
    DMA2->HIFCR = DMA_HIFCR_STREAM_7; /* else it would not begin again */
    DMA2->stream[7].NDTR = n;
    DMA2->stream[7].CR |= DMA_CR_EN;
}

void captures_start(uint16_t *captures, uint32_t n)
{
    dma_start(&DMA1->stream[1], &TIM2->CCR3, captures, n,
              DMA_CR_CHANNEL(3) | DMA_CR_PSIZE_16 | DMA_CR_MSIZE_16 | DMA_CR_CIRC | DMA_CR_EN);
}

uint32_t captures_left(void)
{
    return DMA1->stream[1].NDTR;
}
