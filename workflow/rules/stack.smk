"""One job a stack: experiments of equal shape, all their replicas, in one program on one GPU."""


rule train_stack:
    input:
        corpus=corpus_of_stack,
    output:
        # Records are outputs of the rule `train`, which takes them from where they were found.
        temp(touch(f"{FOUND}/{TIER}/{{stack}}.done")),
    log:
        f"logs/stack/{TIER}/{{stack}}.log",
    benchmark:
        f"benchmarks/stack/{TIER}/{{stack}}.tsv"
    conda:
        "../../envs/train.yaml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: wanted_by_stack(wildcards, attempt)[1],
        runtime=lambda wildcards, attempt: wanted_by_stack(wildcards, attempt)[0],
        # Asked when the job is planned: while this file is read, the partitions are not known yet.
        gpu=lambda wildcards: min(1, most_gpus()),
    params:
        tier=TIER,
        experiments=lambda wildcards: " ".join(e.id for e in STACKS[wildcards.stack]),
        device=lambda wildcards, resources: (
            PROJECT.config.device if resources.gpu else "cpu"
        ),
        found=lambda wildcards: FOUND,
    message:
        "training in one stack: {params.experiments}"
    shell:
        "PYTHONPATH=src python -m reprise run --tier {params.tier} --experiment {params.experiments} --resolved "
        "--device {params.device} --one-gpu --output {params.found} > {log} 2>&1"
