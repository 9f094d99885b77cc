"""What a credits service is told about leases."""
