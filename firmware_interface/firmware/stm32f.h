/* Units that the STM32F103 and F405 have alike, and the G431 of its own kind. */
#ifndef STM32F_H
#define STM32F_H

#include "stm32.h"

struct usart {
    reg SR, DR, BRR, CR1, CR2, CR3, GTPR;
};
struct adc {
    reg SR, CR1, CR2, SMPR1, SMPR2, JOFR[4], HTR, LTR, SQR1, SQR2, SQR3, JSQR, JDR[4], DR;
};

#define RCC_CSR_RMVF BIT(24) /* forget the causes of the reset */
#define USART_CR1_UE BIT(13)
#define USART1_IN (&USART1->DR)
#define USART1_OUT (&USART1->DR)
#define SPI1_BYTE (SPI1->DR)
#define SPI_CR2_BYTES 0u
#define SPI_CR1_SLOW (0x6u << 3) /* 1/128 and 1/16 of APB2 */
#define SPI_CR1_FAST (0x3u << 3)

#define ADC_SR_EOC BIT(1)
#define ADC_CR2_ADON BIT(0)

#endif
