/* What the files of a board need of each other. */
#ifndef BOARD_H
#define BOARD_H

#include <stdbool.h>
#include <stdint.h>

#include "node.h"
#if defined STM32F405
#include "stm32f405.h"
#elif defined STM32G431
#include "stm32g431.h"
#else
#include "stm32f103.h"
#endif

enum { PIN_ENCODER_SELECT = 0, PIN_HEARTBEAT = 1, PIN_ENCODER_A = 6, PIN_ENCODER_B = 7 }; /* of PB */
enum { PIN_STOP = 12, PIN_DRIVE_READY = 13, PIN_DIRECTION = 14, PIN_LED = 13 }; /* PB12, PB13, PB14, PC13 */

/* the file of the chip */
bool clock_start(void); /* clocks of processor and units; false without the crystal */
void pins_start(void);
void encoder_pull(bool up); /* the weak pulls of the encoder's two lines */
void adc_start(void);
uint32_t adc_read(uint32_t channel);
void line_dma_start(uint8_t *rx, uint32_t rx_size, const uint8_t *tx);
uint32_t line_left(void); /* bytes from where the next comes in to the end of rx */
void line_send(uint32_t n);
void captures_start(uint16_t *captures, uint32_t n);
uint32_t captures_left(void); /* likewise */

/* board_stm32.c */
uint32_t address(const volatile void *where);
void tick(void);                           /* interrupt: a sampling instant */
__attribute__((noreturn)) void halt(void); /* drive off, for good */
bool waited_for(const reg *where, uint32_t bits, uint32_t wanted); /* false if it takes more than some ms */
void delay_ms(uint32_t duration_ms);
void delay_us(uint32_t duration_us);
/* Exchange bytes in place over SPI1 with the unit that a pin selects; SPI_CR1_* of clock and speed. */
bool spi_exchange(struct gpio *port, uint32_t pin, uint32_t mode, uint8_t *bytes, uint32_t n);
int32_t signed_16(uint32_t bits); /* the low 16, as two's complement */

/* the file of the steer encoder, `make board ENCODER=...` */
#if defined ENCODER_AS5047P
#define STEER_COUNTS_PER_TURN 16384u
#define STEER_MAX_STEP 1638      /* counts in a period; more is an encoder that cannot be right */
#define STEER_BOUND_counts 3911u /* 1.5 rad */
#elif defined ENCODER_RMB20
#define STEER_COUNTS_PER_TURN 8192u
#define STEER_MAX_STEP 819
#define STEER_BOUND_counts 1956u
#else
#define STEER_COUNTS_PER_TURN 20000u /* four per line */
#define STEER_MAX_STEP 2000
#define STEER_BOUND_counts 4775u
#endif
void steer_start(void);
uint8_t steer_read(int32_t *counts); /* returns NODE_FAULT_ENCODER or 0; INT32_MIN is no reading */
uint8_t steer_count(uint32_t angle, int32_t *counts); /* of an absolute one: count turns from its angle on */

/* imu_mpu6500.c, to be replaced for another sensor; axes, signs and scale are the sensor's own */
#define IMU_PIN_SELECT 4u /* PA4 */
#define IMU_GYRO_LSB (250.0 / 32768.0 * 3.14159265358979 / 180.0) /* rad/s per count */
#define IMU_ACCEL_LSB (4.0 * 9.80665 / 32768.0)                   /* m/s^2 per count */
void imu_start(void);
uint8_t imu_read(struct node_readings *readings); /* sets gyro and accelerometer; returns NODE_FAULT_IMU or 0 */

#endif
