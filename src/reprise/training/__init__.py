"""Training: protocols, jobs, checkpoints and locks, and the trainer that makes the run records of replicas."""
