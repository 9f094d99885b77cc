"""What people and other systems are told: notices, the outbox, messages, notifications."""
