/* Units that the STM32F103, F405 and G431 have alike, after the reference manuals RM0008, RM0090 and RM0440. */
#ifndef STM32_H
#define STM32_H

#include <stdint.h>

typedef volatile uint32_t reg;

struct timer {
    reg CR1, CR2, SMCR, DIER, SR, EGR, CCMR1, CCMR2, CCER, CNT, PSC, ARR, RCR, CCR1, CCR2, CCR3, CCR4, BDTR;
};
struct spi {
    reg CR1, CR2, SR, DR;
};
struct iwdg {
    reg KR, PR, RLR, SR;
};

#define TIM2 ((struct timer *)0x40000000u)
#define TIM4 ((struct timer *)0x40000800u)
#define SPI1 ((struct spi *)0x40013000u)
#define IWDG ((struct iwdg *)0x40003000u)
#define NVIC_ISER0 (*(reg *)0xE000E100u)

#define BIT(n) (1u << (n))

#define RCC_CR_HSEON BIT(16)
#define RCC_CR_HSERDY BIT(17)
#define RCC_CR_CSSON BIT(19)
#define RCC_CR_PLLON BIT(24)
#define RCC_CR_PLLRDY BIT(25)
#define RCC_CSR_PINRSTF BIT(26)
#define RCC_CSR_PORRSTF BIT(27) /* supply too low */
#define RCC_CSR_SFTRSTF BIT(28)
#define RCC_CSR_IWDGRSTF BIT(29)

#define TIM_CR1_CEN BIT(0)
#define TIM_SMCR_ENCODER_BOTH 0x3u /* counts on both edges of both inputs */
#define TIM_DIER_CC1IE BIT(1)
#define TIM_DIER_CC3DE BIT(11)
#define TIM_SR_CC1IF BIT(1)
#define TIM_SR_BIF BIT(7)
#define TIM_EGR_UG BIT(0)
#define TIM_CCMR1_CC1S_TI1 0x1u
#define TIM_CCMR1_IC1F(n) ((uint32_t)(n) << 4)
#define TIM_CCMR1_OC1PE (0x1u << 3)
#define TIM_CCMR1_OC1M_PWM (0x6u << 4)
#define TIM_CCMR1_CC2S_TI2 (0x1u << 8)
#define TIM_CCMR1_IC2F(n) ((uint32_t)(n) << 12)
#define TIM_CCMR2_CC3S_TI3 0x1u
#define TIM_CCMR2_IC3F(n) ((uint32_t)(n) << 4)
#define TIM_CCMR2_OC4M_ACTIVE (0x5u << 12)
#define TIM_CCER_CC1E BIT(0)
#define TIM_CCER_CC3E BIT(8)
#define TIM_CCER_CC4E BIT(12)
#define TIM_BDTR_LOCK_1 (0x1u << 8) /* the break can no longer be switched off */
#define TIM_BDTR_OSSI BIT(10)       /* outputs are driven to their idle level while MOE is 0 */
#define TIM_BDTR_BKE BIT(12)
#define TIM_BDTR_BKP_HIGH BIT(13)
#define TIM_BDTR_MOE BIT(15)
#define TIM2_IRQ 28u

#define USART_CR1_RE BIT(2)
#define USART_CR1_TE BIT(3)
#define USART_CR3_DMAR BIT(6)
#define USART_CR3_DMAT BIT(7)

#define SPI_CR1_CPHA BIT(0)
#define SPI_CR1_CPOL BIT(1)
#define SPI_CR1_MSTR BIT(2)
#define SPI_CR1_SPE BIT(6)
#define SPI_CR1_SSI BIT(8)
#define SPI_CR1_SSM BIT(9)
#define SPI_SR_RXNE BIT(0)

#define IWDG_START 0xCCCCu
#define IWDG_UNLOCK 0x5555u
#define IWDG_FEED 0xAAAAu

#endif
