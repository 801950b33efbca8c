/* Pins that have a mode, a pull and a function each: those of the STM32F405 and G431. */
#ifndef PINS_MODES_H
#define PINS_MODES_H

#include "stm32.h"

struct gpio {
    reg MODER, OTYPER, OSPEEDR, PUPDR, IDR, ODR, BSRR, LCKR, AFR[2];
};

/* modes, pulls and functions of a pin */
#define PIN_INPUT 0x0u
#define PIN_OUTPUT 0x1u
#define PIN_OF_UNIT 0x2u
#define PIN_ANALOG 0x3u
#define PULL_NONE 0x0u
#define PULL_UP 0x1u
#define PULL_DOWN 0x2u
#define OF_TIM2 1u
#define OF_TIM4 2u
#define OF_SPI1 5u
#define OF_USART1 7u
#define SPEED_FAST 0x2u

#endif
