/* What absolute steer encoders have alike: whole turns are counted, and a jump is a fault. */
#include "board.h"

#define HALF (STEER_COUNTS_PER_TURN / 2u)

uint8_t steer_count(uint32_t angle, int32_t *counts)
{
    static bool begun;
    static uint32_t last;
    static int32_t total; /* zero where the sensor has it */
    const int32_t step = (int32_t)((angle - last + HALF) & (STEER_COUNTS_PER_TURN - 1u)) - (int32_t)HALF;
    const bool good = !begun || (step <= STEER_MAX_STEP && step >= -STEER_MAX_STEP);

    last = angle;
    total += step;
    *counts = total;
    begun = true;
    return good ? 0 : NODE_FAULT_ENCODER;
}
