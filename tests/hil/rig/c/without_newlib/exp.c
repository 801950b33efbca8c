/* exp for arguments from -20 to 20, good to a few of the last bits: a Taylor series of the 64th part, squared six times. */
#include <math.h>

double exp(double x)
{
    double y = x / 64, sum = 1;
    for (int n = 12; n > 0; n--)
        sum = 1 + y * sum / n;
    for (int k = 0; k < 6; k++)
        sum *= sum;
    return sum;
}

float expf(float x)
{
    float y = x / 64, sum = 1;
    for (int n = 6; n > 0; n--)
        sum = 1 + y * sum / (float)n;
    for (int k = 0; k < 6; k++)
        sum *= sum;
    return sum;
}
