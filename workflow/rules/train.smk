"""On a CPU a job is a replica, on a GPU an experiment: all its missing replicas train together.

Checkpoints are not outputs: Snakemake would delete them before it tries again.
"""


rule resolve:
    input:
        OUTPUTS.wording,
    output:
        PLAN.configurations,
    log:
        f"logs/{TIER}/resolve.log",
    benchmark:
        f"logs/benchmarks/{TIER}/resolve.tsv"
    localrule: True
    conda:
        "../../envs/data.yaml"
    resources:
        **make_resources("prepare"),
    params:
        tier=TIER,
    message:
        "writing the resolved configurations of the tier {params.tier}"
    shell:
        "PYTHONPATH=src python -P -m reprise resolve --tier {params.tier} > {log} 2>&1"


rule train_together:
    input:
        unpack(lambda wildcards: PLAN.list_inputs(wildcards.id, together=True)),
    output:
        temp(touch(f"{TOGETHER}/{TIER}/{{id}}.done")),
    log:
        f"logs/train/{TIER}/{{id}}/together.log",
    benchmark:
        f"logs/benchmarks/train/{TIER}/{{id}}/together.tsv"
    conda:
        "../../envs/train.yaml"
    threads: 1
    resources:
        **make_resources("train_together"),
        # Asked when the job is planned: while this file is read, the partitions are not known yet.
        gpu=lambda wildcards: PLAN.make_request("train_together", 1, wildcards.id).gpu,
    params:
        tier=TIER,
        together=lambda wildcards: TOGETHER,
        # The command line may say another engine and device than the files that jobs read.
        engine=lambda wildcards: PLAN.experiments[wildcards.id].engine,
        device=lambda wildcards, resources: PLAN.choose_device_option(
            wildcards.id, resources.get("gpu")
        ),
    message:
        "training {wildcards.id}, all missing replicas together"
    shell:
        "PYTHONPATH=src python -P -m reprise run --tier {params.tier} --experiment {wildcards.id} --resolved "
        "--engine {params.engine} {params.device} --output {params.together} > {log} 2>&1 || report_kill {log}"


rule train:
    input:
        unpack(list_training_inputs),
    output:
        RECORD,
    log:
        f"logs/train/{TIER}/{{id}}/{{replica}}-{{config_hash}}.log",
    benchmark:
        f"logs/benchmarks/train/{TIER}/{{id}}/{{replica}}-{{config_hash}}.tsv"
    conda:
        "../../envs/train.yaml"
    threads: 1
    resources:
        **make_resources("train"),
    params:
        corpus=lambda wildcards, input: (
            f"--corpus {input.corpus}" if input.get("corpus") else ""
        ),
        engine=lambda wildcards: PLAN.experiments[wildcards.id].engine,
        device=lambda wildcards: PLAN.choose_device_option(wildcards.id, 0),
        together=lambda wildcards: TOGETHER,
    message:
        "training {wildcards.id}, replica {wildcards.replica}"
    shell:
        "PYTHONPATH=src python -P -m reprise train {wildcards.id} --replica {wildcards.replica} "
        "--config {input.config} --hash {wildcards.config_hash} {params.corpus} --threads {threads} "
        "--engine {params.engine} {params.device} --trained {params.together} --output {output} > {log} 2>&1 || report_kill {log}"
