"""From YAML to the resolved configuration of one experiment.

`strict_yaml` reads the files, `schema` says what may stand in them and `mistakes` what is wrong. `resolve` holds each
experiment to the catalogue. It works out what a tier makes of it, and its hash. Training reads the result with
`reprise.records.resolved`, which needs the standard library alone.
"""
