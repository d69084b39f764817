"""Reprise: one job a trained replica, then tables, figures and a page.

`snakemake --cores 8 --use-conda all` runs the papers as they were done (tier: paper);
`snakemake --cores 2 all --config tier=quick` runs every step of the pipeline in minutes, without a network.
"""

from snakemake.utils import min_version

min_version("9.0")


# First, because it reads config/ strictly and tells what is wrong with it in one line.
include: "workflow/rules/common.smk"
include: "workflow/rules/common_report.smk"


configfile: "config/config.yaml"


wildcard_constraints:
    tier="quick|reduced|paper",
    paper="[a-z0-9-]+",
    replica="[0-9]+",
    config_hash="[0-9a-f]{12}",
    dataset="[a-z0-9][a-z0-9.-]*",


report: "workflow/report/workflow.rst"


include: "workflow/rules/data.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/report.smk"


onstart:
    begin_run()
    print(f"reprise: tier {TIER}: {outlook()}", file=sys.stderr, flush=True)


rule all:
    default_target: True
    input:
        RECORDS,
        REPORT,
