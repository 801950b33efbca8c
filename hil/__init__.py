"""The closed loop: design, estimator, supervisor, tick, runners and log. The only home of a clock."""
