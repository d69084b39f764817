"""Training: protocols, checkpoints, locks, and the loop that makes one run record of one replica."""
