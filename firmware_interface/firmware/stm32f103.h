/* What the STM32F103 has of its own, as far as the board files use it, after the reference manual RM0008. */
#ifndef STM32F103_H
#define STM32F103_H

#include "dma_channels.h"
#include "stm32f.h"

struct rcc {
    reg CR, CFGR, CIR, APB2RSTR, APB1RSTR, AHBENR, APB2ENR, APB1ENR, BDCR, CSR;
};
struct gpio {
    reg CRL, CRH, IDR, ODR, BSRR, BRR, LCKR;
};

#define CHIP_NAME "riderless f103"
#define TIM1_HZ 72000000u /* of its counter */
#define TIM1_PRESCALER 1u
#define TIM2_HZ 72000000u /* before its prescaler */
#define USART1_HZ 72000000u
#define IWDG_TICK_us 100u /* of 40 kHz by 4; it may be 67 to 133 */

#define RCC ((struct rcc *)0x40021000u)
#define GPIOA ((struct gpio *)0x40010800u)
#define GPIOB ((struct gpio *)0x40010C00u)
#define GPIOC ((struct gpio *)0x40011000u)
#define TIM1 ((struct timer *)0x40012C00u)
#define ADC1 ((struct adc *)0x40012400u)
#define USART1 ((struct usart *)0x40013800u)
#define UNIQUE_ID ((const volatile uint8_t *)0x1FFFF7E8u) /* 12 bytes */
#define FLASH_ACR (*(reg *)0x40022000u)
#define AFIO_MAPR (*(reg *)0x40010004u)

/* modes of a pin, for CRL and CRH */
#define PIN_ANALOG 0x0u
#define PIN_INPUT_PULLED 0x8u   /* up or down as ODR says */
#define PIN_OUTPUT 0x2u         /* push-pull, 2 MHz */
#define PIN_OUTPUT_OF_UNIT 0xBu /* push-pull, 50 MHz, driven by USART, SPI or timer */

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
#define FLASH_ACR_LATENCY_2 0x2u
#define FLASH_ACR_PRFTBE BIT(4)
#define AFIO_MAPR_TIM2_PB10 (0x2u << 8) /* channels 3 and 4 on PB10 and PB11 */

#define ADC_SMPR2_41_5(channel) (0x4u << (3 * (channel)))
#define ADC_CR2_CAL BIT(2)
#define ADC_CR2_EXTSEL_SWSTART (0x7u << 17)
#define ADC_CR2_EXTTRIG BIT(20)
#define ADC_CR2_SWSTART BIT(22)

#endif
