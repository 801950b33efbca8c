/* BOARD-SPECIFIC: the steer encoder, two lines in quadrature on PB6 and PB7; encoder mode of TIM4. */
#include "board.h"

#define PULL_us 20u /* until 40 kOhm have charged some metres of cable */

void steer_start(void)
{
    TIM4->ARR = 0xFFFFu;
    TIM4->CCMR1 = TIM_CCMR1_CC1S_TI1 | TIM_CCMR1_IC1F(3) | TIM_CCMR1_CC2S_TI2 | TIM_CCMR1_IC2F(3);
    TIM4->SMCR = TIM_SMCR_ENCODER_BOTH;
    TIM4->CR1 = TIM_CR1_CEN;
}

/* An encoder at rest drives both lines, high or low. Lines that follow the weak pull of their pins, down and up, have
 * nobody to drive them. */
static bool encoder_unplugged(void)
{
    const uint32_t lines = BIT(PIN_ENCODER_A) | BIT(PIN_ENCODER_B);
    bool follow;

    encoder_pull(false);
    delay_us(PULL_us);
    follow = (GPIOB->IDR & lines) == 0;
    encoder_pull(true);
    delay_us(PULL_us);
    return follow && (GPIOB->IDR & lines) == lines;
}

uint8_t steer_read(int32_t *counts)
{
    static uint32_t last;
    static int32_t total; /* zero where power-up found it */
    const uint32_t now = TIM4->CNT;
    const int32_t step = signed_16(now - last);

    last = now;
    total += step;
    *counts = total;
    if (step == 0 && encoder_unplugged()) {
        *counts = INT32_MIN;
        return NODE_FAULT_ENCODER;
    }
    return step > STEER_MAX_STEP || step < -STEER_MAX_STEP ? NODE_FAULT_ENCODER : 0;
}
