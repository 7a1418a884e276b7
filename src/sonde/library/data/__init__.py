"""What a run gives as data for other programs: lines of JSON."""
