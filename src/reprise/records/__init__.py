"""The files that pass between stages: the resolved configuration of an experiment and the run record of a replica."""
