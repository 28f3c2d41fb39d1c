"""Small tools that work without a network: clock, timers, calculator, units, volume."""
