"""One job a replica. Checkpoints are not outputs: Snakemake would delete them before it tries again."""


rule train:
    input:
        corpus=corpus_of,
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
        gpu=gpus_of,
    params:
        config=lambda wildcards: resolved(wildcards).config_path(),
        corpus=lambda wildcards, input: (
            f"--corpus {input.corpus}" if input.corpus else ""
        ),
        device=device_of,
    message:
        "training {wildcards.paper}/{wildcards.experiment}, replica {wildcards.replica}"
    shell:
        "PYTHONPATH=src REPRISE_WARM=1 python -m reprise train {wildcards.paper}/{wildcards.experiment} "
        "--replica {wildcards.replica} --config {params.config} --hash {wildcards.config_hash} {params.corpus} "
        "--threads {threads} {params.device} --output {output} > {log} 2>&1"
