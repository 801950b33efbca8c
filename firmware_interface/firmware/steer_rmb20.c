/* BOARD-SPECIFIC: the steer encoder, an absolute RMB20 of 13 bits on SPI1 beside the inertial sensor. It speaks SSI: no
 * select, the first falling clock after a pause holds the angle. PB0 lets its line receiver speak. Modes and bits are
 * those with which the steer-by-wire bicycle of Delft reads it; never run against one here.
 *
 * It has no checksum: of 16 bits the first is the line at rest, high, and the one behind the angle low; and the angle is
 * read twice.
 */
#include "board.h"

#define PAUSE_us 25u /* until it begins anew */
#define FRAME_MASK 0x8002u
#define FRAME 0x8000u
#define DIFFERENCE 4u /* counts that it may turn between the two */

static bool read_angle(uint32_t *angle)
{
    uint8_t bytes[2] = {0, 0};
    bool good;

    delay_us(PAUSE_us);
    good = spi_exchange(GPIOB, PIN_ENCODER_SELECT, SPI_CR1_CPOL | SPI_CR1_CPHA | SPI_CR1_SLOW, bytes, 2);
    *angle = ((uint32_t)bytes[0] << 8 | bytes[1]) >> 2 & (STEER_COUNTS_PER_TURN - 1u);
    return good && (((uint32_t)bytes[0] << 8 | bytes[1]) & FRAME_MASK) == FRAME;
}

void steer_start(void)
{
}

uint8_t steer_read(int32_t *counts)
{
    uint32_t before, angle;
    bool good = read_angle(&before);

    good = read_angle(&angle) && good;
    if (!good || ((angle - before + DIFFERENCE) & (STEER_COUNTS_PER_TURN - 1u)) > 2u * DIFFERENCE) {
        *counts = INT32_MIN;
        return NODE_FAULT_ENCODER;
    }
    return steer_count(angle, counts);
}
