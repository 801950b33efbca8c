"""Two experiments with the Delft steer-by-wire bicycle, kicks and a shaken handle: one answer, and predictions."""
