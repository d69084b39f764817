"""The benchmarked models as users of PyTorch and JAX would train them."""
