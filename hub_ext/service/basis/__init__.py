"""What every part of the governor speaks with: words, refusals, clocks, who calls, the hub."""
