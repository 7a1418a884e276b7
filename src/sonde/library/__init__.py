"""What `import sonde` offers: each name is imported from here when it is first used."""
