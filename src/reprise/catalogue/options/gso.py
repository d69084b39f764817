"""Document 000: networks with a term of second order."""

from typing import Literal

from reprise.catalogue.options.base import Count, Finite, HiddenSize, MaxEpochs, NotNegative, Options
from reprise.catalogue.options.training import Adam


class SymbolNetwork(Options):
    """A network that reads characters or bigrams one-hot."""

    hidden_size: HiddenSize
    activation: Literal["tanh", "identity"]
    """function of the recurrence, phi"""
    matrix_law: Literal["orthogonal", "glorot-uniform"]
    """initial matrices between states"""


class GSO(SymbolNetwork):
    """The general second-order network."""

    name: Literal["gso"]
    second_order_size: Count
    """components of the second-order product, m"""
    input_term: bool
    """whether the model has the first-order input term D x"""
    recurrent_term: bool
    """whether the model has the first-order state term E h"""
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
    """simple: product of the two terms alone; general: with learned multipliers alpha, beta_1 and beta_2"""
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
    """lines of an update"""
    clip_norm: NotNegative
    """global norm that gradients are shortened to; 0 for none"""
    max_epochs: MaxEpochs
    loss_reduction: Literal["mean-tokens", "mean-lines"]
    """mean over all predicted tokens of a batch, or over lines of their means"""
    selection: Literal["best-valid"]
    """epoch whose parameters are tested: that of the lowest validation loss"""
