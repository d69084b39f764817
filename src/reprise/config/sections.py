"""The sections of an experiment: what it names (model, dataset, protocol), and its settings with their origins.

They are made from the options of the catalogue, of which each has its type and bounds.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, create_model

from reprise.catalogue.options import MODEL_OPTIONS, PREPARATION_OPTIONS, PROTOCOL_OPTIONS
from reprise.catalogue.options.base import Options, list_options
from reprise.config.base import ImportPath, Origin, Strict

T = TypeVar("T")
_OWN = "own"
# So many have never been trained; more would be listed for hours.
Replicas = Annotated[int, Field(ge=1, le=10_000)]
NAMES = {"model": ("name", MODEL_OPTIONS), "training": ("protocol", PROTOCOL_OPTIONS)}
"""Section -> the key of its name, and what there is to name."""


class Setting(Strict, Generic[T]):
    """A hyperparameter: its value and where it comes from."""

    # The bounds of the option refuse what is no number, and say more.
    model_config = ConfigDict(allow_inf_nan=True)

    value: T
    origin: Origin = Field(alias="from")


class Section(Strict):
    """A named thing (model, dataset, protocol) and its settings."""

    @property
    def settings(self) -> dict[str, Setting[Any]]:
        """Return the settings that the file states, by option."""
        stated = {name: getattr(self, name) for name in type(self).model_fields if name in self.model_fields_set}
        stated |= self.__pydantic_extra__ or {}
        return {name: value for name, value in stated.items() if isinstance(value, Setting)}


class OwnSection(Section):
    """Something of one's own, by its import path: its options are known once it is imported."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Setting[bool | int | float | str]]


class OwnModelSection(OwnSection):
    """A model of one's own: "module:Class"."""

    name: ImportPath


def _get_value_type(kind: type[Options], option: str) -> Any:
    field = kind.model_fields[option]
    return Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation


def _make_setting_type(kind: type[Options], option: str) -> Any:
    return Setting[_get_value_type(kind, option)]


def _make_section(kind: type[Options], key: str) -> type[Section]:
    """Make the section that takes these options: one without a default has to be stated."""
    fields: dict[str, Any] = {key: (kind.model_fields["name"].annotation, ...)}
    for option in list_options(kind):
        field, setting = kind.model_fields[option], _make_setting_type(kind, option)
        keywords = {"description": field.description} if field.description else {}
        is_required = field.is_required()
        fields[option] = (setting, Field(**keywords)) if is_required else (setting | None, Field(None, **keywords))
    return create_model(f"{kind.__name__}Section", __base__=Section, __doc__=kind.__doc__, **fields)


def _make_union(section: str) -> Any:
    """Make the type of a section of an experiment: one class a kind of options, told apart by the name."""
    key, options = NAMES[section]
    kinds = {kind.__name__: kind for kind in options.values()}
    members = [Annotated[_make_section(kind, key), Tag(tag)] for tag, kind in kinds.items()]
    if section == "model":
        members.append(Annotated[OwnModelSection, Tag(_OWN)])

    def tag(content: Any) -> str | None:
        name = content.get(key) if isinstance(content, Mapping) else getattr(content, key, None)
        if isinstance(name, str) and ":" in name and section == "model":
            return _OWN
        return options[name].__name__ if isinstance(name, str) and name in options else None

    union = members[0]
    for member in members[1:]:
        union = union | member
    return Annotated[union, Discriminator(tag)]


def _make_optional_fields(kinds: Iterable[type[Options]], make: Callable[[type[Options], str], Any]) -> dict[str, Any]:
    """Make an optional field of every option of these kinds: an option of several takes what one of them does."""
    types: dict[str, Any] = {}
    for kind in dict.fromkeys(kinds):
        for option in list_options(kind):
            types[option] = types.get(option) | make(kind, option)
    return {option: (kind, None) for option, kind in types.items()}


ModelSection = _make_union("model")
TrainingSection = _make_union("training")
# Which options a dataset has, config.yaml tells.
DataSection: type[Section] = create_model(
    "DataSection",
    __base__=OwnSection,
    dataset=(str, ...),
    **_make_optional_fields(PREPARATION_OPTIONS.values(), _make_setting_type),
)
DataSection.__doc__ = "A dataset of config.yaml and the options of its preparation."


class _TierEntry(BaseModel):
    """A tier of an experiment: how many replicas, and what is reduced (any setting by its name, or the dataset)."""

    # What the catalogue has no name for is an option of something of one's own.
    model_config = ConfigDict(extra="allow", strict=True, frozen=True)
    __pydantic_extra__: dict[str, bool | int | float | str]
    replicas: Replicas
    dataset: str | None = None

    @property
    def reductions(self) -> dict[str, Any]:
        """Return the values that the tier gives to settings, by option."""
        return self.model_dump(exclude_unset=True, exclude={"replicas", "dataset"})


_ALL_OPTIONS = (*MODEL_OPTIONS.values(), *PROTOCOL_OPTIONS.values(), *PREPARATION_OPTIONS.values())
TierEntry: type[_TierEntry] = create_model(
    "TierEntry", __base__=_TierEntry, **_make_optional_fields(_ALL_OPTIONS, _get_value_type)
)
TierEntry.__doc__ = _TierEntry.__doc__
