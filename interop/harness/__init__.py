"""What the drivers of the live peers share: installing, keys, processes, reports."""
