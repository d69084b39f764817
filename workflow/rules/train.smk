"""On a CPU a job is a replica, on a GPU an experiment: all its missing replicas train together.

Checkpoints are not outputs: Snakemake would delete them before it tries again.
"""


rule train_together:
    input:
        corpus=lambda wildcards: [e.corpus for e in [resolved(wildcards)] if e.corpus],
    output:
        # Records are outputs of the rule `train`, which takes them from where they were found: of a job that fails
        # Snakemake deletes the outputs, and those of the replicas that have finished are to stay.
        temp(touch(f"{FOUND}/{TIER}/{{paper}}/{{experiment}}.done")),
    log:
        f"logs/train/{TIER}/{{paper}}/{{experiment}}/together.log",
    benchmark:
        f"benchmarks/train/{TIER}/{{paper}}/{{experiment}}/together.tsv"
    conda:
        "../../envs/train.yaml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: wanted_together(wildcards, attempt)[1],
        runtime=lambda wildcards, attempt: wanted_together(wildcards, attempt)[0],
        # Asked when the job is planned: while this file is read, the partitions are not known yet.
        gpu=lambda wildcards: gpus_wanted(resolved(wildcards), most_gpus()),
    params:
        tier=TIER,
        found=lambda wildcards: FOUND,
        device=device_of,
    message:
        "training {wildcards.paper}/{wildcards.experiment}, all missing replicas together"
    shell:
        "PYTHONPATH=src python -P -m reprise run --tier {params.tier} --experiment {wildcards.paper}/{wildcards.experiment} "
        "--resolved {params.device} --output {params.found} > {log} 2>&1 || report_kill {log}"


rule train:
    input:
        corpus=corpus_of,
        together=lambda wildcards: unless_trained(
            wildcards, trained_together(wildcards)
        ),
    output:
        f"{RESULTS}/runs/{{paper}}/{{experiment}}/{{replica}}-{{config_hash}}.json",
    log:
        f"logs/train/{TIER}/{{paper}}/{{experiment}}/{{replica}}-{{config_hash}}.log",
    benchmark:
        f"benchmarks/train/{TIER}/{{paper}}/{{experiment}}/{{replica}}-{{config_hash}}.tsv"
    wildcard_constraints:
        paper=f"(?!({DONE})$)[a-z0-9-]+",
    conda:
        "../../envs/train.yaml"
    threads: 1
    resources:
        **resources_of("train"),
    params:
        config=lambda wildcards: resolved(wildcards).config_path(),
        corpus=lambda wildcards, input: (
            f"--corpus {input.corpus}" if input.corpus else ""
        ),
        device=device_of,
        found=lambda wildcards: FOUND,
    message:
        "training {wildcards.paper}/{wildcards.experiment}, replica {wildcards.replica}"
    shell:
        "PYTHONPATH=src python -P -m reprise train {wildcards.paper}/{wildcards.experiment} "
        "--replica {wildcards.replica} --config {params.config} --hash {wildcards.config_hash} {params.corpus} "
        "--threads {threads} {params.device} --found {params.found} --output {output} > {log} 2>&1 || report_kill {log}"
