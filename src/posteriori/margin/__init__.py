"""Margins: support vector machines by sequential minimal optimisation, linear ones by coordinate descent and Newton."""
