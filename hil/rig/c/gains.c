/* wish = -K(v) z */
static void take_step(riderless_controller *c, const riderless_sample *s, int steered)
{
    const real z[INPUTS] = {$inputs};
    int i, j;
    const real part = rows_around(c->v, &i, &j);
    (void)s;
    (void)steered;
    c->law_wish = 0;
    for (int k = 0; k < INPUTS; k++)
        c->law_wish -= (K[i][k] + part * (K[j][k] - K[i][k])) * z[k];
}
