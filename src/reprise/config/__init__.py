"""From YAML to the resolved configuration of one experiment.

`strict_yaml` reads the files, `schema` says what may stand in them, `resolve` works out each experiment of a tier
and its hash. Training reads the result with `resolved`, which needs the standard library alone.
"""
