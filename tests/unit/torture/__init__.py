"""The torture test's judge finds what it looks for: without these it would prove nothing."""
