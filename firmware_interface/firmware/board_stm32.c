/* A board with an STM32, everything in one interrupt at the sampling rate. What differs from chip to chip stands in
 * board_stm32f103.c ("Blue Pill", 72 MHz), board_stm32f405.c (168 MHz) and board_stm32g431.c (144 MHz); the pins are the
 * same.
 * It has never run on hardware: see README.md, which also has the wiring.
 *
 * The drive is a servo amplifier in current or in speed mode: PWM (set value), direction, enable. One such as an
 * ESCON 50/5 takes no direction: 10 to 90 % of the PWM, of which 50 % is zero (DRIVE_BIPOLAR). PWM and enable are outputs
 * of TIM1 and both gated by its main output enable, MOE, which three things clear: this program, the stop button's
 * contact on the break input, and a failing crystal; the last two by hardware alone, whatever the program does.
 * Once cleared only this program sets it again, and never while the break input is active.
 */
#include "board.h"

/* ---- what to adapt to the bicycle */

#ifdef CONTROLLER /* what it is made for */
#include "riderless_controller.h"
#define NAME RIDERLESS_NAME
#define RATE_HZ ((uint32_t)RIDERLESS_RATE)
#define OBEYS_BOUND (unsigned)NODE_OBEYS_BOUND
#else
#define NAME CHIP_NAME
#define RATE_HZ 200u
#define OBEYS_BOUND 0u
#endif
#define BAUD 921600u
#define TORQUE_LIMIT_mNm 7000u
#define WATCHDOG_ms 25u
#define DRIVE_KIND NODE_KIND_TORQUE /* NODE_KIND_RATE where the amplifier is in speed mode */
#ifndef DRIVE_BIPOLAR
#define DRIVE_BIPOLAR 0 /* 1: 10 to 90 %, 50 % is zero, no direction; `make board DEFINES=-DDRIVE_BIPOLAR=1` */
#endif
#define DRIVE_PWM_HZ (DRIVE_BIPOLAR ? 2000u : 20000u)
#ifndef ABSENT
#define ABSENT 0 /* NODE_FAULT_* of parts that this node does not carry: their faults do not count, nor their guard */
#endif
#define DRIVE_FULL 10000u         /* at the steer for a duty of 1, or of 90 %: mN m, or mrad/s in speed mode */
#define RATE_LIMIT_mrad_s 6000u
#define TORQUE_REPORT_mNm_V 10000 /* mN m per V of the drive's monitor */
#define TORQUE_REPORT_ZERO_mV 1650
#define LEAN_BOUND_mrad 900u
#define TORQUE_STEP_BOUND_mNm 14000u /* per instant */
#define WHEEL_PULSES_PER_TURN 60u
#define WHEEL_STANDS_us 500000u /* without a pulse */
#define BUS_DIVIDER 11u         /* 100 kOhm over 10 kOhm */
#define BUS_LOWEST_mV 18000u
#define BUS_HIGHEST_mV 30000u

static const struct node_identity identity = {
    .firmware = NAME,
    .rate_hz = RATE_HZ,
    .torque_limit_mNm = TORQUE_LIMIT_mNm,
    .watchdog_ms = WATCHDOG_ms,
    .gyro_lsb = (float)IMU_GYRO_LSB,
    .accel_lsb = (float)IMU_ACCEL_LSB,
    .steer_counts_per_turn = STEER_COUNTS_PER_TURN,
    .obeys = 1u << DRIVE_KIND | OBEYS_BOUND,
    .rate_limit_mrad_s = RATE_LIMIT_mrad_s,
    /* the guard's limits may be narrower, never wider */
    .steer_limit_counts = (ABSENT & NODE_FAULT_ENCODER) != 0 ? 0 : STEER_BOUND_counts,
    .lean_limit_mrad = (ABSENT & NODE_FAULT_IMU) != 0 ? 0 : LEAN_BOUND_mrad,
    .torque_step_mNm = TORQUE_STEP_BOUND_mNm,
};

/* ---- what follows from it */

#define PERIOD_us (1000000u / RATE_HZ)
#define PWM_TOP (TIM1_HZ / DRIVE_PWM_HZ)
#define PWM_ZERO (DRIVE_BIPOLAR ? PWM_TOP / 2u : 0u)
#define PWM_SPAN (DRIVE_BIPOLAR ? PWM_TOP * 2u / 5u : PWM_TOP) /* from zero to full */
#define SUPPLY_mV 3300u
#define ADC_TOP 4095u
#define RX_SIZE 1024u /* bytes; more than the line carries in two periods */
#define CAPTURES 16u  /* pulses of the wheel in a period, and one */
#define WHEEL_mrad_s_us ((uint32_t)(6283185307ull / WHEEL_PULSES_PER_TURN)) /* rate x time of one pulse */
#define GUARD (TIM_BDTR_BKE | TIM_BDTR_BKP_HIGH | TIM_BDTR_OSSI | TIM_BDTR_LOCK_1)
#define SUPPLIED 0x52494445u
#define FLASH_START ((const uint8_t *)0x08000000u)
#define PATIENCE 100000u /* turns of a waiting loop, some ms */

#define REQUIRE(name, condition) typedef char name[(condition) ? 1 : -1]
REQUIRE(period_is_whole_us_and_fits_half_the_timer, 1000000u % RATE_HZ == 0 && PERIOD_us <= 32768u);
REQUIRE(controller_commands_a_torque, OBEYS_BOUND == 0u || DRIVE_KIND == NODE_KIND_TORQUE);
REQUIRE(both_frames_fit_a_period, (NODE_HELLO_FRAME + NODE_SAMPLE_FRAME) * 10u * RATE_HZ <= BAUD);
REQUIRE(bytes_of_two_periods_fit_the_ring, 2u * (BAUD / 10u / RATE_HZ) <= RX_SIZE);
REQUIRE(wheel_rate_fits_32_bits, WHEEL_mrad_s_us <= 0x7FFFFFFFu / CAPTURES);
REQUIRE(pwm_fits_its_timer, PWM_TOP <= 0x10000u);
REQUIRE(pwm_suits_an_escon, !DRIVE_BIPOLAR || (DRIVE_PWM_HZ >= 1000u && DRIVE_PWM_HZ <= 4500u));
REQUIRE(duty_fits_32_bits, DRIVE_FULL <= 0xFFFFFFFFu / PWM_SPAN);
REQUIRE(watchdog_is_two_periods, WATCHDOG_ms * 1000u >= 2u * PERIOD_us);

static struct node node;
static struct node_start found_at_start;
static volatile uint32_t memory_word __attribute__((section(".noinit"))); /* kept for as long as there is supply */
extern const uint8_t image_crc_[];                                        /* behind the image, see stm32.ld */
static uint32_t instant_us; /* device clock, continued from the 16 bits of TIM2 */
static uint8_t rx[RX_SIZE], tx[NODE_HELLO_FRAME + NODE_SAMPLE_FRAME];
static uint16_t captures[CAPTURES]; /* times of the wheel's pulses, us */

/* ---- small things */

bool waited_for(const reg *where, uint32_t bits, uint32_t wanted)
{
    for (uint32_t n = 0; n < PATIENCE; n++) {
        if ((*where & bits) == wanted) {
            return true;
        }
    }
    return false;
}

void delay_ms(uint32_t duration_ms)
{
    for (; duration_ms > 0; duration_ms--) {
        const uint32_t start = TIM2->CNT;

        while (((TIM2->CNT - start) & 0xFFFFu) < 1000u) {
        }
    }
}

void delay_us(uint32_t duration_us)
{
    const uint32_t begun = TIM2->CNT;

    while (((TIM2->CNT - begun) & 0xFFFFu) <= duration_us) {
    }
}

bool spi_exchange(struct gpio *port, uint32_t pin, uint32_t mode, uint8_t *bytes, uint32_t n)
{
    bool answered = true;

    SPI1->CR2 = SPI_CR2_BYTES;
    SPI1->CR1 = SPI_CR1_SSM | SPI_CR1_SSI | SPI_CR1_MSTR | mode;
    SPI1->CR1 |= SPI_CR1_SPE;
    port->BSRR = BIT(pin + 16);
    for (uint32_t i = 0; i < n && answered; i++) {
        SPI1_BYTE = bytes[i];
        answered = waited_for(&SPI1->SR, SPI_SR_RXNE, SPI_SR_RXNE);
        bytes[i] = (uint8_t)(SPI1_BYTE & 0xFFu);
    }
    port->BSRR = BIT(pin);
    SPI1->CR1 &= ~SPI_CR1_SPE;
    return answered;
}

int32_t signed_16(uint32_t bits)
{
    const int32_t value = (int32_t)(bits & 0xFFFFu);
    return value < 0x8000 ? value : value - 0x10000;
}

uint32_t address(const volatile void *where)
{
    return (uint32_t)(uintptr_t)where;
}

/* What stands in memory is what the DMA reads and writes. */
static void settle(void)
{
    __asm volatile("dsb" ::: "memory");
}

/* ---- drive: PA8 PWM, PA11 enable, PB14 direction */

static void drive_start(void)
{
    TIM1->PSC = TIM1_PRESCALER - 1u;
    TIM1->ARR = PWM_TOP - 1u;
    /* Without preload a torque acts at once. With 10 to 90 % the amplifier measures the pulse, which must stay whole. */
    TIM1->CCMR1 = TIM_CCMR1_OC1M_PWM | (DRIVE_BIPOLAR ? TIM_CCMR1_OC1PE : 0u);
    TIM1->CCR1 = PWM_ZERO;
    TIM1->CCMR2 = TIM_CCMR2_OC4M_ACTIVE;
    TIM1->CCER = TIM_CCER_CC1E | TIM_CCER_CC4E;
    TIM1->BDTR = GUARD; /* MOE is off: both outputs idle, that is low */
    TIM1->EGR = TIM_EGR_UG;
    TIM1->CR1 = TIM_CR1_CEN;
}

/* Hand the drive what the node decided. This amplifier obeys one kind, and no angle: it has no encoder of its own. */
static void board_drive(uint8_t kind, int32_t value, bool enabled)
{
    const uint32_t size = (uint32_t)(value < 0 ? -value : value);
    const uint32_t duty = size < DRIVE_FULL ? size * PWM_SPAN / DRIVE_FULL : PWM_SPAN;
    const bool left = value < 0;

    if (!enabled || (kind != DRIVE_KIND && kind != NODE_KIND_BOUND)) {
        TIM1->BDTR = GUARD;
        TIM1->CCR1 = PWM_ZERO;
        return;
    }
    if (DRIVE_BIPOLAR) {
        TIM1->CCR1 = left ? PWM_ZERO - duty : PWM_ZERO + duty;
        TIM1->BDTR = GUARD | TIM_BDTR_MOE;
        return;
    }
    if (left != ((GPIOB->ODR & BIT(PIN_DIRECTION)) != 0)) { /* never the old size with the new sign */
        TIM1->CCR1 = 0;
        GPIOB->BSRR = left ? BIT(PIN_DIRECTION) : BIT(PIN_DIRECTION + 16);
    }
    TIM1->CCR1 = duty;
    TIM1->BDTR = GUARD | TIM_BDTR_MOE;
}

void halt(void)
{
    TIM1->BDTR = GUARD;
    for (;;) { /* the independent watchdog, once it runs, begins anew */
    }
}

/* Pressed now, or since the last instant: the contact is closed to ground while the button is out. */
static bool stop_pressed(void)
{
    const bool open = (GPIOB->IDR & BIT(PIN_STOP)) != 0;
    const bool was_open = (TIM1->SR & TIM_SR_BIF) != 0;

    TIM1->SR = ~TIM_SR_BIF;
    return open || was_open;
}

/* ---- wheel: PB10, input capture of TIM2, each pulse's time written down by the DMA. It knows no direction. */

static int32_t wheel_read(void)
{
    static uint32_t taken, last_us, rate_mrad_s;
    static bool rolling;
    const uint32_t head = (CAPTURES - captures_left()) % CAPTURES; /* before the clock: none is later */
    const uint32_t now_us = instant_us + ((TIM2->CNT - instant_us) & 0xFFFFu);
    const uint32_t pulses = (head - taken) % CAPTURES;

    settle();
    if (pulses > 0) {
        const uint32_t newest = captures[(head - 1u) % CAPTURES];
        const uint32_t pulse_us = now_us - ((now_us - newest) & 0xFFFFu);

        if (rolling && pulse_us != last_us) {
            rate_mrad_s = WHEEL_mrad_s_us * pulses / (pulse_us - last_us);
        }
        rolling = true;
        taken = head;
        last_us = pulse_us;
    } else if (now_us - last_us > WHEEL_STANDS_us) {
        rolling = false;
        rate_mrad_s = 0;
    } else if (now_us - last_us > 0 && rate_mrad_s > WHEEL_mrad_s_us / (now_us - last_us)) {
        rate_mrad_s = WHEEL_mrad_s_us / (now_us - last_us); /* else the next pulse would be here */
    }
    return (int32_t)rate_mrad_s;
}

/* ---- supply and torque monitor: PA0 and PA1 */

static uint8_t bus_read(uint16_t *bus_mV)
{
    const uint32_t found_mV = adc_read(0) * SUPPLY_mV * BUS_DIVIDER / ADC_TOP;

    *bus_mV = (uint16_t)found_mV;
    return found_mV < BUS_LOWEST_mV || found_mV > BUS_HIGHEST_mV ? NODE_FAULT_BUS : 0;
}

static int16_t torque_read(void)
{
    const uint32_t found = adc_read(1);
    const int32_t above_mV = (int32_t)(found * SUPPLY_mV / ADC_TOP) - TORQUE_REPORT_ZERO_mV;
    const int32_t torque_mNm = above_mV * TORQUE_REPORT_mNm_V / 1000;

    if (found == 0 || found == ADC_TOP || torque_mNm < -INT16_MAX || torque_mNm > INT16_MAX) {
        return INT16_MIN; /* at an end: saturated, or the wire is off */
    }
    return (int16_t)torque_mNm;
}

/* ---- line: USART1 on PA9 and PA10, both ways by DMA */

static void line_read(void)
{
    static uint32_t taken;
    const uint32_t head = (RX_SIZE - line_left()) % RX_SIZE;

    settle();
    if (head < taken) {
        node_receive(&node, &rx[taken], RX_SIZE - taken);
        taken = 0;
    }
    node_receive(&node, &rx[taken], head - taken);
    taken = head;
}

static void line_write(size_t n)
{
    settle();
    line_send((uint32_t)n); /* the last frames left in their period: both_frames_fit_a_period */
}

/* ---- a sampling instant: the only interrupt, so nobody else touches anything above */

void tick(void)
{
    struct node_readings readings;
    unsigned faults = 0;
    int32_t value;
    size_t n;

    TIM2->SR = ~TIM_SR_CC1IF;
    instant_us += PERIOD_us;
    TIM2->CCR1 = (instant_us + PERIOD_us) & 0xFFFFu;

    faults |= imu_read(&readings);
    readings.wheel_mrad_s = wheel_read();
    faults |= steer_read(&readings.steer_counts);
    readings.torque_mNm = torque_read();
    faults |= bus_read(&readings.bus_mV);
    faults |= (GPIOB->IDR & BIT(PIN_DRIVE_READY)) != 0 ? 0u : (unsigned)NODE_FAULT_DRIVE;

    line_read();
    value = node_latch(&node, instant_us, stop_pressed(), (uint8_t)(faults & ~(unsigned)ABSENT));
    board_drive(node.kind, value, node.enabled);
    GPIOB->BSRR = node.heartbeat ? BIT(PIN_HEARTBEAT) : BIT(PIN_HEARTBEAT + 16);
    GPIOC->BSRR = node.enabled ? BIT(PIN_LED + 16) : BIT(PIN_LED); /* lit when low */

    n = node_hello(&node, tx);
    n += node_sample(&node, &readings, &tx[n]);
    line_write(n);
    IWDG->KR = IWDG_FEED;
}

#ifdef CONTROLLER
/* What exp() of newlib wants; its own would bring memory that begins with a value. It leaves errors to nobody: IEEE. */
extern const signed char __fdlib_version;
const signed char __fdlib_version = -1;
int *__errno(void);
int *__errno(void)
{
    static int unread;

    return &unread;
}
#endif

/* ---- start */

static uint8_t reset_cause(void)
{
    const uint32_t flags = RCC->CSR;
    const bool remembers = memory_word == SUPPLIED;

    memory_word = SUPPLIED;
    RCC->CSR |= RCC_CSR_RMVF;
    if ((flags & RCC_CSR_PORRSTF) != 0) { /* the supply fell, and came back before the memory had forgotten */
        return remembers ? NODE_RESET_BROWN_OUT : NODE_RESET_POWER_ON;
    }
    if ((flags & RCC_CSR_IWDGRSTF) != 0) {
        return NODE_RESET_WATCHDOG;
    }
    if ((flags & RCC_CSR_SFTRSTF) != 0) {
        return NODE_RESET_SOFTWARE;
    }
    return (flags & RCC_CSR_PINRSTF) != 0 ? NODE_RESET_PIN : NODE_RESET_UNKNOWN;
}

static void note_start(void)
{
    const size_t size = address(image_crc_) - address(FLASH_START);

    found_at_start.reset_cause = reset_cause();
    found_at_start.flash_good = node_crc(FLASH_START, size) == (uint16_t)(image_crc_[0] | image_crc_[1] << 8);
    for (size_t i = 0; i < sizeof found_at_start.serial; i++) {
        found_at_start.serial[i] = UNIQUE_ID[i];
    }
}

static void line_start(void)
{
    line_dma_start(rx, RX_SIZE, tx);
    USART1->BRR = (USART1_HZ + BAUD / 2u) / BAUD;
    USART1->CR3 = USART_CR3_DMAT | USART_CR3_DMAR;
    USART1->CR1 = USART_CR1_UE | USART_CR1_TE | USART_CR1_RE;
}

/* TIM2 at 1 MHz: device clock, sampling instants (channel 1) and the wheel's pulses (channel 3). */
static void timers_start(void)
{
    TIM2->PSC = TIM2_HZ / 1000000u - 1u;
    TIM2->ARR = 0xFFFFu;
    TIM2->EGR = TIM_EGR_UG;
    TIM2->CCMR2 = TIM_CCMR2_CC3S_TI3 | TIM_CCMR2_IC3F(15); /* pulses of less than 4 us are none */
    TIM2->CCER = TIM_CCER_CC3E;
    TIM2->CR1 = TIM_CR1_CEN;
}

static void instants_start(void)
{
    IWDG->KR = IWDG_START;
    IWDG->KR = IWDG_UNLOCK;
    IWDG->RLR = 4u * PERIOD_us / IWDG_TICK_us; /* four periods; PR is 4 from reset */
    (void)waited_for(&IWDG->SR, 0x3u, 0);
    IWDG->KR = IWDG_FEED;

    TIM2->CNT = 0; /* where the device clock begins */
    TIM2->CCR1 = PERIOD_us;
    TIM2->SR = 0;
    captures_start(captures, CAPTURES);
    TIM2->DIER = TIM_DIER_CC1IE | TIM_DIER_CC3DE;
    NVIC_ISER0 = BIT(TIM2_IRQ);
}

int main(void)
{
    drive_start(); /* before its pins are outputs */
    pins_start();
    timers_start();
    adc_start();
    line_start();
    steer_start();
    imu_start();
    note_start();
    node_init(&node, &identity, &found_at_start);
    instants_start();
    for (;;) {
        __asm volatile("wfi");
    }
}
