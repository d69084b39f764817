"""What the options of a model, protocol, preparation or display are made of.

An option without a default has to be stated in a paper's file, with its origin. A default is no part of a
configuration's hash. So an option that is added later with a default leaves all hashes as they are.
"""

from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

LARGEST_INT = 2**31 - 1
"""No array has more places."""
LARGEST_FLOAT = 1e38
"""float32 ends soon after."""


def _check_float32(value: float) -> float:
    if abs(value) > LARGEST_FLOAT:
        raise ValueError(f"{value:g} is too large for float32; write {LARGEST_FLOAT:g} at most")
    return value


Integer = Annotated[int, Field(ge=-LARGEST_INT, le=LARGEST_INT)]
Natural = Annotated[int, Field(ge=0, le=LARGEST_INT)]
Count = Annotated[int, Field(ge=1, le=LARGEST_INT)]
TwoOrMore = Annotated[int, Field(ge=2, le=LARGEST_INT)]
Finite = Annotated[float, Field(allow_inf_nan=False), AfterValidator(_check_float32)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False), AfterValidator(_check_float32)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False), AfterValidator(_check_float32)]
Share = Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)]
ClipNorm = Annotated[Positive, Field(description="global norm that gradients are shortened to")]
HiddenSize = Annotated[Count, Field(description="units of a hidden layer, H")]
EmbeddingSize = Annotated[Count, Field(description="numbers of a word's embedding")]
Layers = Annotated[Count, Field(description="recurrent layers, one above the other")]
Order = Annotated[Count, Field(description="words or characters of an n-gram, n")]
LearningRate = Annotated[Positive, Field(description="learning rate of every update")]
MaxEpochs = Annotated[Count, Field(description="epochs after which training ends at the latest")]
MinimumCount = Annotated[Count, Field(description="occurrences that a word of the vocabulary has at least")]
MatrixMapping = Annotated[
    Literal["f", "f_mod"],
    Field(
        description="which matrix a word has: f shares the last among rare words, f_mod takes the word's rank modulo K"
    ),
]


class Options(BaseModel):
    """The options of one thing that the configuration names: `name` is a Literal of its names."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, use_attribute_docstrings=True, allow_inf_nan=False
    )


def list_options(kind: type[Options]) -> list[str]:
    """List the options of a class, without its name."""
    return [name for name in kind.model_fields if name != "name"]


def index_by_name(*kinds: type[Options]) -> dict[str, type[Options]]:
    """Map every name that a class is for to the class."""
    return {name: kind for kind in kinds for name in get_args(kind.model_fields["name"].annotation)}
