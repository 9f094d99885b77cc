"""Series of reservations: how they are booked and ended, and how interrupted work goes on."""
