/* What an exported controller wants of <math.h>, for a cross compiler that came without a library. */
double exp(double x);
float expf(float x);
#define isfinite(x) __builtin_isfinite(x)
#define NAN __builtin_nanf("")
