"""What a program writes for the consumer: records, speculations, packets, aggregations."""
