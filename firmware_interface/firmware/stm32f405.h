/* What the STM32F405 has of its own, as far as the board files use it, after the reference manual RM0090. */
#ifndef STM32F405_H
#define STM32F405_H

#include "pins_modes.h"
#include "stm32f.h"

struct rcc {
    reg CR, PLLCFGR, CFGR, CIR, AHB1RSTR, AHB2RSTR, AHB3RSTR, reserved_1, APB1RSTR, APB2RSTR, reserved_2[2], AHB1ENR,
        AHB2ENR, AHB3ENR, reserved_3, APB1ENR, APB2ENR, reserved_4[2], AHB1LPENR, AHB2LPENR, AHB3LPENR, reserved_5,
        APB1LPENR, APB2LPENR, reserved_6[2], BDCR, CSR;
};
struct dma_stream {
    reg CR, NDTR, PAR, M0AR, M1AR, FCR;
};
struct dma {
    reg LISR, HISR, LIFCR, HIFCR;
    struct dma_stream stream[8];
};

#define CHIP_NAME "riderless f405"
#define CRYSTAL_MHz 8u
#define TIM1_HZ 84000000u /* of its counter: at 168 MHz the slow PWM of an ESCON would not fit into 16 bits */
#define TIM1_PRESCALER 2u
#define TIM2_HZ 84000000u /* before its prescaler */
#define USART1_HZ 84000000u
#define IWDG_TICK_us 125u /* of 32 kHz by 4; it may be 85 to 235 */

#define RCC ((struct rcc *)0x40023800u)
#define GPIOA ((struct gpio *)0x40020000u)
#define GPIOB ((struct gpio *)0x40020400u)
#define GPIOC ((struct gpio *)0x40020800u)
#define TIM1 ((struct timer *)0x40010000u)
#define ADC1 ((struct adc *)0x40012000u)
#define USART1 ((struct usart *)0x40011000u)
#define DMA1 ((struct dma *)0x40026000u)
#define DMA2 ((struct dma *)0x40026400u)
#define UNIQUE_ID ((const volatile uint8_t *)0x1FFF7A10u) /* 12 bytes */
#define FLASH_ACR (*(reg *)0x40023C00u)
#define ADC_CCR (*(reg *)0x40012304u)

#define RCC_PLLCFGR_168_MHz (CRYSTAL_MHz | 336u << 6 | 7u << 24 | BIT(22)) /* crystal / M x 336 / 2, and 48 MHz */
#define RCC_CFGR_SW_PLL 0x2u
#define RCC_CFGR_SWS (0x3u << 2)
#define RCC_CFGR_SWS_PLL (0x2u << 2)
#define RCC_CFGR_PPRE1_DIV4 (0x5u << 10)
#define RCC_CFGR_PPRE2_DIV2 (0x4u << 13)
#define RCC_AHB1ENR_GPIO_A_TO_C 0x7u
#define RCC_AHB1ENR_DMA1 BIT(21)
#define RCC_AHB1ENR_DMA2 BIT(22)
#define RCC_APB1ENR_TIM2 BIT(0)
#define RCC_APB1ENR_TIM4 BIT(2)
#define RCC_APB2ENR_TIM1 BIT(0)
#define RCC_APB2ENR_USART1 BIT(4)
#define RCC_APB2ENR_ADC1 BIT(8)
#define RCC_APB2ENR_SPI1 BIT(12)
#define FLASH_ACR_LATENCY_5 0x5u
#define FLASH_ACR_CACHES (BIT(8) | BIT(9) | BIT(10)) /* prefetch, instructions, data */

#define ADC_CCR_ADCPRE_DIV4 (0x1u << 16) /* 21 MHz */
#define ADC_SMPR2_84(channel) (0x4u << (3 * (channel)))
#define ADC_CR2_SWSTART BIT(30)

#define OF_TIM1 1u /* PWM, enable and break */
#define OF_TIM1_ENABLE OF_TIM1

#define DMA_CR_EN BIT(0)
#define DMA_CR_FROM_MEMORY (0x1u << 6)
#define DMA_CR_CIRC BIT(8)
#define DMA_CR_MINC BIT(10)
#define DMA_CR_PSIZE_16 (0x1u << 11)
#define DMA_CR_MSIZE_16 (0x1u << 13)
#define DMA_CR_CHANNEL(n) ((uint32_t)(n) << 25)
#define DMA_HIFCR_STREAM_7 0x0F400000u /* forget all that has happened to it */

#endif
