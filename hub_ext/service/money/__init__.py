"""What was spent and is left: budgets, settling, months, waste, worth, forecasts."""
