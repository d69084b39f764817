"""The workflow is workflow/Snakefile; this file lets `snakemake` find it, and the profiles beside it, from here."""


include: "workflow/Snakefile"


rule default:
    default_target: True
    input:
        rules.all.input,
    localrule: True
    message:
        "everything is made"
