"""Raw files and corpora. Both stay: what a corpus depends on is in its name, so one that is there is not made again."""


rule fetch:
    output:
        "data/raw/{dataset}/{file}",
    log:
        "logs/fetch/{dataset}/{file}.log",
    benchmark:
        "logs/benchmarks/fetch/{dataset}/{file}.tsv"
    retries: 2
    # Nodes of a cluster seldom have a way out; its head node has.
    localrule: True
    conda:
        "../../envs/data.yaml"
    resources:
        **make_resources("fetch"),
    message:
        "fetching {wildcards.file} of {wildcards.dataset} (REPRISE_MIRROR first, then the network)"
    shell:
        "PYTHONPATH=src python -P -m reprise fetch {wildcards.dataset} --file {wildcards.file} > {log} 2>&1"


rule prepare:
    input:
        lambda wildcards: PLAN.list_raw_files(wildcards.corpus),
    output:
        "data/corpora/{corpus}.npz",
    log:
        "logs/prepare/{corpus}.log",
    benchmark:
        "logs/benchmarks/prepare/{corpus}.tsv"
    conda:
        "../../envs/data.yaml"
    resources:
        **make_resources("prepare"),
    params:
        experiment=lambda wildcards: PLAN.find_reader(wildcards.corpus),
        tier=TIER,
    message:
        "preparing the corpus {wildcards.corpus}"
    shell:
        "PYTHONPATH=src python -P -m reprise prepare {params.experiment} --tier {params.tier} --output {output} > {log} 2>&1"
