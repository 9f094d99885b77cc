"""What hosts have, what is booked on them, and why hosts can't be booked."""
