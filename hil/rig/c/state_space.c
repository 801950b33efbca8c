static const int waits[STATES] = {$waits}; /* 1: zero until the command is obeyed, as an integrator */

/* wish = C x + D z, x <- A x + B z; without a fresh sample nothing new is known, and all stays as it is */
static void take_step(riderless_controller *c, const riderless_sample *s, int steered)
{
    const real z[INPUTS] = {$inputs};
    const real cut = isfinite(c->wish) ? c->u_prev - c->wish : 0;
    real next[STATES];
    int i, j;
    const real part = rows_around(c->v, &i, &j);
    if (!s->valid)
        return;
    for (int k = 0; k < STATES; k++) {
        if (steered)
            c->x[k] += (L[i][k] + part * (L[j][k] - L[i][k])) * cut;
        else if (waits[k])
            c->x[k] = 0;
    }
    for (int r = 0; r < STATES; r++) {
        next[r] = 0;
        for (int k = 0; k < STATES; k++)
            next[r] += (A[i][r][k] + part * (A[j][r][k] - A[i][r][k])) * c->x[k];
        for (int k = 0; k < INPUTS; k++)
            next[r] += (B[i][r][k] + part * (B[j][r][k] - B[i][r][k])) * z[k];
    }
    c->law_wish = 0;
    for (int k = 0; k < STATES; k++)
        c->law_wish += (C[i][k] + part * (C[j][k] - C[i][k])) * c->x[k];
    for (int k = 0; k < INPUTS; k++)
        c->law_wish += (D[i][k] + part * (D[j][k] - D[i][k])) * z[k];
    for (int k = 0; k < STATES; k++)
        c->x[k] = next[k];
}
