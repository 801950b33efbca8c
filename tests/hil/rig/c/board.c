/* One sampling instant on an emulated processor, which fills and reads these. */
#include "riderless_controller.h"

void instant(enum riderless_mode mode, enum riderless_mode mode_after);

riderless_controller controller;
riderless_sample sample;
riderless_real command, wish;

void instant(enum riderless_mode mode, enum riderless_mode mode_after)
{
    wish = riderless_wish(&controller, &sample, mode);
    riderless_sent(&controller, command, mode_after);
}
