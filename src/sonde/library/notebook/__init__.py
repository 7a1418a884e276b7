"""The cell magic `%%sonde` of IPython and Jupyter."""
