"""posteriori: Bayes classifiers, the whole spectrum. Count, merge, factor, decide."""

from typing import Any

__version__ = "0.1.0"

# public name -> its home, from the lines "from .home import Name as Name" of the stub; imported when it is first used
with open(f"{__file__}i", encoding="utf-8") as _stub:
    _HOMES = {
        words[-1]: f"{__name__}{words[1]}".rstrip(".") for line in _stub if (words := line.split())[:1] == ["from"]
    }

__all__ = ["__version__", *sorted(_HOMES)]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if _HOMES[name] == __name__:  # a module of its own: import binds it here
        return __import__(f"{__name__}.{name}", fromlist=[name])
    value = globals()[name] = getattr(__import__(_HOMES[name], fromlist=[name]), name)
    return value


def __dir__() -> list[str]:
    return __all__
