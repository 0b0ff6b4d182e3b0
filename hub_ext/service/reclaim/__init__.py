"""Taking back from who does not use: notices, keeps, exemptions, trials of rules."""
