"""The verifier: what a program could do at worst, before it runs."""
