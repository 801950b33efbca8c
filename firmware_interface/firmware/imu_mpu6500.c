/* BOARD-SPECIFIC: the inertial sensor, an MPU-6500, MPU-9250 or ICM-20689 on SPI1: PA4 select, PA5 clock, PA6 data in,
 * PA7 out. Registers after the data sheets; never run against any. Another sensor on these pins is no sensor.
 */
#include "board.h"

#define SMPLRT_DIV 0x19u
#define CONFIG 0x1Au
#define GYRO_CONFIG 0x1Bu
#define ACCEL_CONFIG 0x1Cu
#define ACCEL_CONFIG_2 0x1Du
#define ACCEL_XOUT_H 0x3Bu
#define USER_CTRL 0x6Au
#define PWR_MGMT_1 0x6Bu
#define WHO_AM_I 0x75u
#define READ 0x80u
#define RANGE_4_G 0x08u

/* Exchange bytes in place, the register first. Settings bear 1 MHz, readings 8 MHz of the ICM-20689. */
static bool exchange(uint8_t *bytes, uint32_t n, uint32_t speed)
{
    return spi_exchange(GPIOA, IMU_PIN_SELECT, SPI_CR1_CPOL | SPI_CR1_CPHA | speed, bytes, n);
}

static bool known; /* as a sensor with these registers and scales */

void imu_start(void)
{
    static const uint8_t settings[][2] = {
        {PWR_MGMT_1, 0x01},  /* awake, on its best clock */
        {USER_CTRL, 0x10},   /* SPI only */
        {SMPLRT_DIV, 0x00},  /* 1 kHz */
        {CONFIG, 0x01},      /* gyro to some 180 Hz: little delay */
        {GYRO_CONFIG, 0x00}, /* +-250 deg/s */
        {ACCEL_CONFIG, RANGE_4_G},
        {ACCEL_CONFIG_2, 0x01}, /* accelerometer to some 200 Hz */
    };
    static const uint8_t names[] = {0x70, 0x71, 0x73, 0x98}; /* MPU-6500, MPU-9250, MPU-9255, ICM-20689 */
    uint8_t begin_anew[2] = {PWR_MGMT_1, 0x80};
    uint8_t name[2] = {READ | WHO_AM_I, 0};

    delay_ms(100);
    (void)exchange(begin_anew, 2, SPI_CR1_SLOW);
    delay_ms(100);
    for (uint32_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        uint8_t bytes[2] = {settings[i][0], settings[i][1]};

        (void)exchange(bytes, 2, SPI_CR1_SLOW); /* imu_read() looks whether it was understood */
        delay_ms(1);
    }
    (void)exchange(name, 2, SPI_CR1_SLOW);
    for (uint32_t i = 0; i < sizeof names; i++) {
        known = known || name[1] == names[i];
    }
}

uint8_t imu_read(struct node_readings *readings)
{
    uint8_t range[2] = {READ | ACCEL_CONFIG, 0};
    uint8_t values[15] = {READ | ACCEL_XOUT_H}; /* accelerometer, temperature, gyro; high byte first */
    /* a sensor that does not know its range is absent, or has restarted unnoticed: half the scale, and no filter */
    bool good = exchange(range, 2, SPI_CR1_SLOW) && known && range[1] == RANGE_4_G;

    good = exchange(values, sizeof values, SPI_CR1_FAST) && good;
    for (uint32_t axis = 0; axis < 3; axis++) {
        const uint8_t *const accel = &values[1 + 2 * axis], *const gyro = &values[9 + 2 * axis];
        const int32_t accel_counts = signed_16((uint32_t)accel[0] << 8 | accel[1]);
        const int32_t gyro_counts = signed_16((uint32_t)gyro[0] << 8 | gyro[1]);

        readings->accel_counts[axis] = (int16_t)(good ? accel_counts : INT16_MIN);
        readings->gyro_counts[axis] = (int16_t)(good ? gyro_counts : INT16_MIN);
    }
    return good ? 0 : NODE_FAULT_IMU;
}
