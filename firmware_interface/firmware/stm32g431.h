/* What the STM32G431 has of its own, as far as the board files use it, after the reference manual RM0440. */
#ifndef STM32G431_H
#define STM32G431_H

#include "dma_channels.h"
#include "pins_modes.h"

struct rcc {
    reg CR, ICSCR, CFGR, PLLCFGR, reserved_1[2], CIER, CIFR, CICR, reserved_2, AHB1RSTR, AHB2RSTR, AHB3RSTR, reserved_3,
        APB1RSTR1, APB1RSTR2, APB2RSTR, reserved_4, AHB1ENR, AHB2ENR, AHB3ENR, reserved_5, APB1ENR1, APB1ENR2, APB2ENR,
        reserved_6, AHB1SMENR, AHB2SMENR, AHB3SMENR, reserved_7, APB1SMENR1, APB1SMENR2, APB2SMENR, reserved_8, CCIPR,
        reserved_9, BDCR, CSR;
};
struct usart {
    reg CR1, CR2, CR3, BRR, GTPR, RTOR, RQR, ISR, ICR, RDR, TDR, PRESC;
};
struct adc {
    reg ISR, IER, CR, CFGR, CFGR2, SMPR1, SMPR2, reserved_1, TR1, TR2, TR3, reserved_2, SQR1, SQR2, SQR3, SQR4, DR;
};

#define CHIP_NAME "riderless g431"
#define CRYSTAL_MHz 24u   /* of a NUCLEO-G431RB; a multiple of 4 */
#define TIM1_HZ 72000000u /* of its counter: at 144 MHz the slow PWM of an ESCON would not fit into 16 bits */
#define TIM1_PRESCALER 2u
#define TIM2_HZ 144000000u /* before its prescaler */
#define USART1_HZ 144000000u
#define IWDG_TICK_us 125u /* of 32 kHz by 4; it may be 117 to 136 */

#define RCC ((struct rcc *)0x40021000u)
#define GPIOA ((struct gpio *)0x48000000u)
#define GPIOB ((struct gpio *)0x48000400u)
#define GPIOC ((struct gpio *)0x48000800u)
#define TIM1 ((struct timer *)0x40012C00u)
#define ADC1 ((struct adc *)0x50000000u)
#define USART1 ((struct usart *)0x40013800u)
#define UNIQUE_ID ((const volatile uint8_t *)0x1FFF7590u) /* 12 bytes */
#define FLASH_ACR (*(reg *)0x40022000u)
#define PWR_CR3 (*(reg *)0x40007008u)
#define ADC_CCR (*(reg *)0x50000308u)
#define DMAMUX1_CHANNEL(k) (((reg *)0x40020800u)[(k)-1]) /* the request that channel k of DMA1 answers */

#define USART1_IN (&USART1->RDR)
#define USART1_OUT (&USART1->TDR)
#define SPI1_BYTE (*(volatile uint8_t *)&SPI1->DR) /* a wider access would be two bytes */
#define SPI_CR2_BYTES (BIT(12) | 0x7u << 8)        /* 8 bits, and each is told */
#define SPI_CR1_SLOW (0x7u << 3)                   /* 1/256 and 1/32 of APB2 */
#define SPI_CR1_FAST (0x4u << 3)

#define RCC_CSR_RMVF BIT(23) /* forget the causes of the reset */
#define RCC_PLLCFGR_144_MHz (0x3u | (CRYSTAL_MHz / 4u - 1u) << 4 | 72u << 8 | BIT(24)) /* crystal / M x 72 / 2 */
#define RCC_CFGR_SW_PLL 0x3u
#define RCC_CFGR_SWS (0x3u << 2)
#define RCC_CFGR_SWS_PLL (0x3u << 2)
#define RCC_CFGR_HPRE_DIV2 (0x8u << 4)
#define RCC_AHB1ENR_DMA1 BIT(0)
#define RCC_AHB1ENR_DMAMUX1 BIT(2)
#define RCC_AHB2ENR_GPIO_A_TO_C 0x7u
#define RCC_AHB2ENR_ADC12 BIT(13)
#define RCC_APB1ENR1_TIM2 BIT(0)
#define RCC_APB1ENR1_TIM4 BIT(2)
#define RCC_APB1ENR1_PWR BIT(28)
#define RCC_APB2ENR_TIM1 BIT(11)
#define RCC_APB2ENR_SPI1 BIT(12)
#define RCC_APB2ENR_USART1 BIT(14)
#define FLASH_ACR_LATENCY_4 0x4u
#define FLASH_ACR_CACHES (BIT(8) | BIT(9) | BIT(10)) /* prefetch, instructions, data */
#define PWR_CR3_NO_DEAD_BATTERY BIT(14)

#define USART_CR1_UE BIT(0)

#define ADC_ISR_ADRDY BIT(0)
#define ADC_ISR_EOC BIT(2)
#define ADC_CR_ADEN BIT(0)
#define ADC_CR_ADSTART BIT(2)
#define ADC_CR_ADVREGEN BIT(28)
#define ADC_CR_ADCAL BIT(31)
#define ADC_CCR_CKMODE_DIV4 (0x3u << 16) /* 36 MHz */
#define ADC_SMPR1_247(channel) (0x6u << (3 * (channel)))
#define ADC_SQR1_FIRST(channel) ((channel) << 6)

#define REQUEST_USART1_RX 24u
#define REQUEST_USART1_TX 25u
#define REQUEST_TIM2_CH3 58u

#define OF_TIM1 6u /* PWM and break */
#define OF_TIM1_ENABLE 11u

#endif
