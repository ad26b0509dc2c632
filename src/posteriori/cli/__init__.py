"""The command line: from a file to a decision. Faces only: what is computed is computed in the rooms below."""
