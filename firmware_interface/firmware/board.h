/* What the files of one board need of each other. */
#ifndef BOARD_H
#define BOARD_H

#include <stdbool.h>
#include <stdint.h>

#include "node.h"
#include "stm32f103.h"

/* board_stm32f103.c */
void tick(void);                           /* interrupt: a sampling instant */
__attribute__((noreturn)) void halt(void); /* drive off, for good */
bool waited_for(const reg *where, uint32_t bits, uint32_t wanted); /* false if it takes more than some ms */
void delay_ms(uint32_t duration_ms);
int32_t signed_16(uint32_t bits); /* the low 16, as two's complement */

/* imu_mpu6500.c, to be replaced for another sensor; axes, signs and scale are the sensor's own */
#define IMU_PIN_SELECT 4u /* PA4 */
#define IMU_GYRO_LSB (250.0 / 32768.0 * 3.14159265358979 / 180.0) /* rad/s per count */
#define IMU_ACCEL_LSB (4.0 * 9.80665 / 32768.0)                   /* m/s^2 per count */
void imu_start(void);
uint8_t imu_read(struct node_readings *readings); /* sets gyro and accelerometer; returns NODE_FAULT_IMU or 0 */

#endif
