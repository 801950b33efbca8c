/* STM32F103C8 ("Blue Pill"): clocks, pins, converter and DMA, after RM0008. */
#include "board.h"

/* 72 MHz from a crystal of 8 MHz; 36 MHz on APB1, whose timers run at twice that. */
bool clock_start(void)
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
    return good;
}

void pins_start(void)
{
    static const struct {
        struct gpio *port;
        uint8_t pin, mode;
    } pins[] = {
        {GPIOA, 0, PIN_ANALOG},          /* supply */
        {GPIOA, 1, PIN_ANALOG},          /* torque monitor */
        {GPIOA, 4, PIN_OUTPUT},          /* IMU: select */
        {GPIOA, 5, PIN_OUTPUT_OF_UNIT},  /* clock */
        {GPIOA, 6, PIN_INPUT_PULLED},    /* data in, up */
        {GPIOA, 7, PIN_OUTPUT_OF_UNIT},  /* data out */
        {GPIOA, 8, PIN_OUTPUT_OF_UNIT},  /* drive: PWM */
        {GPIOA, 9, PIN_OUTPUT_OF_UNIT},  /* line to the computer */
        {GPIOA, 10, PIN_INPUT_PULLED},   /* from it, up */
        {GPIOA, 11, PIN_OUTPUT_OF_UNIT}, /* drive: enable */
        {GPIOB, PIN_ENCODER_SELECT, PIN_OUTPUT},
        {GPIOB, PIN_HEARTBEAT, PIN_OUTPUT},
        {GPIOB, PIN_ENCODER_A, PIN_INPUT_PULLED}, /* up */
        {GPIOB, PIN_ENCODER_B, PIN_INPUT_PULLED},
        {GPIOB, 10, PIN_INPUT_PULLED},   /* wheel, up */
        {GPIOB, PIN_STOP, PIN_INPUT_PULLED},        /* up: a broken wire is a pressed button */
        {GPIOB, PIN_DRIVE_READY, PIN_INPUT_PULLED}, /* down: a broken wire is a drive that is not ready */
        {GPIOB, PIN_DIRECTION, PIN_OUTPUT},
        {GPIOC, PIN_LED, PIN_OUTPUT},
    };

    AFIO_MAPR = AFIO_MAPR_TIM2_PB10;
    GPIOA->ODR = BIT(IMU_PIN_SELECT) | BIT(6) | BIT(10);
    GPIOB->ODR = BIT(PIN_ENCODER_SELECT) | BIT(PIN_ENCODER_A) | BIT(PIN_ENCODER_B) | BIT(10) | BIT(PIN_STOP);
    GPIOC->ODR = BIT(PIN_LED);
    for (uint32_t i = 0; i < sizeof pins / sizeof pins[0]; i++) {
        reg *const half = pins[i].pin < 8 ? &pins[i].port->CRL : &pins[i].port->CRH;
        const uint32_t shift = 4u * (pins[i].pin % 8u);

        *half = (*half & ~(0xFu << shift)) | (uint32_t)pins[i].mode << shift;
    }
}

void encoder_pull(bool up)
{
    const uint32_t lines = BIT(PIN_ENCODER_A) | BIT(PIN_ENCODER_B);

    GPIOB->BSRR = up ? lines : lines << 16;
}

void adc_start(void)
{
    ADC1->SMPR2 = ADC_SMPR2_41_5(0) | ADC_SMPR2_41_5(1);
    ADC1->CR2 = ADC_CR2_ADON;
    delay_ms(1);
    ADC1->CR2 |= ADC_CR2_CAL;
    (void)waited_for(&ADC1->CR2, ADC_CR2_CAL, 0);
    ADC1->CR2 |= ADC_CR2_EXTSEL_SWSTART | ADC_CR2_EXTTRIG;
}

uint32_t adc_read(uint32_t channel)
{
    ADC1->SQR3 = channel;
    ADC1->CR2 |= ADC_CR2_SWSTART;
    return waited_for(&ADC1->SR, ADC_SR_EOC, ADC_SR_EOC) ? ADC1->DR & 0xFFFu : 0;
}
