/* The registers of the STM32F103 that the board file uses, after the reference manual RM0008. */
#ifndef STM32F103_H
#define STM32F103_H

#include <stdint.h>

typedef volatile uint32_t reg;

struct rcc {
    reg CR, CFGR, CIR, APB2RSTR, APB1RSTR, AHBENR, APB2ENR, APB1ENR, BDCR, CSR;
};
struct gpio {
    reg CRL, CRH, IDR, ODR, BSRR, BRR, LCKR;
};
struct timer {
    reg CR1, CR2, SMCR, DIER, SR, EGR, CCMR1, CCMR2, CCER, CNT, PSC, ARR, RCR, CCR1, CCR2, CCR3, CCR4, BDTR;
};
struct usart {
    reg SR, DR, BRR, CR1, CR2, CR3, GTPR;
};
struct spi {
    reg CR1, CR2, SR, DR;
};
struct adc {
    reg SR, CR1, CR2, SMPR1, SMPR2, JOFR[4], HTR, LTR, SQR1, SQR2, SQR3, JSQR, JDR[4], DR;
};
struct dma_channel {
    reg CCR, CNDTR, CPAR, CMAR, reserved;
};
struct iwdg {
    reg KR, PR, RLR, SR;
};

#define RCC ((struct rcc *)0x40021000u)
#define GPIOA ((struct gpio *)0x40010800u)
#define GPIOB ((struct gpio *)0x40010C00u)
#define GPIOC ((struct gpio *)0x40011000u)
#define TIM1 ((struct timer *)0x40012C00u)
#define TIM2 ((struct timer *)0x40000000u)
#define TIM4 ((struct timer *)0x40000800u)
#define USART1 ((struct usart *)0x40013800u)
#define SPI1 ((struct spi *)0x40013000u)
#define ADC1 ((struct adc *)0x40012400u)
#define DMA1_CHANNEL(k) (&((struct dma_channel *)0x40020008u)[(k)-1])
#define IWDG ((struct iwdg *)0x40003000u)
#define UNIQUE_ID ((const volatile uint8_t *)0x1FFFF7E8u) /* 12 bytes */
#define FLASH_ACR (*(reg *)0x40022000u)
#define AFIO_MAPR (*(reg *)0x40010004u)
#define NVIC_ISER0 (*(reg *)0xE000E100u)

#define BIT(n) (1u << (n))

/* modes of a pin, for CRL and CRH */
#define PIN_ANALOG 0x0u
#define PIN_INPUT_PULLED 0x8u   /* up or down as ODR says */
#define PIN_OUTPUT 0x2u         /* push-pull, 2 MHz */
#define PIN_OUTPUT_OF_UNIT 0xBu /* push-pull, 50 MHz, driven by USART, SPI or timer */

#define RCC_CR_HSEON BIT(16)
#define RCC_CR_HSERDY BIT(17)
#define RCC_CR_CSSON BIT(19)
#define RCC_CR_PLLON BIT(24)
#define RCC_CR_PLLRDY BIT(25)
#define RCC_CFGR_SW_PLL 0x2u
#define RCC_CFGR_SWS (0x3u << 2)
#define RCC_CFGR_SWS_PLL (0x2u << 2)
#define RCC_CFGR_PPRE1_DIV2 (0x4u << 8)
#define RCC_CFGR_ADCPRE_DIV6 (0x2u << 14)
#define RCC_CFGR_PLLSRC_HSE BIT(16)
#define RCC_CFGR_PLLMUL_9 (0x7u << 18)
#define RCC_AHBENR_DMA1 BIT(0)
#define RCC_APB2ENR_AFIO BIT(0)
#define RCC_APB2ENR_GPIOA BIT(2)
#define RCC_APB2ENR_GPIOB BIT(3)
#define RCC_APB2ENR_GPIOC BIT(4)
#define RCC_APB2ENR_ADC1 BIT(9)
#define RCC_APB2ENR_TIM1 BIT(11)
#define RCC_APB2ENR_SPI1 BIT(12)
#define RCC_APB2ENR_USART1 BIT(14)
#define RCC_APB1ENR_TIM2 BIT(0)
#define RCC_APB1ENR_TIM4 BIT(2)
#define RCC_CSR_RMVF BIT(24) /* forget the causes of the reset */
#define RCC_CSR_PINRSTF BIT(26)
#define RCC_CSR_PORRSTF BIT(27) /* supply below 1.9 V */
#define RCC_CSR_SFTRSTF BIT(28)
#define RCC_CSR_IWDGRSTF BIT(29)
#define FLASH_ACR_LATENCY_2 0x2u
#define FLASH_ACR_PRFTBE BIT(4)
#define AFIO_MAPR_TIM2_PB10 (0x2u << 8) /* channels 3 and 4 on PB10 and PB11 */

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
#define USART_CR1_UE BIT(13)
#define USART_CR3_DMAR BIT(6)
#define USART_CR3_DMAT BIT(7)

#define SPI_CR1_CPHA BIT(0)
#define SPI_CR1_CPOL BIT(1)
#define SPI_CR1_MSTR BIT(2)
#define SPI_CR1_DIV16 (0x3u << 3)
#define SPI_CR1_DIV128 (0x6u << 3)
#define SPI_CR1_SPE BIT(6)
#define SPI_CR1_SSI BIT(8)
#define SPI_CR1_SSM BIT(9)
#define SPI_SR_RXNE BIT(0)

#define ADC_SR_EOC BIT(1)
#define ADC_SMPR2_41_5(channel) (0x4u << (3 * (channel)))
#define ADC_CR2_ADON BIT(0)
#define ADC_CR2_CAL BIT(2)
#define ADC_CR2_EXTSEL_SWSTART (0x7u << 17)
#define ADC_CR2_EXTTRIG BIT(20)
#define ADC_CR2_SWSTART BIT(22)

#define DMA_CCR_EN BIT(0)
#define DMA_CCR_FROM_MEMORY BIT(4)
#define DMA_CCR_CIRC BIT(5)
#define DMA_CCR_MINC BIT(7)
#define DMA_CCR_PSIZE_16 (0x1u << 8)
#define DMA_CCR_MSIZE_16 (0x1u << 10)

#define IWDG_START 0xCCCCu
#define IWDG_UNLOCK 0x5555u
#define IWDG_FEED 0xAAAAu

#endif
