"""Document 000: networks with a term of second order."""

from typing import Literal

from reprise.catalogue.options.base import Count, Finite, NotNegative, Options
from reprise.catalogue.options.training import Adam


class SymbolNetwork(Options):
    """A network that reads characters or bigrams one-hot."""

    hidden_size: Count
    activation: Literal["tanh", "identity"]
    matrix_law: Literal["orthogonal", "glorot-uniform"]
    """initial matrices between states"""


class GSO(SymbolNetwork):
    """The general second-order network."""

    name: Literal["gso"]
    second_order_size: Count
    """size m of the product"""
    input_term: bool
    """whether D is there"""
    recurrent_term: bool
    """whether E is there"""
    f_law: Literal["zero", "normal"]
    """initial bias f"""
    f_std: NotNegative
    """standard deviation of a normal f"""


class BiasStart(Options):
    """Initial biases of the networks that the paper compares with."""

    b_law: Literal["zero", "normal"]
    """initial bias b"""
    b_std: NotNegative
    """standard deviation of a normal b"""


class FirstOrder(SymbolNetwork, BiasStart):
    """The first-order network."""

    name: Literal["first-order"]


class MultiplicativeIntegration(SymbolNetwork, BiasStart):
    """Multiplicative integration, simple or general."""

    name: Literal["mi-rnn"]
    form: Literal["simple", "general"]
    alpha: Finite
    """initial multiplier of the product"""
    beta_1: Finite
    """initial multiplier of the input term"""
    beta_2: Finite
    """initial multiplier of the recurrent term"""
    multiplier_std: NotNegative = 0.0
    """standard deviation of the multipliers' initial values"""


class LineEpochs(Adam):
    """Epochs over lines; the epoch of lowest validation loss is tested."""

    name: Literal["line-epochs"]
    batch_size: Count
    """lines an update"""
    clip_norm: NotNegative
    """global norm that gradients are shortened to; 0 for none"""
    max_epochs: Count
    loss_reduction: Literal["mean-tokens", "mean-lines"]
    selection: Literal["best-valid"]
