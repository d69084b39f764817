"""Formulas in the configuration: arithmetic over named values, and nothing that a program could do besides."""

import ast
import math
import re
from collections.abc import Mapping
from fractions import Fraction

_FUNCTIONS = {"exp": math.exp, "log": math.log}
_PARTS = (ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.UnaryOp, ast.USub, ast.Name, ast.Load)
_PRINTED = re.compile(r"(\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d+))? ?(k|K|M|%)?")
_SUFFIXES = {None: Fraction(1), "k": Fraction(1000), "K": Fraction(1000), "M": Fraction(10**6), "%": Fraction(1, 100)}


def read_printed(text: str) -> tuple[Fraction, Fraction] | None:
    """A printed number and the value of its last digit: "5.3M" is (5300000, 100000); None where it is no number.

    Zeros at the end of a whole number count as digits: "500" is to the unit.
    """
    found = _PRINTED.fullmatch(text)
    if not found:
        return None
    whole, decimals, suffix = found.groups()
    last = _SUFFIXES[suffix] / 10 ** len(decimals or "")
    return int(whole.replace(",", "") + (decimals or "")) * last, last


def names_in(formula: str) -> set[str]:
    """The names of values that a formula uses. Raises ValueError where it is no formula."""
    return {node.id for node in ast.walk(_parse(formula)) if isinstance(node, ast.Name)} - _FUNCTIONS.keys()


def evaluate(formula: str, values: Mapping[str, float]) -> float:
    """The value of "2 * H * V + exp(J)": + - * / **, brackets, exp and log (natural); whole numbers stay exact.

    Raises ValueError where it is no formula, a name has no value, or the result is not finite.
    """
    tree = _parse(formula)
    if unknown := names_in(formula) - values.keys():
        raise ValueError(f"'{min(unknown)}' has no value")
    try:
        result = eval(compile(ast.Expression(tree), "formula", "eval"), {"__builtins__": {}, **_FUNCTIONS}, {**values})
        finite = not isinstance(result, complex) and math.isfinite(result)
    except ArithmeticError as error:
        raise ValueError(str(error)) from None
    except TypeError:  # exp and log of a complex number, which a power of a negative one is
        raise ValueError("a negative number has no real power like that") from None
    if not finite:
        raise ValueError(f"{result} is no number to compare")
    return result


def _parse(formula: str) -> ast.expr:
    """The formula as a tree that holds nothing but arithmetic."""
    try:
        tree = ast.parse(formula, mode="eval").body
    except SyntaxError:
        raise ValueError(f"'{formula}' is not a formula") from None
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                pass
            case ast.Call(func=ast.Name(id=name), args=[_], keywords=[]) if name in _FUNCTIONS:
                pass
            case _ if not isinstance(node, _PARTS):
                raise ValueError(f"'{ast.unparse(node)}' is not arithmetic")
    return tree
