"""Model files: what defines a model, as arrays and JSON; never a pickle, never code.

| file | holds |
|---|---|
| `file` | `save` and `load`, and what a file says of itself |
| `container` | the bytes: the safetensors format, a head, a SHA-256 of everything |
| `codec` | values ↔ JSON with a tag each, and arrays |
| `plain` | tags of plain values: dates, decimals, scalars of NumPy |
| `forms` | tags of our classes, whose annotations say which fields define one, and whose checks what must hold of them |
| `schemas`, `networks`, `points` | what is written otherwise than it is held, by twins of plain fields |

What is stored is what defines a model (parameters, schema, N, structure, support vectors); what follows from it (θ, trees,
compiled networks) is made again. A file names tags, never modules: `forms` knows the classes. Every object is made by its
own constructor and then checked, so that a file with the right hashes and wrong numbers is an error, not a crash.
"""
