/* BOARD-SPECIFIC: the steer encoder, an absolute AS5047P on SPI1 beside the inertial sensor, PB0 select. After its data
 * sheet; never run against one.
 *
 * A frame has 16 bits, of which the highest makes their number even, and answers the frame before it.
 */
#include "board.h"

#define READ_ANGLE 0xFFFFu       /* ANGLECOM, 0x3FFF */
#define READ_DIAGNOSTICS 0xFFFCu /* DIAAGC, 0x3FFC */
#define READ_ERRORS 0x4001u      /* ERRFL, 0x0001: what is read is forgotten */
#define FAILED BIT(14)           /* the sensor has not understood a frame */
#define READY BIT(8)
#define OVERFLOW_OR_MAGNET (BIT(9) | BIT(10) | BIT(11)) /* it cannot compute; the magnet is too near, too far */

/* Say a frame, and take the answer to the one before; false if that is damaged. */
static bool ask(uint32_t question, uint32_t *answer)
{
    uint8_t bytes[2] = {(uint8_t)(question >> 8), (uint8_t)(question & 0xFFu)};
    const bool answered = spi_exchange(GPIOB, PIN_ENCODER_SELECT, SPI_CR1_CPHA | SPI_CR1_SLOW, bytes, 2);
    uint32_t parity = 0;

    delay_us(1); /* it wants 350 ns between two frames */
    *answer = (uint32_t)bytes[0] << 8 | bytes[1];
    for (uint32_t bits = *answer; bits != 0; bits >>= 1) {
        parity ^= bits & 1u;
    }
    return answered && parity == 0 && (*answer & FAILED) == 0;
}

void steer_start(void)
{
    uint32_t before;

    (void)ask(READ_ERRORS, &before);
}

uint8_t steer_read(int32_t *counts)
{
    uint32_t angle, diagnostics, before;
    bool good;

    (void)ask(READ_ANGLE, &before);
    good = ask(READ_DIAGNOSTICS, &angle);
    good = ask(READ_ERRORS, &diagnostics) && good;
    if (!good || (diagnostics & (READY | OVERFLOW_OR_MAGNET)) != READY) {
        *counts = INT32_MIN;
        return NODE_FAULT_ENCODER;
    }
    return steer_count(angle, counts);
}
