/* STM32G431 at 144 MHz, with a crystal of CRYSTAL_MHz: clocks, converter and the routes of its DMA, after RM0440. Pins,
 * units and timers are used as those of the STM32F103. On a NUCLEO-G431RB, PC13 has the blue button too, and PA5 the LED.
 */
#include "board.h"

/* Flash wants four wait states. Above 80 MHz it is reached by way of half the speed. No bus is slower than the processor. */
bool clock_start(void)
{
    bool good;

    RCC->CR |= RCC_CR_HSEON;
    good = waited_for(&RCC->CR, RCC_CR_HSERDY, RCC_CR_HSERDY);
    FLASH_ACR = FLASH_ACR_CACHES | FLASH_ACR_LATENCY_4;
    RCC->PLLCFGR = RCC_PLLCFGR_144_MHz;
    RCC->CR |= RCC_CR_PLLON;
    good = good && waited_for(&RCC->CR, RCC_CR_PLLRDY, RCC_CR_PLLRDY);
    if (good) {
        RCC->CFGR = RCC_CFGR_HPRE_DIV2 | RCC_CFGR_SW_PLL;
        good = waited_for(&RCC->CFGR, RCC_CFGR_SWS, RCC_CFGR_SWS_PLL);
    }
    RCC->AHB1ENR |= RCC_AHB1ENR_DMA1 | RCC_AHB1ENR_DMAMUX1;
    RCC->AHB2ENR |= RCC_AHB2ENR_GPIO_A_TO_C | RCC_AHB2ENR_ADC12;
    RCC->APB2ENR = RCC_APB2ENR_TIM1 | RCC_APB2ENR_USART1 | RCC_APB2ENR_SPI1;
    RCC->APB1ENR1 |= RCC_APB1ENR1_TIM2 | RCC_APB1ENR1_TIM4 | RCC_APB1ENR1_PWR;
    for (uint32_t n = 0; n < 100u; n++) {
        (void)RCC->CFGR; /* a microsecond at least */
    }
    RCC->CFGR &= ~RCC_CFGR_HPRE_DIV2;
    PWR_CR3 |= PWR_CR3_NO_DEAD_BATTERY; /* else PB6 is pulled down, for USB-C */
    DMAMUX1_CHANNEL(1) = REQUEST_TIM2_CH3;
    DMAMUX1_CHANNEL(4) = REQUEST_USART1_TX;
    DMAMUX1_CHANNEL(5) = REQUEST_USART1_RX;
    return good;
}

void adc_start(void)
{
    ADC_CCR = ADC_CCR_CKMODE_DIV4;
    ADC1->CR = 0; /* out of deep sleep */
    ADC1->CR = ADC_CR_ADVREGEN;
    delay_ms(1);
    ADC1->CR = ADC_CR_ADVREGEN | ADC_CR_ADCAL;
    (void)waited_for(&ADC1->CR, ADC_CR_ADCAL, 0);
    delay_us(1);
    ADC1->SMPR1 = ADC_SMPR1_247(1) | ADC_SMPR1_247(2);
    ADC1->CR = ADC_CR_ADVREGEN | ADC_CR_ADEN;
    (void)waited_for(&ADC1->ISR, ADC_ISR_ADRDY, ADC_ISR_ADRDY);
}

/* PA0 and PA1 are its inputs 1 and 2. */
uint32_t adc_read(uint32_t channel)
{
    ADC1->SQR1 = ADC_SQR1_FIRST(channel + 1u);
    ADC1->CR = ADC_CR_ADVREGEN | ADC_CR_ADSTART;
    return waited_for(&ADC1->ISR, ADC_ISR_EOC, ADC_ISR_EOC) ? ADC1->DR & 0xFFFu : 0;
}
