"""From run records to what people read. Their code is an input: changing a plot draws it again and trains nothing."""


rule collect:
    input:
        records=list_records,
        evaluations=list_evaluations,
        code=OUTPUTS.judging,
    output:
        OUTPUTS.collected,
    log:
        f"logs/{TIER}/collect.log",
    benchmark:
        f"logs/benchmarks/{TIER}/collect.tsv"
    conda:
        "../../envs/report.yaml"
    resources:
        **make_resources("report"),
    params:
        tier=TIER,
    message:
        "collecting the run records of the tier {params.tier}"
    shell:
        "PYTHONPATH=src python -P -m reprise collect --tier {params.tier} > {log} 2>&1"


rule claims:
    input:
        records=list_records,
        evaluations=list_evaluations,
        wording=OUTPUTS.wording,
        code=OUTPUTS.judging,
    output:
        OUTPUTS.claims,
    log:
        f"logs/{TIER}/claims.log",
    benchmark:
        f"logs/benchmarks/{TIER}/claims.tsv"
    conda:
        "../../envs/report.yaml"
    resources:
        **make_resources("report"),
    params:
        tier=TIER,
    message:
        "judging the claims from the run records of the tier {params.tier}"
    shell:
        "PYTHONPATH=src python -P -m reprise verify --tier {params.tier} > {log} 2>&1"


# One job a paper: what takes long is to read its records, not to draw.
for paper, entry in PLAN.project.papers.items():

    rule:
        name:
            f"displays_{paper.replace('-', '_')}"
        input:
            OUTPUTS.claims,
            list(map(before_update, OUTPUTS.full_claims)),
            records=list_records,
            evaluations=list_evaluations,
            wording=OUTPUTS.wording,
            reference=OUTPUTS.reference,
            code=OUTPUTS.drawing,
        output:
            [
                report(path, caption="../report/display.rst", **label)
                for path, label in OUTPUTS.label_displays(paper)
            ],
            OUTPUTS.list_displays(paper, "figures", ("png", "pdf")),
            OUTPUTS.list_displays(paper, "tables", ("csv", "md")),
        log:
            f"logs/{TIER}/displays/{paper}.log",
        benchmark:
            f"logs/benchmarks/{TIER}/displays/{paper}.tsv"
        # Seconds: on a cluster that is not worth a job, whose turn takes longer to come.
        localrule: True
        conda:
            "../../envs/report.yaml"
        resources:
            **make_resources("report"),
        params:
            tier=TIER,
            names=[
                f"{paper}-{key}"
                for key in (*OUTPUTS.list_drawn_figures(paper), *entry.tables)
            ],
        message:
            f"drawing the figures and writing the tables of {paper}"
        shell:
            "PYTHONPATH=src python -P -m reprise render --tier {params.tier} {params.names} > {log} 2>&1"


rule page:
    input:
        OUTPUTS.collected,
        OUTPUTS.claims,
        OUTPUTS.list_figures(),
        OUTPUTS.list_tables(),
        list(map(before_update, OUTPUTS.other_results)),
        records=list_records,
        evaluations=list_evaluations,
        wording=OUTPUTS.wording,
        code=OUTPUTS.paging,
    output:
        report(
            "results/report.html",
            caption="../report/page.rst",
            category="Everything on one page",
            labels={"page": "claims, figures, tables, experiments"},
        ),
    log:
        f"logs/{TIER}/report.log",
    benchmark:
        f"logs/benchmarks/{TIER}/report.tsv"
    conda:
        "../../envs/report.yaml"
    resources:
        **make_resources("report"),
    params:
        tier=TIER,
    message:
        "writing {output}"
    shell:
        "PYTHONPATH=src python -P -m reprise render --tier {params.tier} --report > {log} 2>&1"
