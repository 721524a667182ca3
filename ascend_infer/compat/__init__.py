"""Other libraries' faces over this one; each is imported by its own name."""
