"""What Placement and Nova say about hosts."""
