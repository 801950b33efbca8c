/* Pins of the STM32F405 and G431, which differ in the functions of a few. */
#include "board.h"

static void set_field(reg *where, uint32_t shift, uint32_t bits, uint32_t value)
{
    *where = (*where & ~(((1u << bits) - 1u) << shift)) | value << shift;
}

void pins_start(void)
{
    static const struct {
        struct gpio *port;
        uint8_t pin, mode, pull, function;
    } pins[] = {
        {GPIOA, 0, PIN_ANALOG, PULL_NONE, 0},                /* supply */
        {GPIOA, 1, PIN_ANALOG, PULL_NONE, 0},                /* torque monitor */
        {GPIOA, 4, PIN_OUTPUT, PULL_NONE, 0},                /* IMU: select */
        {GPIOA, 5, PIN_OF_UNIT, PULL_NONE, OF_SPI1},         /* clock */
        {GPIOA, 6, PIN_OF_UNIT, PULL_UP, OF_SPI1},           /* data in */
        {GPIOA, 7, PIN_OF_UNIT, PULL_NONE, OF_SPI1},         /* data out */
        {GPIOA, 8, PIN_OF_UNIT, PULL_NONE, OF_TIM1},         /* drive: PWM */
        {GPIOA, 9, PIN_OF_UNIT, PULL_NONE, OF_USART1},       /* line to the computer */
        {GPIOA, 10, PIN_OF_UNIT, PULL_UP, OF_USART1},        /* from it */
        {GPIOA, 11, PIN_OF_UNIT, PULL_NONE, OF_TIM1_ENABLE}, /* drive: enable */
        {GPIOB, PIN_ENCODER_SELECT, PIN_OUTPUT, PULL_NONE, 0},
        {GPIOB, PIN_HEARTBEAT, PIN_OUTPUT, PULL_NONE, 0},
        {GPIOB, PIN_ENCODER_A, PIN_OF_UNIT, PULL_UP, OF_TIM4},
        {GPIOB, PIN_ENCODER_B, PIN_OF_UNIT, PULL_UP, OF_TIM4},
        {GPIOB, 10, PIN_OF_UNIT, PULL_UP, OF_TIM2},          /* wheel */
        {GPIOB, PIN_STOP, PIN_OF_UNIT, PULL_UP, OF_TIM1},    /* a broken wire is a pressed button */
        {GPIOB, PIN_DRIVE_READY, PIN_INPUT, PULL_DOWN, 0},   /* a broken wire is a drive that is not ready */
        {GPIOB, PIN_DIRECTION, PIN_OUTPUT, PULL_NONE, 0},
        {GPIOC, PIN_LED, PIN_OUTPUT, PULL_NONE, 0},
    };

    GPIOA->ODR = BIT(IMU_PIN_SELECT);
    GPIOB->ODR = BIT(PIN_ENCODER_SELECT);
    GPIOC->ODR = BIT(PIN_LED);
    for (uint32_t i = 0; i < sizeof pins / sizeof pins[0]; i++) {
        struct gpio *const port = pins[i].port;
        const uint32_t pin = pins[i].pin;

        set_field(&port->PUPDR, 2u * pin, 2, pins[i].pull);
        set_field(&port->AFR[pin / 8u], 4u * (pin % 8u), 4, pins[i].function);
        set_field(&port->OSPEEDR, 2u * pin, 2, pins[i].mode == PIN_OF_UNIT ? SPEED_FAST : 0);
        set_field(&port->MODER, 2u * pin, 2, pins[i].mode);
    }
}

void encoder_pull(bool up)
{
    const uint32_t pull = up ? PULL_UP : PULL_DOWN;

    set_field(&GPIOB->PUPDR, 2u * PIN_ENCODER_A, 2, pull);
    set_field(&GPIOB->PUPDR, 2u * PIN_ENCODER_B, 2, pull);
}
