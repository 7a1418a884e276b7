"""Aggregations as metrics that Prometheus scrapes while a program runs."""
